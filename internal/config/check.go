package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kinds lists the providers that an adapter exists for.
func Kinds() []string {
	return []string{"ollama", "anthropic", "openai", "google", "openrouter", "compatible"}
}

var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// problem is a value that has the right type and makes no sense.
type problem struct {
	path []string
	text string
}

// check refuses values that cannot work, naming the line where they stand.
func check(name string, data []byte, c Config) error {
	problems := append(checkTables(c), checkServers(c)...)
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	out := &Error{File: name, Text: strings.Join(first.path, ".") + ": " + first.text, Remedy: "correct the line; nothing was changed or ignored"}
	if doc, err := index(data); err == nil {
		out.Line, out.Column = doc.position(first.path)
	}
	return out
}

func checkTables(c Config) []problem {
	var out []problem
	add := func(ok bool, key, text string) {
		if !ok {
			out = append(out, problem{strings.Split(key, "."), text})
		}
	}
	oneOf := func(key, have string, allowed ...string) {
		add(slices.Contains(allowed, have), key, fmt.Sprintf("%q is not one of %s", have, strings.Join(allowed, ", ")))
	}
	if name := c.Provider.Name; name != "" {
		_, profile := c.Providers[name]
		add(profile || slices.Contains(Kinds(), name), "provider.name",
			fmt.Sprintf("%q is neither one of %s nor a profile [providers.%s]", name, strings.Join(Kinds(), ", "), name))
	}
	for _, name := range sortedNames(c.Providers) {
		p := c.Providers[name]
		kind := p.Name
		if kind == "" {
			kind = name
		}
		add(slices.Contains(Kinds(), kind), "providers."+name+".name",
			fmt.Sprintf("a profile needs the kind of provider: one of %s", strings.Join(Kinds(), ", ")))
		out = append(out, checkProvider("providers."+name, p)...)
	}
	out = append(out, checkProvider("provider", c.Provider)...)
	oneOf("verify.mode", c.Verify.Mode, "always", "writes_only", "off")
	oneOf("sandbox.tier", c.Sandbox.Tier, "auto", "confined", "docker", "landlock", "scratch")
	add(c.Agent.MaxIter >= 1, "agent.max_iter", "must be at least 1")
	add(c.Agent.MaxToolTurns >= 1, "agent.max_tool_turns", "must be at least 1")
	add(c.Agent.MaxTokens >= 1, "agent.max_tokens", "must be at least 1")
	add(c.Agent.MaxSeconds >= 0, "agent.max_seconds", "must not be negative; 0 is no limit")
	add(c.Agent.Temperature == nil || inRange(*c.Agent.Temperature), "agent.temperature", "must be from 0 to 2")
	add(inRange(c.Verify.Temperature), "verify.temperature", "must be from 0 to 2")
	add(c.Sandbox.Timeout >= 1, "sandbox.timeout", "must be at least 1 second")
	add(c.Sandbox.MemoryMB >= 64, "sandbox.memory_mb", "must be at least 64")
	add(c.Session.KeepDays >= 0, "session.keep_days", "must not be negative; 0 keeps logs for ever")
	add(c.Session.MaxCostUSD == nil || *c.Session.MaxCostUSD > 0, "session.max_cost_usd", "must be more than 0")
	add(c.MCP.MaxResultBytes >= 1024, "mcp.max_result_bytes", "must be at least 1024")
	return out
}

// checkProvider checks the keys that [provider] and a profile share.
func checkProvider(table string, p Provider) []problem {
	var out []problem
	add := func(ok bool, key, text string) {
		if !ok {
			out = append(out, problem{strings.Split(table+"."+key, "."), text})
		}
	}
	add(validEndpoint(p.Endpoint), "endpoint", "is not an http or https address")
	add(slices.Contains([]string{"", "chat", "responses"}, p.API), "api", fmt.Sprintf("%q is not one of chat, responses", p.API))
	add(p.Context >= 0, "context", "must not be negative; 0 is what the catalogue or the server says")
	add(p.InputUSD == nil || *p.InputUSD >= 0, "input_usd", "must not be negative")
	add(p.OutputUSD == nil || *p.OutputUSD >= 0, "output_usd", "must not be negative")
	add((p.InputUSD == nil) == (p.OutputUSD == nil), "input_usd", "input_usd and output_usd go together: half a price is none")
	return out
}

func inRange(t float64) bool { return t >= 0 && t <= 2 }

func validEndpoint(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func checkServers(c Config) []problem {
	var out []problem
	for _, name := range sortedNames(c.MCP.Servers) {
		s := c.MCP.Servers[name]
		add := func(ok bool, key, text string) {
			if !ok {
				out = append(out, problem{[]string{"mcp", "servers", name, key}, text})
			}
		}
		add(serverName().MatchString(name), "", fmt.Sprintf("%q cannot name a server: letters, digits, _ and - only", name))
		add(slices.Contains([]string{"", "http", "stdio"}, s.Transport), "transport", fmt.Sprintf("%q is not one of http, stdio", s.Transport))
		add(slices.Contains([]string{"", "auto", "none", "client_credentials"}, s.Auth), "auth", fmt.Sprintf("%q is not one of auto, none, client_credentials", s.Auth))
		add(s.Timeout >= 0, "timeout", "must not be negative")
		add(validEndpoint(s.URL), "url", "is not an http or https address")
		add(s.URL == "" || s.Command == "", "url", "a server has a url or a command, not both")
		add(s.URL != "" || s.Command != "", "url", "a server needs a url (http) or a command (stdio)")
	}
	return out
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
