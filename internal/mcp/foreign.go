package mcp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

var badName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// Name makes a name for a server out of any text, "" where nothing is left.
func Name(text string) string {
	name := strings.Trim(badName().ReplaceAllString(text, "-"), "-_")
	return name[:min(len(name), 64)]
}

// Foreign finds servers in another program's configuration: the forms of Claude
// Code, Claude Desktop, Cursor, VS Code, Gemini CLI, Codex, Crush and opencode.
// What those programs allow without asking is not taken over. Notes say what was
// left out, by server.
func Foreign(doc map[string]any) (servers map[string]Server, notes []string) {
	servers = map[string]Server{}
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "mcp"} {
		list, _ := doc[key].(map[string]any)
		if inner, ok := list["servers"].(map[string]any); ok {
			list = inner
		}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			entry, ok := list[name].(map[string]any)
			if !ok {
				continue
			}
			s, left := foreignServer(entry)
			for _, n := range left {
				notes = append(notes, name+": "+n)
			}
			own := Name(name)
			if _, taken := servers[own]; own == "" || taken || s.URL == "" && s.Command == "" {
				notes = append(notes, name+": is not a server that can be taken over")
				continue
			}
			servers[own] = s
		}
	}
	return servers, notes
}

// entryReader reads one entry and remembers what it did not understand.
type entryReader struct {
	entry map[string]any
	used  map[string]bool
	notes []string
}

func (r *entryReader) text(keys ...string) string {
	for _, k := range keys {
		r.used[k] = true
		if s, ok := r.entry[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func (r *entryReader) list(key string) []string {
	r.used[key] = true
	return stringsOf(r.entry[key])
}

func (r *entryReader) table(keys ...string) map[string]string {
	out := map[string]string{}
	for _, k := range keys {
		r.used[k] = true
		m, _ := r.entry[k].(map[string]any)
		for name, v := range m {
			out[name] = fmt.Sprint(v)
		}
	}
	return out
}

func (r *entryReader) flag(key string) (value, given bool) {
	r.used[key] = true
	value, given = r.entry[key].(bool)
	return value, given
}

// number reads a number of either of the decoders.
func (r *entryReader) number(key string) float64 {
	r.used[key] = true
	switch v := r.entry[key].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

func foreignServer(entry map[string]any) (Server, []string) {
	if nested, ok := entry["transport"].(map[string]any); ok {
		entry = maps.Clone(entry)
		delete(entry, "transport")
		maps.Copy(entry, nested)
	}
	r := &entryReader{entry: entry, used: map[string]bool{}}
	s := Server{
		URL: r.text("url", "httpUrl", "serverUrl"), Command: r.text("command"), Args: r.list("args"), Cwd: r.text("cwd"),
		Env: r.table("env", "environment"), Headers: r.table("headers", "http_headers"),
	}
	if words := stringsOf(entry["command"]); s.Command == "" && len(words) > 0 {
		s.Command, s.Args = words[0], append(words[1:], s.Args...)
	}
	if s.URL != "" && s.Command != "" {
		if kind := strings.ToLower(r.text("type", "transport")); kind == "stdio" || kind == "local" {
			s.URL = ""
		} else {
			s.Command, s.Args = "", nil
		}
	}
	r.text("type", "transport")
	if v := r.text("bearer_token_env_var"); v != "" {
		s.Headers["Authorization"] = "Bearer ${" + v + "}"
	}
	for name, v := range r.table("env_http_headers") {
		s.Headers[name] = "${" + v + "}"
	}
	for _, v := range r.list("env_vars") {
		s.Env[v] = "${" + v + "}"
	}
	if off, given := r.flag("disabled"); given {
		s.Disabled = off
	}
	if on, given := r.flag("enabled"); given {
		s.Disabled = !on
	}
	if sec := r.number("startup_timeout_sec"); sec > 0 {
		s.Timeout = time.Duration(sec * float64(time.Second))
	}
	if ms := r.number("timeout"); ms > 0 { // Claude, Gemini, Cline: milliseconds
		s.Timeout = time.Duration(ms) * time.Millisecond
		if ms < 1000 {
			s.Timeout = time.Duration(ms) * time.Second
		}
	}
	s.DeniedTools = append(r.list("excludeTools"), r.list("disabled_tools")...)
	return s, r.leftovers(s)
}

// leftovers says what was not understood or not taken over.
func (r *entryReader) leftovers(s Server) []string {
	trust := []string{"autoApprove", "alwaysAllow", "trust", "includeTools", "enabled_tools", "allowedTools"}
	for _, k := range slices.Sorted(maps.Keys(r.entry)) {
		switch {
		case slices.Contains(trust, k):
			r.notes = append(r.notes, k+" is not taken over: each tool is asked about here")
		case !r.used[k] && k != "description" && k != "gallery" && k != "version":
			r.notes = append(r.notes, k+" is not understood and left out")
		}
	}
	all := s.URL + s.Command + strings.Join(s.Args, " ") + strings.Join(slices.Collect(maps.Values(s.Env)), " ") + strings.Join(slices.Collect(maps.Values(s.Headers)), " ")
	for _, ref := range []string{"${input:", "${workspaceFolder}"} {
		if strings.Contains(all, ref) {
			r.notes = append(r.notes, ref+"… cannot be filled in here: put the value, or a variable of the environment, in its place")
		}
	}
	return r.notes
}
