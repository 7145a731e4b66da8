package view

import (
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
)

// maxEdits bounds the pieces that are kept of one path; older ones are in the
// sum.
const maxEdits = 200

func (s *State) fileChanged(p event.FileChanged, t *Touched) {
	if p.Path == "" {
		return
	}
	t.Parts |= PartFiles
	f := s.changed(p, t)
	edit := Edit{
		Op: p.Op, Task: p.Task, Call: p.Call, Added: p.Added, Removed: p.Removed, Truncated: p.DiffTruncated,
	}
	for _, d := range ParseUnified(p.Diff) {
		edit.Hunks = append(edit.Hunks, d.Hunks...)
	}
	if f.After != p.Before && len(f.Edits) > 0 {
		f.Partial = true // somebody else changed it between
	}
	f.After, f.Mode = p.After, p.Mode
	f.Edits = append(f.Edits, edit)
	if len(f.Edits) > maxEdits {
		f.Edits, f.Partial = f.Edits[1:], true
	}
	f.Flags = union(f.Flags, p.Flags)
	f.sum(edit)
	t.Files = append(t.Files, f.Path)
}

// changed finds or makes the entry of a path. A move takes the entry of the old
// path along: it is one file that went elsewhere.
func (s *State) changed(p event.FileChanged, t *Touched) *File {
	if p.Op == "move" && p.From != "" && p.From != p.Path {
		if old := s.File(p.From); old != nil && s.File(p.Path) == nil {
			t.Files = append(t.Files, old.Path)
			if old.From == "" && old.Before != "" {
				old.From = old.Path
			}
			if old.From == p.Path {
				old.From = ""
			}
			old.Path = p.Path
			return old
		}
	}
	if f := s.File(p.Path); f != nil {
		return f
	}
	f := &File{Path: p.Path, From: p.From, Before: p.Before}
	s.Files = append(s.Files, f)
	return f
}

// sum updates what the edits come to.
func (f *File) sum(last Edit) {
	lossy := last.Truncated || (last.Added+last.Removed > 0 && len(last.Hunks) == 0)
	if lossy {
		f.Partial = true
	}
	if !f.Partial {
		sum, ok := Compose(f.Hunks, last.Hunks)
		f.Hunks, f.Partial = sum, !ok
	}
	if !f.Partial {
		f.Added, f.Removed = diff.Stats(f.Hunks)
	} else {
		f.Hunks = nil
		f.Added, f.Removed = f.Added+last.Added, f.Removed+last.Removed
	}
	f.Undone = f.After == f.Before && f.From == ""
	switch {
	case f.Undone:
		f.Hunks, f.Added, f.Removed, f.Partial = nil, 0, 0, false
		f.Edits, f.Op = nil, "edit"
	case f.After == "":
		f.Op = "delete"
	case f.From != "":
		f.Op = "move"
	case f.Before == "":
		f.Op = "create"
	default:
		f.Op = "edit"
	}
}

// Changed lists the files that are not as they were when the session began, and
// the sum of their lines.
func (s *State) Changed() (files []*File, added, removed int) {
	for _, f := range s.Files {
		if !f.Undone {
			files = append(files, f)
			added, removed = added+f.Added, removed+f.Removed
		}
	}
	return files, added, removed
}

func (s *State) verified(e event.Event, p event.VerifyFinished, t *Touched) {
	level, text := "info", "Verified "+p.Path
	switch p.Verdict {
	case "reject":
		level, text = "warning", "The verifier rejected the change to "+p.Path
	case "skipped":
		level, text = "warning", "Not verified: "+p.Path
	}
	it := s.add(e, Note, t)
	it.Level, it.Title, it.Body, it.Done = level, text, cutString(p.Reason, maxContent), true
}

func union(a, b []string) []string {
	for _, x := range b {
		found := false
		for _, y := range a {
			found = found || x == y
		}
		if !found {
			a = append(a[:len(a):len(a)], x)
		}
	}
	return a
}
