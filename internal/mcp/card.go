package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// maxCard bounds what a person is shown of a schema, in bytes.
const maxCard = 4 << 10

// maxShown bounds what is kept of a card with its answer, in bytes: all answers
// are in one small file.
const maxShown = 1500

// hashOf identifies exactly what an approval covers: where the server is (its url,
// or its command, arguments and the names of its variables) and what the tool is
// by name, description, schema and the server's own claims.
func hashOf(cfg Server, t wire.Tool) string {
	identity := struct {
		URL, Command, Cwd string
		Args, Env         []string
		Headers           []string
		Name, Title, Desc string
		Schema, Claims    json.RawMessage
	}{
		URL: cfg.URL, Command: cfg.Command, Cwd: cfg.Cwd, Args: cfg.Args,
		Env: slices.Sorted(maps.Keys(cfg.Env)), Headers: slices.Sorted(maps.Keys(cfg.Headers)),
		Name: t.Name, Title: t.Title, Desc: t.Description,
		Schema: compact(t.InputSchema), Claims: compact(t.Annotations),
	}
	raw, err := json.Marshal(identity)
	if err != nil {
		panic(fmt.Sprintf("mcp: encode an identity: %v", err)) // strings and valid JSON only
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// cardOf is what a person is shown of a tool, as plain text.
func cardOf(s *server, t *tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Tool: %s", t.shown)
	if t.raw.Title != "" && t.raw.Title != t.raw.Name {
		title, _ := inert.Visible(cut(t.raw.Title, 200))
		fmt.Fprintf(&b, " (%s)", title)
	}
	fmt.Fprintf(&b, "\nServer: %s, %s\n", s.name, s.cfg.target())
	if t.about != "" {
		fmt.Fprintf(&b, "The server says it does: %s\n", t.about)
	}
	if claims := claimsOf(t.raw.Annotations); claims != "" {
		fmt.Fprintf(&b, "The server claims, and nobody checked: %s\n", claims)
	}
	var pretty bytes.Buffer
	if len(t.raw.InputSchema) > 0 && json.Indent(&pretty, visibleEscapes(t.raw.InputSchema), "", "  ") == nil {
		text, _ := inert.Visible(cut(pretty.String(), maxCard))
		fmt.Fprintf(&b, "Arguments:\n%s\n", text)
	}
	return b.String()
}

// claimsOf puts a server's annotations into words.
func claimsOf(raw json.RawMessage) string {
	var hints map[string]any
	if json.Unmarshal(raw, &hints) != nil {
		return ""
	}
	words := map[string][2]string{
		"readOnlyHint":    {"it only reads", "it changes things"},
		"destructiveHint": {"it may destroy", "it does not destroy"},
		"idempotentHint":  {"repeating it changes nothing", "repeating it has an effect"},
		"openWorldHint":   {"it reaches outside", "it stays in a closed world"},
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if v, ok := hints[key].(bool); ok {
			if v {
				out = append(out, words[key][0])
			} else {
				out = append(out, words[key][1])
			}
		}
	}
	return strings.Join(out, ", ")
}

// changedCard shows what changed since a person answered.
func changedCard(before, now string) string {
	if before == "" {
		return now + "\nThis tool is not the one that was answered for before: it changed.\n"
	}
	text, _ := diff.Unified("answered for", "now", diff.Compute([]byte(before), []byte(cut(now, maxShown))), maxCard)
	if text == "" {
		text = "(in a part that is not shown here)\n"
	}
	return now + "\nIt changed since it was answered for:\n" + text
}

// cut shortens foreign text at a rune and says so.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "… (cut)"
}
