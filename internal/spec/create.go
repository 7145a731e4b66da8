package spec

import (
	"fmt"
	"strings"
)

// Create makes the folder of a new spec with its first documents and returns it. A
// size of "" is Full. The folder's name is made here, whatever the title holds.
func (s *Store) Create(title, goal, size string) (Plan, error) {
	if size == "" {
		size = Full
	}
	if size != Full && size != Quick {
		return Plan{}, fmt.Errorf("size is %q: use full or quick", clip(size, 40))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.folders()
	if err != nil {
		return Plan{}, err
	}
	next := 1
	for _, n := range names {
		next = max(next, number(n)+1)
	}
	const most = 120
	if title = oneLine(title, most); title == "" {
		title = "Untitled"
	}
	id := fmt.Sprintf("%03d-%s", next, slug(title))
	if err := s.files.Mkdir(id); err != nil {
		return Plan{}, fmt.Errorf("make the folder of spec %s: %w", id, err)
	}
	for _, doc := range Documents() {
		text := firstText(doc, title, goal, size)
		if text == "" {
			continue
		}
		if err := s.files.Write(file(id, doc), []byte(text)); err != nil {
			return Plan{}, fmt.Errorf("write %s.md of spec %s: %w", doc, id, err)
		}
	}
	return s.load(id)
}

// firstText is what a document of a new spec holds; "" means that it is not made.
func firstText(doc, title, goal, size string) string {
	const most = 4000
	goal = strings.TrimSpace(clip(strings.ReplaceAll(goal, "\x00", ""), most))
	switch {
	case doc == Tasks && size == Quick && goal != "":
		return "# Tasks: " + title + "\n\n" + quote(goal) + "\n"
	case doc == Tasks:
		return string(Render(title, nil))
	case size == Quick:
		return ""
	case doc == Requirements && goal != "":
		return "# Requirements: " + title + "\n\n## Goal\n\n" + goal + "\n"
	case doc == Requirements:
		return "# Requirements: " + title + "\n"
	default:
		return "# Design: " + title + "\n"
	}
}

// quote keeps a goal from being read as a heading or a task.
func quote(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+l, " \r")
	}
	return strings.Join(lines, "\n")
}

// slug makes the readable part of a folder's name out of any text.
func slug(title string) string {
	const most = 60
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	out := b.String()
	if len(out) > most {
		out = out[:most]
		if i := strings.LastIndexByte(out, '-'); i > most/2 {
			out = out[:i]
		}
	}
	if out = strings.Trim(out, "-"); out == "" {
		return "spec"
	}
	return out
}
