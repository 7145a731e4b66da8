package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/workspace"
)

// record keeps a person's word on a workspace; approval.Store implements it.
type record interface {
	Trusted(hash string) bool
	Trust(hash string, by ask.By) error
}

// trust decides once per workspace whether what it brings for agents is used:
// guidance and skills. Nothing else of a folder has an effect, trusted or not: it
// starts no process, moves no key and loosens no setting.
type trust struct {
	app  *App
	root *workspace.Root
	docs []guidance.Doc
	kept record
	log  *event.Log
	no   atomic.Bool
}

// refused reports whether the person said no in this session.
func (t *trust) refused() bool { return t.no.Load() }

// decide asks, if there is something to ask about. Where nobody can be asked,
// guidance and skills are used, as the advice that they are, and listed.
func (t *trust) decide(ctx context.Context, asker ask.Asker) bool {
	uses, rest := t.brings(ctx)
	if len(uses) == 0 {
		t.tell(rest)
		return true
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(uses, rest), "\n")))
	hash := hex.EncodeToString(sum[:])
	if t.kept.Trusted(hash) {
		return true
	}
	detail, err := json.Marshal(listed(uses, rest))
	if err != nil {
		panic(fmt.Sprintf("encode a list: %v", err)) // a string
	}
	a, err := asker.Ask(ctx, ask.Question{
		ID: "trust-" + hash[:12], Kind: ask.Trust, Hash: hash, Detail: detail, Default: ask.DenyIt,
		Prompt: "This folder brings files that speak to the model. Use them?",
		Choices: []ask.Choice{
			{ID: ask.Always, Label: "Use them in this folder"},
			{ID: ask.DenyIt, Label: "Go on without them"},
		},
	})
	switch {
	case errors.Is(err, ask.ErrNobody):
		t.tell(slices.Concat(uses, rest))
		return true
	case err == nil && a.Choice == ask.Always:
		if err := t.kept.Trust(hash, a.By); err != nil {
			t.log.Append(event.Notice{Level: "warning", Kind: "trust", Text: err.Error() + ". It is asked again next time."})
		}
		return true
	default:
		t.no.Store(true)
		return false
	}
}

// listed is what a person is shown, all of it.
func listed(uses, rest []string) string {
	text := "With a yes, the model is given:\n- " + strings.Join(uses, "\n- ")
	if len(rest) > 0 {
		text += "\nNot used, whatever you answer:\n- " + strings.Join(rest, "\n- ")
	}
	return text
}

func (t *trust) tell(lines []string) {
	if len(lines) > 0 {
		t.log.Append(event.Notice{Level: "info", Kind: "trust", Text: "This folder brings: " + strings.Join(lines, "; ") + "."})
	}
}

// brings lists what of the folder the model would be given, and what looks as if it
// had an effect and has none.
func (t *trust) brings(ctx context.Context) (uses, rest []string) {
	for _, d := range t.docs {
		if !filepath.IsAbs(d.Path) {
			uses = append(uses, line("%s: guidance that the model is given", d.Path))
		}
	}
	infos, _ := skills.Local{Root: t.root}.List(ctx)
	for _, k := range infos {
		uses = append(uses, line("%s/%s: a skill that the model may read", k.Source, k.Name))
	}
	if _, err := t.root.Lstat(ctx, ".coderrr/config.toml"); err == nil {
		rest = append(rest, ".coderrr/config.toml: can set only how things look")
		_, warnings := t.app.env.Config.Project(t.root.Dir())
		for _, w := range warnings {
			rest = append(rest, line("%s", w.Text))
		}
	}
	for _, file := range []string{".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"} {
		names, err := t.offered(ctx, file)
		switch {
		case errors.Is(err, fs.ErrNotExist), ctx.Err() != nil: // a stop says nothing of a file
		case err != nil:
			rest = append(rest, line("%s: cannot be read and is not used", file))
		case len(names) > 0:
			rest = append(rest, line("%s: the MCP servers %s are not started; coderrr mcp import takes them over", file, strings.Join(names, ", ")))
		}
	}
	return uses, rest
}

// maxOffer bounds a file of MCP servers that is listed, in bytes.
const maxOffer = 256 << 10

// offered names the MCP servers of a file, without believing anything of it.
func (t *trust) offered(ctx context.Context, path string) ([]string, error) {
	f, err := t.root.Read(ctx, path, maxOffer)
	if err != nil {
		return nil, err
	}
	var doc struct {
		McpServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(f.Data, &doc); err != nil {
		return nil, err
	}
	return append(slices.Sorted(maps.Keys(doc.McpServers)), slices.Sorted(maps.Keys(doc.Servers))...), nil
}

// line is one line of a list, fit to be looked at.
func line(format string, args ...any) string {
	const most = 400
	s, _ := inert.Visible(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// shelved is a session's skills: without the workspace's once they were refused.
type shelved struct {
	all   skills.Shelf
	trust *trust
}

func (s shelved) shelf() skills.Shelf {
	out := s.all
	if s.trust.refused() {
		out.Local.Root = nil
	}
	return out
}

// Search implements sys.Skills.
func (s shelved) Search(ctx context.Context, query string, limit int) ([]skills.Info, error) {
	return s.shelf().Search(ctx, query, limit)
}

// Load implements sys.Skills.
func (s shelved) Load(ctx context.Context, name string) (skills.Skill, error) {
	return s.shelf().Load(ctx, name)
}
