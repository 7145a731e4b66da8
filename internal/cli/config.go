package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
)

// keyTable is where keys stand in dotted names; they are stored apart.
const keyTable = "api_keys."

func (r *runner) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "choose provider, key and model; show and change settings",
		Long:  "Asks for provider, key and model, and tries them. With --json it asks nothing: it\nprints what is in force and whether the provider answers.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.flags.json {
				return r.configAbout(cmd.Context())
			}
			return r.setup(cmd)
		},
	}
	r.jsonFlag(cmd.Flags(), "print what is in force as JSON, and ask nothing")
	show := &cobra.Command{
		Use: "show", Short: "print the configuration in force, secrets masked", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return r.configShow() },
	}
	r.jsonFlag(show.Flags(), "print JSON")
	cmd.AddCommand(
		show,
		&cobra.Command{
			Use: "get KEY", Short: "print one value, secrets masked", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return r.configGet(cmd, args[0]) },
		},
		&cobra.Command{
			Use: "set KEY VALUE", Short: "change one value; comments and order stay",
			Long:    "Changes one value of the file and nothing else. A list is comma-separated.\nAn API key is stored in the keyring; give - as its value to read it from standard\ninput, so that it stays out of the shell's history.",
			Example: "  coderrr config set provider.model gemma4:31b-cloud\n  coderrr config set api_keys.openai - < key.txt",
			Args:    cobra.ExactArgs(2),
			RunE:    func(cmd *cobra.Command, args []string) error { return r.configSet(cmd, args[0], args[1]) },
		},
		&cobra.Command{
			Use: "path", Short: "print where the file is", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				home, err := r.home()
				if err == nil {
					r.outln(config.Path(home))
				}
				return err
			},
		},
		&cobra.Command{
			Use: "clear [KEY]", Short: "remove one value, or the whole file (a copy is kept)", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return r.configClear(cmd, args) },
		},
	)
	return cmd
}

// configAbout prints what is in force.
func (r *runner) configAbout(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	home, c, err := r.load()
	if err != nil {
		return err
	}
	about, _, err := r.about(ctx, c, home)
	if err != nil {
		return err
	}
	return r.printJSON(about)
}

func (r *runner) configShow() error {
	_, c, err := r.load()
	if err != nil {
		return err
	}
	if r.flags.json {
		return r.printJSON(c.Masked())
	}
	text, err := c.TOML()
	if err != nil {
		return err
	}
	r.outln(text)
	return nil
}

func (r *runner) configGet(cmd *cobra.Command, key string) error {
	_, c, err := r.load()
	if err != nil {
		return err
	}
	value, err := c.Get(key)
	if err != nil {
		return usage(cmd, "%w", err)
	}
	r.outln(value)
	return nil
}

func (r *runner) configSet(cmd *cobra.Command, key, value string) error {
	home, err := r.home()
	if err != nil {
		return err
	}
	if value == "-" {
		raw, err := io.ReadAll(io.LimitReader(r.io.In, maxPiped))
		if err != nil {
			return fmt.Errorf("read the value from standard input: %w", err)
		}
		value = strings.TrimSpace(string(raw))
	}
	if account, ok := strings.CutPrefix(key, keyTable); ok {
		return r.storeKey(home, account, value)
	}
	notes, err := config.Set(cmd.Context(), home, key, value)
	r.notes(notes)
	return settingFailed(cmd, err)
}

// settingFailed tells a mistake in what was typed from a file that cannot be used.
func settingFailed(cmd *cobra.Command, err error) error {
	var file *config.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Failure{Code: ExitFailure, Err: err}
	default:
		return usage(cmd, "%w", err)
	}
}

func (r *runner) notes(notes []string) {
	for _, n := range notes {
		r.errln(r.style(r.io.ErrTerminal, 0).Warning(n))
	}
}

// storeKey keeps a key in the keyring, or in the file that only its owner reads.
func (r *runner) storeKey(home, account, value string) error {
	if account == "" || value == "" {
		return &Failure{Code: ExitUsage, Err: errors.New("a key needs a provider's name and a value"), Remedy: "for example: coderrr config set api_keys.openai - < key.txt"}
	}
	if _, err := config.MakeHome(home); err != nil {
		return err
	}
	where, err := r.io.Keys(home).Set(account, value)
	if err != nil {
		return err
	}
	r.errln("the key of " + account + " is stored: " + where)
	return nil
}

func (r *runner) configClear(cmd *cobra.Command, args []string) error {
	home, err := r.home()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		backup, err := config.Clear(cmd.Context(), home)
		if err == nil && backup != "" {
			r.errln("the configuration is cleared; the old file is " + backup)
		}
		return err
	}
	found := false
	if account, ok := strings.CutPrefix(args[0], keyTable); ok {
		if found, err = r.io.Keys(home).Delete(account); err != nil {
			return err
		}
	}
	notes, err := config.Unset(cmd.Context(), home, args[0])
	r.notes(notes)
	if found && err != nil {
		return nil // it was in the keyring only
	}
	return settingFailed(cmd, err)
}
