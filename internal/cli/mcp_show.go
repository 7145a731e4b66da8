package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/mcp"
	"github.com/coderrr/coderrr/internal/term"
)

// listed is one server as `mcp list` shows it. Values of variables and headers
// are not part of it.
type listedServer struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	Target    string `json:"target"`
	Enabled   bool   `json:"enabled"`
	Required  bool   `json:"required"`
}

func (r *runner) mcpList() error {
	home, c, err := r.load()
	if err != nil {
		return err
	}
	m := r.mcpManager(home, MCPServers(c), nil) // it connects only when it is told to
	list := []listedServer{}
	for _, s := range m.Status() {
		list = append(list, listedServer{s.Name, s.Transport, s.Target, s.State != mcp.Disabled, s.Required})
	}
	if r.flags.json {
		return r.printJSON(list)
	}
	if len(list) == 0 {
		r.errln("There are no MCP servers yet. Add one: coderrr mcp add NAME URL, or coderrr mcp add NAME -- COMMAND")
		return nil
	}
	for _, s := range list {
		state := ""
		if !s.Enabled {
			state += "  (disabled)"
		}
		if s.Required {
			state += "  (required)"
		}
		r.outln(fmt.Sprintf("%-20s %-6s %s%s", s.Name, s.Transport, term.OneLine(s.Target), state))
	}
	return nil
}

// mcpTest connects to the servers and describes them.
func (r *runner) mcpTest(ctx context.Context, names []string) error {
	home, c, err := r.load()
	if err != nil {
		return err
	}
	all := MCPServers(c)
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(all))
	}
	chosen := map[string]mcp.Server{}
	for _, name := range names {
		if _, _, s, err := r.server(name); err != nil {
			return err
		} else if s.Disabled {
			r.errln(name + " is disabled; it is tried all the same.")
			s.Disabled = false
			chosen[name] = s
		} else {
			chosen[name] = s
		}
	}
	found, err := r.tryServers(ctx, home, chosen, nil)
	if err != nil {
		return err
	}
	if r.flags.json {
		if err := r.printJSON(found); err != nil {
			return err
		}
	}
	bad := 0
	for _, s := range found {
		if s.State != mcp.Ready {
			bad++
		}
		if !r.flags.json {
			r.describe(s)
		}
	}
	if bad > 0 {
		return quiet{ExitFailure}
	}
	return nil
}

// tryServers connects to each of the servers, all at once, and ends them again.
func (r *runner) tryServers(ctx context.Context, home string, servers map[string]mcp.Server, trace func(server, direction string, message []byte)) (found []mcp.Status, err error) {
	m := r.mcpManager(home, servers, trace)
	defer func() { err = errors.Join(err, m.Close()) }()
	names := slices.Sorted(maps.Keys(servers))
	found = make([]mcp.Status, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			st, err := m.Connect(ctx, name)
			if st.Error == "" && err != nil {
				st.Error = err.Error()
			}
			if err == nil && trace == nil {
				st.Resources, st.Prompts, _ = m.Offers(ctx, name)
			}
			found[i] = st
		})
	}
	wg.Wait()
	return found, ctx.Err()
}

// describe prints what a connection showed.
func (r *runner) describe(s mcp.Status) {
	style := r.style(r.io.OutTerminal, 0)
	if s.State != mcp.Ready {
		r.outln(style.Error(s.Name+": "+string(s.State), ""))
		r.outln("  " + term.OneLine(s.Error))
	} else {
		r.outln(style.Good(s.Name) + fmt.Sprintf(": ready, %s over %s, %d tools (%s)", s.Protocol, s.Transport, len(s.Tools), term.OneLine(s.Server)))
		for _, t := range s.Tools {
			mark := "asks first"
			if t.Approved {
				mark = "allowed"
			}
			about, _, _ := strings.Cut(t.Description, "\n")
			r.outln(fmt.Sprintf("  %-32s %-10s %s", term.OneLine(t.Tool), mark, clip(term.OneLine(about), 80)))
		}
		r.offers(s)
	}
	for _, h := range s.Hidden {
		r.outln("  not offered: " + term.OneLine(h))
	}
	if s.Noise > 0 {
		r.outln(fmt.Sprintf("  it wrote %d lines to standard output that are no messages; they were ignored", s.Noise))
	}
	if s.State != mcp.Ready {
		r.tail("standard error", slices.Collect(strings.Lines(s.Stderr)))
		r.tail("log", s.Log)
	}
}

func (r *runner) tail(of string, lines []string) {
	if len(lines) > 0 {
		r.outln("  the end of its " + of + ":")
	}
	for _, line := range lines {
		r.outln("    " + term.OneLine(line))
	}
}

// maxOffers bounds how many resources and how many prompts are shown.
const maxOffers = 20

// offers prints what a person can name of a server in a request, as it is typed.
func (r *runner) offers(s mcp.Status) {
	show := func(kind string, list []mcp.Offer, typed func(mcp.Offer) string) {
		for _, o := range list[:min(len(list), maxOffers)] {
			r.outln(fmt.Sprintf("  %s %s  %s", kind, term.OneLine(typed(o)), clip(term.OneLine(o.Description), 80)))
		}
		if more := len(list) - maxOffers; more > 0 {
			r.outln(fmt.Sprintf("  and %d more", more))
		}
	}
	show("resource", s.Resources, func(o mcp.Offer) string { return "@" + o.Server + ":" + o.Name })
	show("prompt", s.Prompts, mcp.Offer.Usage)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// secretField finds members of a message that hold a secret.
var secretField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)token|secret|password|authorization|api[-_]?key|cookie|credential`)
})

// mcpDebug prints one handshake. Headers are never part of it; in messages the
// values of members that sound secret, and of configured secrets, are masked.
func (r *runner) mcpDebug(ctx context.Context, name string) error {
	home, _, s, err := r.server(name)
	if err != nil {
		return err
	}
	s.Disabled = false
	var hide []string
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, v := range m {
			if len(v) >= 4 {
				hide = append(hide, v)
			}
		}
	}
	var mu sync.Mutex
	found, err := r.tryServers(ctx, home, map[string]mcp.Server{name: s}, func(_, direction string, message []byte) {
		mu.Lock()
		defer mu.Unlock()
		r.outln(direction + " " + term.OneLine(clip(masked(message, hide), 2000)))
	})
	if err != nil {
		return err
	}
	r.describe(found[0])
	if found[0].State != mcp.Ready {
		return quiet{ExitFailure}
	}
	return nil
}

func masked(message []byte, hide []string) string {
	text := string(message)
	var v any
	dec := json.NewDecoder(bytes.NewReader(message))
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if out, err := json.Marshal(maskValue(v)); err == nil {
			text = string(out)
		}
	}
	for _, h := range hide {
		text = strings.ReplaceAll(text, h, config.Mask)
	}
	return text
}

func maskValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if _, isText := x.(string); isText && secretField().MatchString(k) {
				v[k] = config.Mask
			} else {
				v[k] = maskValue(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	}
	return v
}
