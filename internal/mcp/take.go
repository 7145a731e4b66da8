package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// pinWait bounds how long storing the answers of allowed_tools may take.
const pinWait = 5 * time.Second

// take makes tools of a server's list. A tool that did not change stays the same
// one; a name of the configuration's denied_tools is left out, as is what cannot
// be a tool.
func (s *server) take(list []wire.Tool, dropped map[string]string) {
	var hidden []string
	for _, name := range slices.Sorted(maps.Keys(dropped)) {
		hidden = append(hidden, visible(name)+": "+dropped[name])
	}
	names := s.names(list)
	seen := map[string]bool{}
	var fresh []*tool
	for _, raw := range list {
		switch {
		case raw.Name == "":
			hidden = append(hidden, "a tool without a name")
			continue
		case seen[raw.Name]:
			hidden = append(hidden, visible(raw.Name)+": listed twice, the first one counts")
			continue
		case slices.Contains(s.cfg.DeniedTools, raw.Name):
			hidden = append(hidden, visible(raw.Name)+": in denied_tools")
			seen[raw.Name] = true
			continue
		}
		seen[raw.Name] = true
		fresh = append(fresh, newTool(s, raw, names[raw.Name]))
	}
	s.mu.Lock()
	for i, t := range fresh {
		if at := slices.IndexFunc(s.tools, func(x *tool) bool { return x.hash == t.hash && x.spec.Name == t.spec.Name }); at >= 0 {
			fresh[i] = s.tools[at]
		}
	}
	s.mu.Unlock()
	s.pin(fresh)
	s.mu.Lock()
	s.tools, s.hidden = fresh, hidden
	s.mu.Unlock()
}

func visible(name string) string {
	out, _ := inert.Visible(cut(name, 100))
	return out
}

// names gives each tool its name for a model. Two tools of one server that would
// have the same name both carry a digest: neither can take the other's place.
func (s *server) names(list []wire.Tool) map[string]string {
	names, users := map[string]string{}, map[string]int{}
	for _, t := range list {
		if _, again := names[t.Name]; !again {
			names[t.Name] = toolName(s.name, t.Name)
			users[names[t.Name]]++
		}
	}
	for tool, name := range names {
		if users[name] > 1 {
			names[tool] = digested(s.name, tool)
		}
	}
	return names
}

// pin stores an approval for tools of allowed_tools that have no answer yet, and
// notes those of --allow-tool: from then on the name stands for exactly this tool.
func (s *server) pin(list []*tool) {
	ctx, cancel := context.WithTimeout(s.m.life, pinWait)
	defer cancel()
	for _, t := range list {
		stored, ok, err := s.m.o.Answers.Answer(s.name, t.raw.Name)
		t.denied.Store(err == nil && ok && !stored.Always && stored.Hash == t.hash)
		s.mu.Lock()
		_, pinned := s.pins[t.raw.Name]
		if !pinned && slices.Contains(s.m.o.AllowTools, s.name+"/"+t.raw.Name) {
			s.pins[t.raw.Name] = t.hash
		}
		s.mu.Unlock()
		if err != nil || !slices.Contains(s.cfg.AllowedTools, t.raw.Name) {
			continue
		}
		if ok {
			if stored.Hash != t.hash {
				s.m.notice("warning", fmt.Sprintf("The tool %s of the MCP server %s changed since it was allowed: it is asked about again. `coderrr mcp reset %s` forgets the old answers.", t.shown, s.name, s.name))
			}
			continue
		}
		answer := approval.ToolAnswer{Hash: t.hash, Always: true, Shown: cut(t.card, maxShown)}
		if err := s.m.o.Answers.Set(ctx, s.name, t.raw.Name, answer); err != nil {
			s.m.notice("warning", "The answer for "+t.shown+" could not be stored: "+err.Error())
			continue
		}
		s.m.notice("info", fmt.Sprintf("The tool %s of the MCP server %s is allowed by allowed_tools, as it is now. If it changes it is asked about.", t.shown, s.name))
	}
}

// kind is the transport a server is configured for.
func (c Server) kind() string {
	switch {
	case c.Transport != "":
		return c.Transport
	case c.Command != "":
		return "stdio"
	}
	return "http"
}

// target is where a server is: its address, or its whole command line as it will
// be run. It shows names of variables, never their values.
func (c Server) target() string {
	if c.Command == "" {
		return visible(c.URL)
	}
	out, _ := inert.Visible(CommandLine(c.Command, c.Args))
	return out
}

// CommandLine writes a command and its arguments so that a person can read where
// each begins and ends.
func CommandLine(command string, args []string) string {
	parts := make([]string, 0, len(args)+1)
	for _, a := range append([]string{command}, args...) {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$&|;<>()*?[]{}~#`!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		parts = append(parts, a)
	}
	return strings.Join(parts, " ")
}
