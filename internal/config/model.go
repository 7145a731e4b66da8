package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// ErrNoProvider: no provider or no model is configured.
var ErrNoProvider = errors.New("no model is configured")

// Model is the choice that results from file, environment and flags.
type Model struct {
	Profile  string // the name it was chosen by: a kind or a profile
	Kind     string // one of Kinds
	Name     string // the model's id at the provider
	Endpoint string // "" is the provider's own
	Effort   string
	Headers  map[string]Secret
	API      string // "" chooses by the model
	// Context (tokens), the prices (US dollars per million tokens) and Images are
	// what the configuration says of exactly this model; zero and nil say nothing.
	Context             int64
	InputUSD, OutputUSD *float64
	Images              *bool
}

// String is PROVIDER/MODEL.
func (m Model) String() string { return m.Profile + "/" + m.Name }

// Address is where requests go, to be shown: without credentials.
func (m Model) Address() string {
	if m.Endpoint != "" {
		return maskURL(m.Endpoint)
	}
	switch m.Kind {
	case "ollama":
		return "http://localhost:11434"
	case "anthropic":
		return "https://api.anthropic.com"
	case "openai":
		return "https://api.openai.com/v1"
	case "google":
		return "https://generativelanguage.googleapis.com"
	case "openrouter":
		return "https://openrouter.ai/api/v1"
	default:
		return ""
	}
}

// Resolve applies --model ([provider/]model, "" for none) and the environment.
// Endpoint and headers of [provider] belong to the provider named there and are
// never carried to another one.
func (c Config) Resolve(flag string, getenv func(string) string) (Model, error) {
	chosen := c.WithModel(flag).Provider
	if chosen.Name == "" {
		return Model{}, ErrNoProvider
	}
	m := Model{Profile: chosen.Name, Kind: chosen.Name}
	profile, ok := c.Providers[chosen.Name]
	if ok && profile.Name != "" {
		m.Kind = profile.Name
	}
	if !slices.Contains(Kinds(), m.Kind) {
		return Model{}, fmt.Errorf("there is no provider %q: one of %s, or a profile [providers.%s]", m.Kind, strings.Join(Kinds(), ", "), m.Kind)
	}
	m.Name = first(chosen.Model, profile.Model, defaultModel(m.Kind))
	m.Endpoint = first(chosen.Endpoint, profile.Endpoint)
	m.Effort = first(chosen.Effort, profile.Effort)
	m.API = first(chosen.API, profile.API)
	m.described(chosen)
	if m.Name == profile.Model {
		m.described(profile)
	}
	m.Headers = expandAll(first2(chosen.Headers, profile.Headers), getenv)
	if host := getenv("OLLAMA_HOST"); host != "" && m.Kind == "ollama" {
		m.Endpoint = ollamaURL(host)
	}
	if m.Name == "" {
		return Model{}, fmt.Errorf("%w: the provider is %s, but which model?", ErrNoProvider, m.Profile)
	}
	if m.Kind == "compatible" && m.Endpoint == "" {
		return Model{}, errors.New("provider.endpoint: a compatible provider needs the address of its API, such as http://127.0.0.1:8000/v1")
	}
	return m, nil
}

// WithModel returns the configuration with --model applied, for Resolve("").
func (c Config) WithModel(flag string) Config {
	if name, model, ok := c.splitModel(flag); ok {
		switch {
		case name != c.Provider.Name:
			c.Provider = Provider{Name: name}
		case model != c.Provider.Model:
			c.Provider = c.Provider.undescribed()
		}
		c.Provider.Model = model
	} else if flag != "" {
		if flag != c.Provider.Model {
			c.Provider = c.Provider.undescribed()
		}
		c.Provider.Model = flag
	}
	return c
}

// described takes over what p says of the model where nothing is said yet.
func (m *Model) described(p Provider) {
	if m.Context == 0 {
		m.Context = p.Context
	}
	if m.InputUSD == nil {
		m.InputUSD, m.OutputUSD = p.InputUSD, p.OutputUSD
	}
	if m.Images == nil {
		m.Images = p.Images
	}
}

// undescribed is p without what it says of its model: another one is another
// matter.
func (p Provider) undescribed() Provider {
	p.Context, p.InputUSD, p.OutputUSD, p.Images = 0, nil, nil, nil
	return p
}

// splitModel takes the provider off a --model value. At OpenRouter, and behind a
// compatible endpoint, anthropic/… and the like are part of the model's own id.
func (c Config) splitModel(flag string) (name, model string, ok bool) {
	name, model, ok = strings.Cut(flag, "/")
	if !ok || model == "" {
		return "", "", false
	}
	if _, profile := c.Providers[name]; profile || name == c.Provider.Name {
		return name, model, true
	}
	kind := c.Provider.Name
	if p, ok := c.Providers[kind]; ok && p.Name != "" {
		kind = p.Name
	}
	vendor := name == "anthropic" || name == "openai" || name == "google"
	if vendor && (kind == "openrouter" || kind == "compatible") {
		return "", "", false
	}
	return name, model, slices.Contains(Kinds(), name)
}

// defaultModel is used when only the provider is named.
func defaultModel(kind string) string {
	if kind == "ollama" {
		return "gemma4:31b-cloud"
	}
	return ""
}

// ollamaURL reads OLLAMA_HOST as Ollama's own client does: scheme and port are
// optional, and the address a server listens on for everyone means this machine.
func ollamaURL(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", host
	case scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name = strings.Trim(rest, "[]")
	} else if given != "" {
		port = given
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(name, port), Path: path}
	return u.String()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func first2(a, b map[string]Secret) map[string]Secret {
	if len(a) > 0 {
		return a
	}
	return b
}

// expandAll replaces ${VAR} in header values.
func expandAll(m map[string]Secret, getenv func(string) string) map[string]Secret {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]Secret, len(m))
	for k, v := range m {
		out[k] = Secret(Expand(v.Reveal(), getenv))
	}
	return out
}

// Expand replaces ${VAR} by the variable's value, "" when it is not set. A plain
// $ stays as it is.
func Expand(s string, getenv func(string) string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			b.WriteString("${" + rest)
			return b.String()
		}
		b.WriteString(getenv(name))
		s = after
	}
}

// Vault is where keys are stored; package secret implements it.
type Vault interface {
	Get(account string) (value string, ok bool, err error)
}

// EnvNames are the variables that hold a provider's key, the first that is set
// wins.
func EnvNames(kind string) []string {
	switch kind {
	case "anthropic":
		return []string{"ANTHROPIC_API_KEY"}
	case "openai":
		return []string{"OPENAI_API_KEY"}
	case "google":
		return []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}
	case "openrouter":
		return []string{"OPENROUTER_API_KEY"}
	case "ollama":
		return []string{"OLLAMA_API_KEY"}
	case "compatible":
		return []string{"CODERRR_API_KEY"}
	default:
		return nil
	}
}

// NeedsKey reports whether the provider refuses calls without a key.
func NeedsKey(kind string) bool { return kind != "ollama" && kind != "compatible" }

// Key finds the key of a model's provider: environment, then vault, then the
// file. From names the place, "" when there is no key. Keys are stored by profile
// name; only a profile of a provider with an address of its own also takes the
// key stored for the kind.
func (c Config) Key(m Model, getenv func(string) string, vault Vault) (key Secret, from string, err error) {
	for _, name := range EnvNames(m.Kind) {
		if v := getenv(name); v != "" {
			return Secret(v), "$" + name, nil
		}
	}
	accounts := []string{m.Profile}
	if m.Kind != m.Profile && m.Kind != "compatible" && m.Endpoint == "" {
		accounts = append(accounts, m.Kind)
	}
	for _, a := range accounts {
		if vault == nil {
			break
		}
		v, ok, getErr := vault.Get(a)
		if ok {
			return Secret(v), "stored key " + a, nil
		}
		err = errors.Join(err, getErr)
	}
	for _, a := range accounts {
		if v := c.APIKeys[a]; v != "" {
			return v, "api_keys." + a, nil
		}
	}
	return "", "", err
}

// Inside reports whether path is dir or lies in it. Both are absolute and clean.
func Inside(path, dir string) bool {
	sep := string(os.PathSeparator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}
