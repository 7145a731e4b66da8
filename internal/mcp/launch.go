package mcp

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/mcp/oauth"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// The default limits of connecting: a first start through a package runner can
// take most of a minute.
const (
	startStdio = 60 * time.Second
	startHTTP  = 30 * time.Second
)

// options are what the wire needs to reach the server, with variables filled in.
func (s *server) options() (wire.Options, error) {
	cfg, err := s.cfg.expand(s.m.o.Getenv, s.m.o.Vault)
	if err != nil {
		return wire.Options{}, err
	}
	o := wire.Options{
		Client: wire.Implementation{Name: "coderrr", Title: "Coderrr", Version: s.m.o.Version},
		Notify: s.notify, Handshake: cfg.Timeout, Idle: cfg.Timeout,
		MaxText: max(1<<20, 4*s.m.o.MaxResultBytes),
	}
	if s.m.o.Workspace != "" {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(s.m.o.Workspace)}
		o.Roots = []wire.Root{{URI: u.String(), Name: filepath.Base(s.m.o.Workspace)}}
	}
	if s.m.o.Questions != nil {
		o.Elicit = s.elicit
	}
	if s.m.o.Trace != nil {
		o.Trace = func(direction string, message []byte) { s.m.o.Trace(s.name, direction, message) }
	}
	if cfg.kind() == "stdio" {
		o.Handshake = max(o.Handshake, 0)
		if o.Handshake == 0 {
			o.Handshake = startStdio
		}
		o.Command, err = s.m.command(cfg)
		return o, err
	}
	if o.Handshake == 0 {
		o.Handshake = startHTTP
	}
	o.URL, o.Headers = cfg.URL, cfg.Headers
	if cfg.Transport == "sse" {
		o.Transport = "sse"
	}
	if cfg.Auth != "none" && !hasAuthorization(cfg.Headers) && s.m.o.Vault != nil {
		var creds oauth.Options
		if creds, err = Credentials(s.name, cfg, s.m.o.Vault, s.m.o.Home); err != nil {
			return o, err
		}
		o.Auth, err = oauth.New(creds)
	}
	return o, err
}

// Credentials are what a server's sign-in is made of: for auth = client_credentials
// a grant for machines, else what a person signs in with. The client's secret is
// kept under ClientSecretAccount; one in PEM is a key.
func Credentials(name string, cfg Server, vault oauth.Vault, home string) (oauth.Options, error) {
	o := oauth.Options{Name: name, URL: cfg.URL, Vault: vault, Home: home, ClientID: cfg.ClientID, Scopes: cfg.Scopes}
	if cfg.ClientID == "" {
		return o, nil
	}
	secret, _, err := vault.Get(ClientSecretAccount(name))
	if err != nil {
		return o, fmt.Errorf("read the client's secret: %w", err)
	}
	o.ClientSecret = secret
	if cfg.Auth == "client_credentials" {
		grant := oauth.ClientCredentials{ClientID: cfg.ClientID, ClientSecret: secret}
		if strings.HasPrefix(secret, "-----BEGIN") {
			grant.ClientSecret, grant.PrivateKey = "", secret
		}
		o.Grant = grant
	}
	return o, nil
}

// ClientSecretAccount is where the secret of a server's client is kept.
func ClientSecretAccount(name string) string { return "mcp." + name + ".client_secret" }

// hasAuthorization reports a header the person configured: then no other
// credentials are looked for.
func hasAuthorization(headers map[string]string) bool {
	for k := range headers {
		if strings.EqualFold(k, "Authorization") {
			return true
		}
	}
	return false
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(env:|secret:)?([A-Za-z_][A-Za-z0-9_.-]*)(:-([^}]*))?\}`)
})

// Secret is how a configuration names a value that is kept apart, under account.
func Secret(account string) string { return "${secret:" + account + "}" }

// expand fills ${VAR}, ${VAR:-default}, ${env:VAR} and ${secret:NAME} in. A value
// that is not there is an error that names the field: sending the text itself, or
// nothing, would only fail later and less clearly.
func (c Server) expand(getenv func(string) string, vault oauth.Vault) (Server, error) {
	var missing []string
	fill := func(field, s string) string {
		return variable().ReplaceAllStringFunc(s, func(ref string) string {
			m := variable().FindStringSubmatch(ref)
			if m[1] == "secret:" {
				if vault == nil {
					missing = append(missing, field+" needs a stored secret, and there is no place they are stored")
					return ""
				}
				v, ok, err := vault.Get(m[2])
				if err != nil || !ok {
					missing = append(missing, fmt.Sprintf("%s needs the stored secret %s, which is not there: add the server again", field, m[2]))
				}
				return v
			}
			v := getenv(m[2])
			if v == "" && m[3] == "" {
				missing = append(missing, fmt.Sprintf("%s needs the environment variable %s, which is not set", field, m[2]))
			}
			if v == "" {
				v = m[4]
			}
			return v
		})
	}
	out := c
	out.URL, out.Command, out.Cwd = fill("url", c.URL), fill("command", c.Command), fill("cwd", c.Cwd)
	out.Args = slices.Clone(c.Args)
	for i := range out.Args {
		out.Args[i] = fill("args", out.Args[i])
	}
	out.Env, out.Headers = map[string]string{}, map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		out.Env[k] = fill("env."+k, c.Env[k])
	}
	for _, k := range slices.Sorted(maps.Keys(c.Headers)) {
		out.Headers[k] = fill("headers."+k, c.Headers[k])
	}
	if len(missing) > 0 {
		return out, errors.New(strings.Join(missing, "; "))
	}
	return out, nil
}

// command is the child process of a stdio server.
func (m *Manager) command(cfg Server) (*wire.Command, error) {
	path, err := m.lookup(cfg.Command, cfg.Env["PATH"])
	if err != nil {
		return nil, err
	}
	dir, err := m.folder(cfg.Cwd)
	if err != nil {
		return nil, err
	}
	return &wire.Command{Path: path, Args: cfg.Args, Env: m.environment(cfg.Env), Dir: dir}, nil
}

// folder is where a server runs. It is not the workspace by default: a package
// runner would take programs and settings from what lies there.
func (m *Manager) folder(cwd string) (string, error) {
	if cwd == "" {
		home := m.o.Getenv("HOME")
		if runtime.GOOS == "windows" {
			home = m.o.Getenv("USERPROFILE")
		}
		if isFolder(home) {
			return home, nil
		}
		return filepath.VolumeName(home) + string(filepath.Separator), nil
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(m.o.Workspace, cwd)
	}
	if !isFolder(cwd) {
		return "", fmt.Errorf("cwd: %s is not a folder", cwd)
	}
	return cwd, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.IsDir()
}

// lookup finds a command: an absolute path, or a name on PATH outside the
// workspace.
func (m *Manager) lookup(command, configured string) (string, error) {
	if filepath.IsAbs(command) {
		if !executable(command) {
			return "", fmt.Errorf("command: %s is not a program that can be run", command)
		}
		return command, nil
	}
	if strings.ContainsAny(command, `/\`) {
		return "", fmt.Errorf("command: %s is relative: give the whole path, or a name that is on PATH", command)
	}
	for _, dir := range m.path(configured) {
		for _, ext := range extensions() {
			if p := filepath.Join(dir, command+ext); executable(p) {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("command: there is no program %s on PATH (%s): install it, or give the whole path", command, strings.Join(m.path(configured), string(filepath.ListSeparator)))
}

func extensions() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".cmd", ".bat", ""}
	}
	return []string{""}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

// path are the entries of PATH that are absolute and outside the workspace.
func (m *Manager) path(configured string) []string {
	if configured == "" {
		configured = m.o.Getenv("PATH")
	}
	var out []string
	for _, dir := range filepath.SplitList(configured) {
		if filepath.IsAbs(dir) && !m.inWorkspace(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

func (m *Manager) inWorkspace(dir string) bool {
	ws := m.o.Workspace
	if ws == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sep := string(filepath.Separator)
	return strings.HasPrefix(filepath.Clean(dir)+sep, filepath.Clean(ws)+sep)
}

// passed are the variables that a server gets from this process: what a program
// needs to run and to find its caches, and no key.
func passed() []string {
	return []string{
		"HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TERM", "TMPDIR", "TMP", "TEMP",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
		"SystemRoot", "SYSTEMDRIVE", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "windir",
	}
}

// environment is the whole environment of a server: an allow-list, PATH without
// the workspace, and what is configured for it.
func (m *Manager) environment(configured map[string]string) []string {
	all := map[string]string{"PATH": strings.Join(m.path(configured["PATH"]), string(filepath.ListSeparator)), "AGENT": "coderrr"}
	for _, name := range passed() {
		if v := m.o.Getenv(name); v != "" {
			all[name] = v
		}
	}
	for k, v := range configured {
		if k != "PATH" && k != "" && !strings.ContainsAny(k, "=\x00") {
			all[k] = v
		}
	}
	out := make([]string, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, k+"="+all[k])
	}
	return out
}

// explain names the server and what to do about an error.
func (s *server) explain(err error) error {
	if isLogin(err) {
		return err // it names both
	}
	return fmt.Errorf("MCP server %s: %w", s.name, err)
}

func isLogin(err error) bool {
	var login *oauth.LoginError
	return errors.As(err, &login)
}
