package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
)

// Subject is what is looked at. The functions are called when their check runs.
type Subject struct {
	Version string // whole line
	Built   time.Time
	Home    string
	Dir     string
	Getenv  func(string) string
	Load    func() (config.Config, []config.Warning, error)
	// Provider and Sandbox make what a session would use; Key says where the key
	// was found ("" for nowhere). Keyring is nil when one answers.
	Provider func(ctx context.Context) (llm.Provider, error)
	// About says what is known without asking whether anybody answers; it may be nil.
	About   func(ctx context.Context) (About, error)
	Sandbox func(ctx context.Context) (sandbox.Sandbox, error)
	Key     func(m config.Model) (from string, err error)
	Keyring func() error
	// Terminal describes the terminal in one line, "" when there is none. Browser
	// says whether a page can be opened.
	Terminal string
	Browser  bool
}

// Checks are all checks of a subject, in the order they are shown.
func (s Subject) Checks() []Check {
	return []Check{
		{"version", func(context.Context) Result { return Result{Status: OK, Detail: s.Version} }},
		{"config", s.config},
		{"provider", s.provider},
		{"key", s.key},
		{"model", s.model},
		{"sandbox", s.sandbox},
		{"workspace", s.workspace},
		{"keyring", s.keyring},
		{"terminal", s.terminal},
		{"browser", s.browser},
		{"disk", s.disk},
		{"clock", s.clock},
	}
}

func (s Subject) config(context.Context) Result {
	path := config.Path(s.Home)
	_, warnings, err := s.Load()
	if err != nil {
		return Result{Status: Fail, Detail: err.Error(), Remedy: "correct the file; `coderrr config path` prints where it is"}
	}
	if len(warnings) > 0 {
		var text []string
		for _, w := range warnings {
			text = append(text, w.String())
		}
		return Result{Status: Warn, Detail: strings.Join(text, "; "), Remedy: "remove or correct these entries in " + path}
	}
	if _, err := os.Stat(path); err != nil {
		return Result{Status: OK, Detail: path + " does not exist; the defaults are used"}
	}
	return Result{Status: OK, Detail: path}
}

// chosen is the model a session would use.
func (s Subject) chosen() (config.Model, *Result) {
	c, _, err := s.Load()
	if err != nil {
		return config.Model{}, &Result{Status: Skip, Detail: "the configuration cannot be read"}
	}
	m, err := c.Resolve("", s.Getenv)
	if err != nil {
		return config.Model{}, &Result{Status: Fail, Detail: err.Error(), Remedy: "run `coderrr config`, or try `coderrr ui --demo`"}
	}
	return m, nil
}

func (s Subject) provider(context.Context) Result {
	m, bad := s.chosen()
	if bad != nil {
		return *bad
	}
	return Result{Status: OK, Detail: m.String() + " at " + m.Address()}
}

func (s Subject) key(context.Context) Result {
	m, bad := s.chosen()
	if bad != nil {
		return Result{Status: Skip, Detail: "no provider is chosen"}
	}
	from, err := s.Key(m)
	switch {
	case err != nil:
		return Result{Status: Warn, Detail: err.Error(), Remedy: "unlock the keyring, or set " + strings.Join(config.EnvNames(m.Kind), " or ")}
	case from != "":
		return Result{Status: OK, Detail: "found: " + from + " (" + config.Mask + ")"}
	case config.NeedsKey(m.Kind):
		return Result{Status: Fail, Detail: "there is no key for " + m.Profile, Remedy: "run `coderrr config`, or set " + strings.Join(config.EnvNames(m.Kind), " or ")}
	default:
		return Result{Status: OK, Detail: m.Kind + " needs none"}
	}
}

func (s Subject) model(ctx context.Context) Result {
	m, bad := s.chosen()
	if bad != nil {
		return Result{Status: Skip, Detail: "no provider is chosen"}
	}
	p, err := s.Provider(ctx)
	if err != nil {
		return Result{Status: Fail, Detail: err.Error(), Remedy: "run `coderrr config`"}
	}
	if _, ok := p.(llm.Lister); !ok {
		return Result{Status: Skip, Detail: m.Profile + " cannot list its models; the first request will tell"}
	}
	about := About{Provider: m.Kind, Profile: m.Profile, Model: m.Name}
	if s.About != nil {
		if about, err = s.About(ctx); err != nil {
			return Result{Status: Fail, Detail: err.Error(), Remedy: "run `coderrr config`"}
		}
	}
	models := about.Reach(ctx, p)
	switch {
	case about.Problem == "":
		return about.found()
	case about.Reachable && len(models) == 0:
		return Result{Status: Warn, Detail: about.Problem, Remedy: about.Remedy}
	default:
		return Result{Status: Fail, Detail: about.Problem, Remedy: about.Remedy}
	}
}

// leastContext is the size below which plans and files hardly fit, in tokens.
const leastContext = 16_000

func (a About) found() Result {
	r := Result{Status: OK, Detail: a.Model + " is there, context " + a.Size() + ", price " + a.Price()}
	switch {
	case a.Warning != "":
		r.Status, r.Remedy = Warn, a.Warning
	case a.ContextTokens != nil && *a.ContextTokens < leastContext:
		r.Status, r.Remedy = Warn, "plans and files need room: use a model, or a setting of the server, with at least 16000 tokens"
	}
	return r
}

func (s Subject) sandbox(ctx context.Context) (r Result) {
	box, err := s.Sandbox(ctx)
	if err != nil {
		return Result{Status: Fail, Detail: err.Error(), Remedy: "run `coderrr sandbox explain`, or set sandbox.tier = \"auto\""}
	}
	defer func() {
		if err := box.Close(); err != nil {
			r = Result{Status: Fail, Detail: "the sandbox could not be closed: " + err.Error()}
		}
	}()
	info := box.Info()
	r = Result{Status: OK, Detail: Tier(info), Remedy: info.Better}
	if !info.Isolation.Files {
		r.Status = Warn
		r.Detail = strings.TrimSpace(r.Detail + " " + info.Limits)
	}
	return r
}

// Tier is a sandbox in one line that begins with its tier.
func Tier(info sandbox.Info) string {
	if strings.HasPrefix(info.Summary, string(info.Tier)) {
		return info.Summary
	}
	return strings.TrimSuffix(string(info.Tier)+": "+info.Summary, ": ")
}

func (s Subject) workspace(context.Context) Result {
	info, err := os.Stat(s.Dir)
	switch {
	case err != nil:
		return Result{Status: Fail, Detail: s.Dir + " cannot be read: " + plain(err), Remedy: "go to your project, or name it with --dir"}
	case !info.IsDir():
		return Result{Status: Fail, Detail: s.Dir + " is not a directory", Remedy: "go to your project, or name it with --dir"}
	}
	return Result{Status: OK, Detail: s.Dir}
}

func plain(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (s Subject) keyring(context.Context) Result {
	if err := s.Keyring(); err != nil {
		return Result{Status: OK, Detail: "not available here; keys are kept in a file that only you can read"}
	}
	return Result{Status: OK, Detail: "available"}
}

func (s Subject) terminal(context.Context) Result {
	if s.Terminal == "" {
		return Result{Status: OK, Detail: "none: questions cannot be asked here, so runs need --plan-only, then --approve"}
	}
	return Result{Status: OK, Detail: s.Terminal}
}

func (s Subject) browser(context.Context) Result {
	if !s.Browser {
		return Result{Status: OK, Detail: "no display: `coderrr ui` prints the address; from another machine use `ssh -L`"}
	}
	return Result{Status: OK, Detail: "a page can be opened"}
}

// lowDisk is when a run is likely to fail, in bytes.
const lowDisk = 500 << 20

func (s Subject) disk(context.Context) Result {
	free, ok := freeSpace(s.Dir)
	switch {
	case !ok:
		return Result{Status: Skip, Detail: "the free space cannot be told here"}
	case free < lowDisk:
		return Result{Status: Warn, Detail: fmt.Sprintf("%d MiB free where the workspace is", free>>20), Remedy: "make room: logs, old contents and the sandbox's copy need some"}
	}
	return Result{Status: OK, Detail: fmt.Sprintf("%d GiB free where the workspace is", free>>30)}
}

// clock finds a machine whose time was never set: certificates are refused then.
func (s Subject) clock(context.Context) Result {
	now := time.Now()
	if !s.Built.IsZero() && now.Before(s.Built.Add(-24*time.Hour)) {
		return Result{Status: Fail, Detail: "the clock says " + now.UTC().Format(time.RFC3339) + ", before this program was built", Remedy: "set the clock: providers' certificates are refused otherwise"}
	}
	return Result{Status: OK, Detail: now.UTC().Format(time.RFC3339)}
}
