package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/inert"
)

// Limits of what an editor is shown of one call, in bytes.
const (
	maxShown = 32 << 10
	maxTail  = 8 << 10
	maxTitle = 200
)

// visible makes untrusted text harmless to look at.
func visible(s string) string {
	s, _ = inert.Visible(strings.ToValidUTF8(s, "\uFFFD"))
	return s
}

// clip bounds a text and says so.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + fmt.Sprintf("\n[%d of %d bytes]", maxShown, len(s))
}

func tail(s string) string {
	if len(s) <= maxTail {
		return s
	}
	s = s[len(s)-maxTail:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < maxTail/2 {
		s = s[i+1:]
	}
	return strings.ToValidUTF8(s, "")
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// absolute is a path of the workspace as the protocol wants it.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// kindOf is the ToolKind of a tool of ours; it chooses an icon and no more.
func kindOf(name string) string {
	switch name {
	case "read_file", "list_dir", "tree", "read_spec":
		return "read"
	case "grep", "search_skills":
		return "search"
	case "write_file", "edit_file", "write_spec", "create_spec":
		return "edit"
	case "delete_file":
		return "delete"
	case "move_file":
		return "move"
	case "run_in_sandbox":
		return "execute"
	case "load_skill":
		return "fetch"
	case "update_task", "ask_review", "finish":
		return "think"
	default:
		return "other"
	}
}

// title is a tool's name and the argument that tells its calls apart.
func title(name string, input json.RawMessage) string {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // what is no object has no argument to show
	for _, key := range []string{"pattern", "path", "source", "command", "query", "task_id", "document", "name", "title", "question"} {
		if s, ok := in[key].(string); ok && s != "" {
			name += " " + strings.Join(strings.Fields(s), " ")
			break
		}
	}
	if len(name) > maxTitle {
		name = strings.ToValidUTF8(name[:maxTitle], "") + "…"
	}
	return visible(name)
}

// locations lets the editor follow along: the files that a call names.
func locations(dir string, input json.RawMessage) []toolCallLocation {
	var in struct {
		Path, Source, Destination string
		Offset                    int
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	var out []toolCallLocation
	for _, p := range []string{in.Path, in.Source, in.Destination} {
		if p != "" && p != "." {
			out = append(out, toolCallLocation{Path: absolute(dir, visible(p))})
		}
	}
	if len(out) == 1 && in.Offset > 0 {
		out[0].Line = in.Offset
	}
	return out
}

// diffs are the hunks of a change, each as the text before and after. A file that
// did not exist has no text before.
func diffs(path string, created, deleted bool, hunks []diff.Hunk) []any {
	var out []any
	for _, h := range hunks {
		var before, after strings.Builder
		for _, l := range h.Lines {
			if l.Op != diff.Insert {
				before.WriteString(l.Text + l.EOL)
			}
			if l.Op != diff.Delete {
				after.WriteString(l.Text + l.EOL)
			}
		}
		d := diffContent{Type: "diff", Path: path, NewText: visible(after.String())}
		if old := visible(before.String()); !created {
			d.OldText = &old
		}
		if deleted {
			d.NewText = ""
		}
		out = append(out, d)
	}
	return out
}
