package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/mcp"
	"github.com/coderrr/coderrr/internal/term"
)

// adding is a server that is being added.
type adding struct {
	name      string
	server    mcp.Server
	secret    string
	replace   bool
	noCheck   bool
	machine   bool
	timeout   int
	headers   []string
	env       []string
	transport string
	login     signIn
}

func (r *runner) mcpAddCmd() *cobra.Command {
	var a adding
	cmd := &cobra.Command{
		Use: "add [NAME] (URL | -- COMMAND [ARG...])", Short: "add a server and connect to it at once",
		Long: "Adds a server and tries it. A command is shown as it will be run and asked about\nfirst. Values of headers, and of variables whose names sound secret, are kept in\nthe keyring; ${VAR} is read from the environment each time.",
		Example: "  coderrr mcp add https://mcp.example.com/mcp\n" +
			"  coderrr mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n" +
			"  coderrr mcp add tracker https://example.com/mcp -H 'Authorization: Bearer ${TRACKER_TOKEN}'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			if err := a.parse(cmd, args); err != nil {
				return err
			}
			return r.add(ctx, cmd, a)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&a.headers, "header", "H", nil, "send this `NAME: VALUE` with each request (repeatable)")
	f.StringArrayVarP(&a.env, "env", "e", nil, "set this `NAME=VALUE` for the command (repeatable)")
	f.StringVar(&a.server.Cwd, "cwd", "", "run the command in this folder (default: your home)")
	f.IntVar(&a.timeout, "timeout", 0, "seconds to wait for a connection or an answer (default: 60 for a command, 30 for a URL)")
	f.StringVar(&a.transport, "transport", "", "http or stdio (default: by what is given; http finds the older HTTP+SSE by itself)")
	f.StringVar(&a.server.ClientID, "client-id", "", "the id of a client that was registered at the server by hand")
	f.StringVar(&a.secret, "client-secret", "", "its secret, or its private key in PEM; - reads it from standard input")
	f.BoolVar(&a.machine, "client-credentials", false, "sign in as that client, without a person")
	f.BoolVar(&a.server.Required, "required", false, "end a session that cannot reach it")
	f.BoolVar(&a.replace, "replace", false, "replace a server of this name")
	f.BoolVar(&a.noCheck, "no-check", false, "save it without connecting")
	a.login.flags(cmd)
	return cmd
}

// parse reads what the words after add mean.
func (a *adding) parse(cmd *cobra.Command, args []string) error {
	words, command := args, []string(nil)
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		words, command = args[:at], args[at:]
	}
	if len(words) == 2 && len(command) == 0 || len(words) == 1 && len(command) == 0 && isURL(words[0]) {
		a.server.URL = words[len(words)-1]
		words = words[:len(words)-1]
		if !isURL(a.server.URL) {
			return usage(cmd, "%q is not an http or https address; a command comes after --", a.server.URL)
		}
	}
	switch {
	case len(words) > 1 || a.server.URL == "" && len(command) == 0:
		return usage(cmd, "it takes a name and a URL, or a name and, after --, a command")
	case len(words) == 1:
		a.name = words[0]
	case a.server.URL != "":
		a.name = nameOf(a.server.URL)
	default:
		return usage(cmd, "a command needs a name before the --")
	}
	if mcp.Name(a.name) != a.name || a.name == "" {
		return usage(cmd, "%q cannot name a server: letters, digits, _ and - only", a.name)
	}
	if len(command) > 0 {
		a.server.Command, a.server.Args = command[0], command[1:]
	}
	if !slices.Contains([]string{"", "http", "sse", "stdio"}, a.transport) || a.transport == "stdio" && a.server.Command == "" || a.transport != "" && a.transport != "stdio" && a.server.URL == "" {
		return usage(cmd, "--transport %s does not fit what was given", a.transport)
	}
	a.server.Env, a.server.Headers = map[string]string{}, map[string]string{}
	for _, e := range a.env {
		k, v, ok := strings.Cut(e, "=")
		if !ok || k == "" {
			return usage(cmd, "-e takes NAME=VALUE, not %q", e)
		}
		a.server.Env[k] = v
	}
	for _, h := range a.headers {
		k, v, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(k) == "" {
			return usage(cmd, "-H takes NAME: VALUE")
		}
		a.server.Headers[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	if a.machine {
		if a.server.ClientID == "" || a.server.URL == "" {
			return usage(cmd, "--client-credentials needs a URL and --client-id")
		}
		a.server.Auth = "client_credentials"
	}
	return nil
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// nameOf makes a name of a host: mcp.linear.app is linear.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	parts := strings.Split(u.Hostname(), ".")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "mcp" || p == "www" || p == "api" || p == "" })
	if len(parts) > 1 && !strings.ContainsAny(u.Hostname(), ":") {
		if _, err := strconv.Atoi(parts[0]); err != nil {
			return mcp.Name(parts[len(parts)-2])
		}
	}
	return mcp.Name(strings.Join(parts, "-"))
}

// add tries the server and saves it.
func (r *runner) add(ctx context.Context, cmd *cobra.Command, a adding) error {
	if len(a.login.scopes) > 0 {
		a.server.Scopes = a.login.scopes
	}
	home, c, err := r.load()
	if err != nil {
		return err
	}
	if _, taken := c.MCP.Servers[a.name]; taken && !a.replace {
		return &Failure{Code: ExitUsage, Err: fmt.Errorf("there is an MCP server %q already", a.name), Remedy: "give another name, or --replace"}
	}
	if a.secret == "-" {
		raw, err := r.readAll()
		if err != nil {
			return err
		}
		a.secret = strings.TrimSpace(string(raw))
	}
	if a.secret != "" {
		if _, err := config.MakeHome(home); err != nil {
			return err
		}
		if _, err := r.io.Keys(home).Set(mcp.ClientSecretAccount(a.name), a.secret); err != nil {
			return err
		}
	}
	checked, err := r.check(ctx, home, &a)
	if err != nil {
		return err
	}
	if err := r.saveServer(ctx, cmd, home, a); err != nil {
		return err
	}
	r.errln(r.style(r.io.ErrTerminal, 0).Good("added") + " " + a.name + " to " + config.Path(home))
	if !checked {
		r.errln("It was not tried: coderrr mcp test " + a.name)
	}
	return nil
}

// check asks before a command runs, then connects. It is false when nothing was
// tried.
func (r *runner) check(ctx context.Context, home string, a *adding) (bool, error) {
	if a.noCheck {
		return false, nil
	}
	if a.server.Command != "" {
		ok, asked, err := r.consent(ctx, a.server)
		if err != nil || !asked {
			return false, err
		}
		if !ok {
			return false, &Failure{Code: ExitDeclined, Err: errors.New("nothing was run or saved")}
		}
	}
	found, err := r.tryServers(ctx, home, map[string]mcp.Server{a.name: a.server}, nil)
	if err != nil {
		return false, err
	}
	if found[0].State == mcp.NeedsLogin {
		console := r.console()
		if console != nil {
			err = console.Close() // only whether there is one matters here
		}
		if err != nil {
			return false, err
		}
		if console == nil && !a.login.noBrowser {
			r.errln("It wants you to sign in: coderrr mcp login " + a.name)
			return true, nil
		}
		if err := r.mcpLogin(ctx, home, a.name, a.server, a.login); err != nil {
			return false, err
		}
		if found, err = r.tryServers(ctx, home, map[string]mcp.Server{a.name: a.server}, nil); err != nil {
			return false, err
		}
	}
	r.describe(found[0])
	if found[0].State != mcp.Ready {
		return false, &Failure{Code: ExitFailure, Err: errors.New(a.name + " was not saved: it does not work as it is"), Remedy: "correct what is said above, or save it all the same with --no-check"}
	}
	return true, nil
}

// consent shows the exact command and asks. Without a terminal nothing is run.
func (r *runner) consent(ctx context.Context, s mcp.Server) (ok, asked bool, err error) {
	r.errln("This command will run with your rights, now and in each session:\n  " + term.OneLine(mcp.CommandLine(s.Command, s.Args)))
	if len(s.Env) > 0 {
		r.errln("  with the variables " + strings.Join(slices.Sorted(maps.Keys(s.Env)), ", "))
	}
	console := r.console()
	if console == nil {
		return false, false, nil
	}
	defer func() { err = errors.Join(err, console.Close()) }()
	ok, err = term.YesNo(ctx, console, r.style(r.io.ErrTerminal, console.Width()), "Run it?")
	return ok, true, err
}

// sounding finds names of variables whose values are secret.
var sounding = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)token|secret|passw|key|auth|cred|cookie`) })

func secretAccount(server, kind, name string) string {
	return "mcp." + server + "." + kind + "." + name
}

// secretAccounts are the accounts that a server's configuration refers to.
func secretAccounts(name string, s mcp.Server) []string {
	var out []string
	if s.ClientID != "" {
		out = append(out, mcp.ClientSecretAccount(name))
	}
	ref := regexp.MustCompile(`\$\{secret:([^}]+)\}`)
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, v := range m {
			for _, found := range ref.FindAllStringSubmatch(v, -1) {
				out = append(out, found[1])
			}
		}
	}
	return out
}

// apart keeps secret values in the keyring and leaves references to them.
func (r *runner) apart(home, server string, s *mcp.Server) error {
	keep := func(kind string, m map[string]string, all bool) error {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if strings.Contains(m[k], "${") || !all && !sounding().MatchString(k) {
				continue
			}
			account := secretAccount(server, kind, k)
			if _, err := r.io.Keys(home).Set(account, m[k]); err != nil {
				return err
			}
			m[k] = mcp.Secret(account)
		}
		return nil
	}
	return errors.Join(keep("header", s.Headers, true), keep("env", s.Env, false))
}

// saveServer writes a server to the configuration, in one go.
func (r *runner) saveServer(ctx context.Context, cmd *cobra.Command, home string, a adding) error {
	if _, err := config.MakeHome(home); err != nil {
		return err
	}
	s := a.server
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	if err := r.apart(home, a.name, &s); err != nil {
		return err
	}
	table := "mcp.servers." + a.name
	if a.replace {
		if notes, err := config.Unset(ctx, home, table); err == nil {
			r.notes(notes)
		}
	}
	var settings [][2]string
	set := func(key, value string) {
		if value != "" {
			settings = append(settings, [2]string{table + "." + key, value})
		}
	}
	set("url", s.URL)
	set("command", s.Command)
	set("args", tomlList(s.Args))
	set("cwd", s.Cwd)
	set("client_id", s.ClientID)
	set("auth", s.Auth)
	set("scopes", tomlList(s.Scopes))
	set("denied_tools", tomlList(s.DeniedTools))
	if seconds := max(a.timeout, int(s.Timeout.Seconds())); seconds > 0 {
		set("timeout", strconv.Itoa(seconds))
	}
	if s.Required {
		set("required", "true")
	}
	if s.Disabled {
		set("enabled", "false")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		set("env."+tomlKey(k), s.Env[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		set("headers."+tomlKey(k), s.Headers[k])
	}
	notes, err := config.SetValues(ctx, home, settings)
	r.notes(notes)
	return settingFailed(cmd, err)
}

// tomlList writes a list as the configuration reads it; JSON strings are TOML
// strings too.
func tomlList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = jsonString(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}

var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

func tomlKey(k string) string {
	if bare().MatchString(k) {
		return k
	}
	return jsonString(k)
}
