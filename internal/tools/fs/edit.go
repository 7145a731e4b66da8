package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const editHelp = "Replace one piece of a file. old_string must be in the file exactly once, character for character, without the line numbers that read_file shows: take enough lines around the change. The file must have been read first."

type editArgs struct {
	Path   string `json:"path" jsonschema_description:"File to edit, relative to the workspace."`
	Old    string `json:"old_string" jsonschema_description:"The text to replace, exactly as it is in the file."`
	New    string `json:"new_string" jsonschema_description:"The text to put in its place; may be empty."`
	Intent string `json:"intent,omitempty" jsonschema_description:"One sentence for the reviewer: why this change is made."`
}

func (p proposer) edit(ctx context.Context, in editArgs) (tools.Change, error) {
	_, rel, err := p.root.Flags(ctx, in.Path, nil)
	if err != nil {
		return tools.Change{}, err
	}
	file, exists, err := p.target(ctx, in.Path)
	if err != nil {
		return tools.Change{}, err
	}
	if !exists {
		return tools.Change{}, tools.Explain(rel + " does not exist. Create it with write_file, or look for it with list_dir.")
	}
	current, err := p.known(file)
	if err != nil {
		return tools.Change{}, err
	}
	if err := plainText(rel, file.Data); err != nil {
		return tools.Change{}, err
	}
	switch {
	case in.Old == "":
		return tools.Change{}, tools.Explain("old_string is empty, so there is nothing to replace in " + rel + ". To insert text, give a line that is there as old_string, and that line with the new text as new_string.")
	case in.Old == in.New:
		return tools.Change{}, tools.Explain("old_string and new_string are the same: nothing would change in " + rel + ".")
	}
	text := string(file.Data)
	m := locate(text, in.Old, in.New)
	if len(m.at) != 1 {
		return tools.Change{}, tools.Explain(refuse(rel, text, in, m, current))
	}
	after := text[:m.at[0]] + m.new + text[m.at[0]+len(m.old):]
	if after == text {
		return tools.Change{}, tools.Explain("new_string is what " + rel + " holds there already. Nothing was written; go on.")
	}
	return p.edited(ctx, in, file, after, note(m, current))
}

func (p proposer) edited(ctx context.Context, in editArgs, file workspace.File, after, note string) (tools.Change, error) {
	flags, rel, err := p.root.Flags(ctx, in.Path, []byte(after))
	if err != nil {
		return tools.Change{}, err
	}
	if strings.IndexByte(in.New, 0) >= 0 {
		return tools.Change{}, tools.Explain("new_string for " + rel + " holds a NUL character; these tools write text only.")
	}
	if len(after) > maxText {
		return tools.Change{}, tools.Explain(rel + " would be larger than 16 MiB, the most that is written at once.")
	}
	c := proposal(tools.OpEdit, rel, file.Data, []byte(after), flags)
	c.Mode, c.Intent, c.Note = uint32(file.Mode.Perm()), in.Intent, note
	return c, nil
}

func note(m match, current bool) string {
	var parts []string
	if m.eol != "" {
		parts = append(parts, "The line endings there are "+eolName(m.eol)+"; they were kept.")
	}
	if !current {
		parts = append(parts, "The file had changed since you read it, outside of this edit; read it again before you rely on the rest of it.")
	}
	return strings.Join(parts, " ")
}

// match is where old is in a text, and the replacement in the text's own form.
type match struct {
	at       []int // byte offsets, overlapping ones too
	old, new string
	eol      string // set when line endings were adapted
}

// locate looks for old as it is, and then in the line endings a file can have. The
// new text gets the line endings of the place, unless old itself names CRs: then
// the model is explicit about them.
func locate(text, old, new string) match {
	m := match{at: all(text, old), old: old, new: new}
	if len(m.at) > 0 {
		if !strings.Contains(old, "\r") {
			m.adapt(lineEnding(text, m.at[0]+len(old)))
		}
		return m
	}
	plain := strings.ReplaceAll(old, "\r\n", "\n")
	if strings.Contains(plain, "\r") {
		return m // lone CRs are meant as they are
	}
	for _, eol := range []string{"\r\n", "\n", "\r"} {
		form := strings.ReplaceAll(plain, "\n", eol)
		if form == old {
			continue
		}
		if at := all(text, form); len(at) > 0 {
			m.at, m.old = at, form
			m.adapt(eol)
			m.eol = eol
			return m
		}
	}
	return m
}

// adapt writes the line breaks of new as eol.
func (m *match) adapt(eol string) {
	plain := strings.ReplaceAll(m.new, "\r\n", "\n")
	if eol == "" || strings.Contains(plain, "\r") {
		return
	}
	adapted := strings.ReplaceAll(plain, "\n", eol)
	if adapted != m.new {
		m.new, m.eol = adapted, eol
	}
}

// lineEnding is the ending of the line that byte i is in, or of the line before
// when it is the last one and has none.
func lineEnding(text string, i int) string {
	if eol := uniform(text); eol != "" {
		return eol
	}
	j := strings.IndexByte(text[i:], '\n')
	if j < 0 {
		i, j = 0, strings.LastIndexByte(text[:i], '\n')
	}
	switch {
	case j < 0:
		return ""
	case i+j > 0 && text[i+j-1] == '\r':
		return "\r\n"
	default:
		return "\n"
	}
}

// all returns the offsets of every occurrence, overlapping ones too: "}\n}" is
// twice in three closing braces.
func all(text, old string) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
}

// refuse says why an edit cannot be made and what to do.
func refuse(rel, text string, in editArgs, m match, current bool) string {
	again := ""
	if !current {
		again = " The file changed since you read it: read it again with read_file."
	}
	if len(m.at) == 0 {
		return "old_string was not found in " + rel + ". Nothing was written." + again + "\n" + nearest(text, in)
	}
	const most = 10
	var lines []string
	for _, at := range m.at[:min(len(m.at), most)] {
		lines = append(lines, fmt.Sprint(1+strings.Count(text[:at], "\n")))
	}
	more := ""
	if len(m.at) > most {
		more = " and more"
	}
	return fmt.Sprintf("old_string is in %s %d times (lines %s%s), so it is not clear which one is meant. Nothing was written.%s Add lines before or after it until it is there only once; edit each place by itself.",
		rel, len(m.at), strings.Join(lines, ", "), more, again)
}
