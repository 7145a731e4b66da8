// Package coderrr_test holds the rules of the repository as tests: which package
// may import which, what only some may call, how long a function may be, what
// must not stand in the tree. ARCHITECTURE.md gives the reasons.
//
// Sources are parsed in this process and never by a child such as `go list`: the
// test cache knows the files that a test opens, but not those that its children
// open, and would answer "ok (cached)" after a forbidden import was added.
package coderrr_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/coderrr/coderrr"

// layers says how high each package stands. A package imports only packages of
// lower layers, so there are no cycles of ideas either. A new package gets its
// row in the commit that adds it.
var layers = map[string]int{
	"internal/llm":     0,
	"internal/sse":     0,
	"internal/policy":  0,
	"internal/ask":     0,
	"internal/diff":    0,
	"internal/sandbox": 0,
	"internal/secret":  1,
	"internal/lock":    0,
	"internal/browser": 0,
	"internal/inert":   0,
	"internal/slash":   0,

	"internal/sandbox/fence":       0,
	"internal/sandbox/procs":       0,
	"internal/sandbox/sandboxtest": 0,
	"internal/sandbox/tree":        0,
	"internal/workspace/ignore":    0,

	"internal/ask/asktest":      1,
	"internal/config":           1,
	"internal/event":            1,
	"internal/llm/cassette":     1,
	"internal/llm/catalog":      1,
	"internal/llm/llmtest":      1,
	"internal/llm/schema":       1,
	"internal/llm/wire":         1,
	"internal/line":             1,
	"internal/markdown":         1,
	"internal/mcp/wire":         1,
	"internal/prompt":           1,
	"internal/sandbox/confined": 1,
	"internal/sandbox/docker":   1,
	"internal/sandbox/scratch":  1,
	"internal/verify":           1,
	"internal/workspace":        1,

	"internal/approval":       2,
	"internal/guidance":       2,
	"internal/history":        2,
	"internal/llm/anthropic":  2,
	"internal/llm/google":     2,
	"internal/llm/ollama":     2,
	"internal/llm/openai":     2,
	"internal/mcp/oauth":      2,
	"internal/sandbox/choose": 2,
	"internal/skills":         2,
	"internal/spec":           2,
	"internal/transcript":     2,
	"internal/view":           2,

	"internal/mcp/login": 3,
	"internal/tools":     3,

	"internal/agent":           4,
	"internal/mcp":             4,
	"internal/tools/fs":        4,
	"internal/tools/search":    4,
	"internal/tools/sys":       4,
	"internal/tools/toolstest": 4,

	"internal/demo":            5,
	"internal/demo/gen":        6,
	"internal/mcp/conformance": 5,
	"internal/session":         5,
	"web":                      5,

	"internal/acp":    6,
	"internal/doctor": 6,
	"internal/server": 6,
	"internal/term":   6,

	"internal/cli": 7,
	"internal/app": 8,

	"internal/bench":      8,
	"internal/cli/manual": 8,

	"cmd/coderrr": 9,
}

// A restriction names what only some packages may import, and why. A path that
// ends in /... means everything below it too. An empty who means tests only.
type restriction struct {
	imports string
	who     []string
	why     string
}

var only = []restriction{
	{
		"os/exec",
		[]string{
			"internal/sandbox/scratch", "internal/sandbox/confined", "internal/mcp/wire",
			"internal/browser", "internal/term", "internal/bench",
		},
		"a command starts in the sandbox, nowhere else; the rest are the MCP server a person configured, their browser and their editor",
	},
	{
		"net/http",
		[]string{
			"internal/llm/wire", "internal/llm/anthropic", "internal/llm/openai", "internal/llm/google",
			"internal/llm/ollama", "internal/llm/cassette", "internal/llm/llmtest", "internal/mcp/wire", "internal/mcp/oauth", "internal/mcp/login", "internal/mcp/conformance",
			"internal/skills", "internal/server", "internal/app", "internal/bench",
		},
		"only these talk to a network, so a reader knows where data can leave",
	},
	{"net/http/pprof", nil, "registers itself on a shared mux"},
	{"expvar", nil, "registers itself on a shared mux"},
	{"C", nil, "the binary is built without cgo"},
	{"plugin", nil, "no code is loaded at run time"},
	{"unsafe", []string{"internal/sandbox/confined", "internal/sandbox/fence", "internal/sandbox/sandboxtest", "internal/workspace"}, "only for system calls that have no wrapper"},

	{module + "/internal/browser", []string{"internal/cli/...", "internal/app", "internal/mcp/login"}, "a page opens only because a person asked for it"},
	{module + "/internal/mcp/login", []string{"internal/cli/...", "internal/mcp/conformance"}, "the interactive login must not start in the middle of a run"},
	{module + "/internal/mcp/wire", []string{"internal/mcp", "internal/mcp/oauth", "internal/mcp/conformance"}, "one place speaks the wire protocol"},
	{module + "/internal/tools/fs", []string{"internal/app"}, "tools are handed to a session, which knows none of them"},
	{module + "/internal/tools/search", []string{"internal/app"}, "tools are handed to a session, which knows none of them"},
	{module + "/internal/tools/sys", []string{"internal/app"}, "tools are handed to a session, which knows none of them"},
	{module + "/internal/llm/anthropic", []string{"internal/app"}, "a session knows llm.Provider and no adapter"},
	{module + "/internal/llm/google", []string{"internal/app"}, "a session knows llm.Provider and no adapter"},
	{module + "/internal/llm/ollama", []string{"internal/app"}, "a session knows llm.Provider and no adapter"},
	{module + "/internal/llm/openai", []string{"internal/app", "internal/llm/ollama"}, "a session knows llm.Provider and no adapter"},
	{module + "/internal/config", []string{"internal/session", "internal/doctor", "internal/cli/...", "internal/app"}, "packages take the values they need, never the configuration"},
	{module + "/internal/session", []string{"internal/demo", "internal/server", "internal/term", "internal/cli/...", "internal/app"}, "nothing below knows that a session exists"},

	{module + "/internal/ask/asktest", nil, "a fake"},
	{module + "/internal/llm/llmtest", nil, "a fake"},
	{module + "/internal/tools/toolstest", nil, "a fake"},

	{"github.com/coder/websocket", []string{"internal/server", "internal/bench"}, "one place speaks to browsers"},
	{"github.com/go-chi/chi/v5", []string{"internal/server"}, "one place speaks to browsers"},
	{"github.com/a-h/templ", []string{"web", "internal/server"}, "components render; nothing else makes HTML"},
	{"github.com/yuin/goldmark/...", []string{"internal/markdown"}, "one set-up, without raw HTML"},
	{"github.com/zalando/go-keyring", []string{"internal/secret"}, "keys have one door"},
	{"github.com/spf13/cobra", []string{"internal/cli/..."}, "commands are cli's business"},
	{"github.com/spf13/pflag", []string{"internal/cli/..."}, "commands are cli's business"},
	{"github.com/pelletier/go-toml/v2/...", []string{"internal/config"}, "one reader and writer of the configuration"},
	{module + "/internal/sandbox/sandboxtest", nil, "it tries to do harm"},
	{"github.com/moby/moby/...", []string{"internal/sandbox/docker"}, "one place speaks to a container engine"},
	{"github.com/containerd/errdefs", []string{"internal/sandbox/docker"}, "one place speaks to a container engine"},
	{"github.com/gofrs/flock", []string{"internal/lock", "internal/sandbox/tree"}, "locks have one door; a sandbox marks its directory as in use"},
	{"go.yaml.in/yaml/v4", []string{"internal/skills", "internal/guidance"}, "only front matter is YAML"},

	{"github.com/creack/pty", []string{"internal/bench"}, "for tests and measurements"},
	{"github.com/google/go-cmp/...", nil, "for tests"},
	{"github.com/rogpeppe/go-internal/...", nil, "for tests"},
	{"github.com/santhosh-tekuri/jsonschema/v6/...", nil, "for tests"},
	{"github.com/stretchr/testify/...", nil, "for tests"},
	{"go.uber.org/goleak", nil, "for tests"},
	{"pgregory.net/rapid", nil, "for tests"},
}

// never lists what a package must not import although its layer would allow it.
var never = []restriction{
	{module + "/internal/tools/...", []string{"web", "internal/view", "internal/server", "internal/term", "internal/acp"}, "a front end sees the log and the asker, never a tool"},
	{module + "/internal/llm/...", []string{"web", "internal/view", "internal/server", "internal/term", "internal/acp"}, "a front end sees the log and the asker, never a provider"},
	{module + "/internal/workspace", []string{"web", "internal/view", "internal/agent", "internal/acp"}, "what is not an event does not exist for a view; the loop reaches files through tools"},
}

// ours are the only packages of this module that a package may import. ask and
// event are the types that a view.State is made of.
var ours = map[string][]string{
	"web": {"internal/view", "internal/diff", "internal/markdown", "internal/inert", "internal/ask", "internal/event", "internal/slash"},
}

// within reports whether pkg is name, or below it where name ends in /... .
func within(pkg, name string) bool {
	base, deep := strings.CutSuffix(name, "/...")
	return pkg == base || deep && strings.HasPrefix(pkg, base+"/")
}

func anyWithin(pkg string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return within(pkg, n) })
}

// TestEveryPackageHasALayer fails for a package without a row and for a row
// without a package.
func TestEveryPackageHasALayer(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || found[s.pkg] {
			continue
		}
		found[s.pkg] = true
		if _, ok := layers[s.pkg]; !ok {
			t.Errorf("%s: package %s has no row in layers: give it the lowest layer above all that it imports", s.path, s.pkg)
		}
	}
	for pkg := range layers {
		if !found[pkg] {
			t.Errorf("layers: %s does not exist; remove its row", pkg)
		}
	}
}

// TestImportsGoDown checks the layers.
func TestImportsGoDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.imports() {
			dep, own := strings.CutPrefix(imp.path, module+"/")
			if !own {
				continue
			}
			if layers[dep] >= layers[s.pkg] {
				t.Errorf("%s: %s (layer %d) imports %s (layer %d): imports go strictly down; declare the interface you need, or move the code",
					imp.at, s.pkg, layers[s.pkg], dep, layers[dep])
			}
			if allowed, limited := ours[s.pkg]; limited && !slices.Contains(allowed, dep) {
				t.Errorf("%s: %s may import of this module only %s, not %s", imp.at, s.pkg, strings.Join(allowed, ", "), dep)
			}
		}
	}
}

// TestRestrictedImports checks the tables only and never.
func TestRestrictedImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.imports() {
			for _, r := range only {
				if within(imp.path, r.imports) && !anyWithin(s.pkg, r.who) {
					t.Errorf("%s: %s must not import %s: %s", imp.at, s.pkg, imp.path, r.why)
				}
			}
			for _, r := range never {
				if within(imp.path, r.imports) && slices.Contains(r.who, s.pkg) {
					t.Errorf("%s: %s must not import %s: %s", imp.at, s.pkg, imp.path, r.why)
				}
			}
		}
	}
}

// TestRestrictionsNameWhatExists keeps the tables short: a package that is named
// there and has gone is an open door for the next of that name.
func TestRestrictionsNameWhatExists(t *testing.T) {
	known := func(pkg string) bool {
		base := strings.TrimSuffix(pkg, "/...")
		_, ok := layers[base]
		return ok
	}
	for _, r := range slices.Concat(only, never) {
		for _, who := range r.who {
			if !known(who) {
				t.Errorf("restriction on %s names %s, which is not in layers", r.imports, who)
			}
		}
		if dep, own := strings.CutPrefix(r.imports, module+"/"); own && !known(dep) {
			t.Errorf("restriction on %s: no such package in layers", r.imports)
		}
	}
	for pkg, deps := range ours {
		for _, dep := range append([]string{pkg}, deps...) {
			if !known(path.Clean(dep)) {
				t.Errorf("ours names %s, which is not in layers", dep)
			}
		}
	}
}
