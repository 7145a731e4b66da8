package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Masked returns a copy in which nothing secret is left: keys, header and
// environment values, and what an address carries besides its host and path.
func (c Config) Masked() Config {
	c.APIKeys = maskAll(c.APIKeys)
	c.Provider = c.Provider.masked()
	c.Skills.Registry = maskURL(c.Skills.Registry)
	c.Providers = maps.Clone(c.Providers)
	for name, p := range c.Providers {
		c.Providers[name] = p.masked()
	}
	c.MCP.Servers = maps.Clone(c.MCP.Servers)
	for name, s := range c.MCP.Servers {
		s.URL, s.Env, s.Headers = maskURL(s.URL), maskAll(s.Env), maskAll(s.Headers)
		c.MCP.Servers[name] = s
	}
	c.Verify.Batch = nil
	return c
}

func (p Provider) masked() Provider {
	p.Endpoint, p.Headers = maskURL(p.Endpoint), maskAll(p.Headers)
	return p
}

func maskAll(m map[string]Secret) map[string]Secret {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]Secret, len(m))
	for k, v := range m {
		out[k] = Secret(v.String())
	}
	return out
}

// maskURL hides user information and query values.
func maskURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return Mask
	}
	if u.User == nil && u.RawQuery == "" {
		return s
	}
	if u.User != nil {
		u.User = url.User(Mask)
	}
	if u.RawQuery != "" {
		q := u.Query()
		for k := range q {
			q.Set(k, Mask)
		}
		u.RawQuery = q.Encode()
	}
	return strings.ReplaceAll(u.String(), url.QueryEscape(Mask), Mask)
}

// TOML is the masked configuration as text, defaults included.
func (c Config) TOML() (string, error) {
	out, err := toml.Marshal(c.Masked())
	if err != nil {
		return "", fmt.Errorf("write the configuration as text: %w", err)
	}
	return string(out), nil
}

// Get returns one value, or a whole table, of the masked configuration as text:
// a text as it is, anything else as JSON.
func (c Config) Get(key string) (string, error) {
	path, err := SplitKey(key)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(c.Masked())
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	for i, p := range path {
		m, ok := v.(map[string]any)
		next, there := m[p]
		if !ok || !there {
			return "", c.absent(key, path[:i+1])
		}
		v = next
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	if v == nil {
		return "", nil
	}
	out, err := json.Marshal(v)
	return string(out), err
}

func (c Config) absent(key string, path []string) error {
	if _, ok := lookup(path); ok {
		return nil // a known key without a value
	}
	if near := nearestKey(key); near != "" && near != key {
		return fmt.Errorf("there is no key %q: did you mean %q?", key, near)
	}
	return fmt.Errorf("there is no key %q: run `coderrr config show` to see what is set", key)
}
