package app

import (
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/mcp"
)

// offers are the resources and prompts that MCP servers had when a session last
// reached them, as SERVER:NAME. They are for completion: nothing is decided by them.
type offers struct {
	mu                 sync.Mutex
	resources, prompts map[string][]string // by server
}

func newOffers() *offers {
	return &offers{resources: map[string][]string{}, prompts: map[string][]string{}}
}

func (o *offers) set(server string, resources, prompts []mcp.Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resources[server], o.prompts[server] = typeable(resources), typeable(prompts)
}

// typeable are the names that a person could type: none that was cut, has a hidden
// character or a space in it.
func typeable(list []mcp.Offer) []string {
	var out []string
	for _, x := range list {
		if !strings.ContainsAny(x.Name, "⟨… \t\n") {
			out = append(out, x.Server+":"+x.Name)
		}
	}
	return out
}

// reading is what @PREFIX can go on to: the names of servers, and after the colon
// the resources of one.
func (o *offers) reading(prefix string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return starting(o.resources, prefix)
}

// like are the resources that hold the letters of a query, the best first; none
// for an empty one, which asks for files.
func (o *offers) like(query string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if query == "" {
		return nil
	}
	var all []string
	for _, names := range o.resources {
		all = append(all, names...)
	}
	return match(index(all), query, maxShown/2)
}

// asking is what /PREFIX can go on to.
func (o *offers) asking(prefix string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return starting(o.prompts, prefix)
}

func starting(all map[string][]string, prefix string) []string {
	var out []string
	for server, names := range all {
		if !strings.Contains(prefix, ":") {
			if strings.HasPrefix(server, prefix) && len(names) > 0 {
				out = append(out, server+":")
			}
			continue
		}
		for _, n := range names {
			if strings.HasPrefix(n, prefix) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxFound)]
}

// Prompts lists the prompts of MCP servers that begin with a prefix, as
// SERVER:PROMPT, for completion.
func (a *App) Prompts(prefix string) []string { return a.shared.offers.asking(prefix) }
