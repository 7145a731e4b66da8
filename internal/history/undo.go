package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
)

// Call is what an undo writes as the call of its own file.changed events.
const Call = "undo"

// LinkMode is the mode, as git writes it, of an event about a symbolic link.
const LinkMode = "120000"

// Filter says which changes are taken back. The zero Filter takes back all.
type Filter struct {
	Path string // of this file, or of everything below this folder; renames are followed
	Task string // made for this task
	Last bool   // of the last call that changed something
}

// Step brings one path back. A step with From moves a file back to Path.
type Step struct {
	Path string
	From string
	// Expect is the hash the file should have now, Target the one it gets back;
	// "" is no file.
	Expect, Target string
	Mode           uint32   // permission bits to come back with; 0 is 0644
	Made           []string // folders that go if they are empty, innermost first
	// Conflict says why the log alone speaks against the step: someone changed
	// the file in between, or a change that stays came later.
	Conflict string
	// Lost says why the step cannot be done at all.
	Lost string
}

// Undo is a plan: what Apply will do, in order. It is made from the log alone.
type Undo struct{ Steps []Step }

// turn is one change of one path.
type turn struct {
	seq           int64
	before, after string
	mode          string
	peer          string // the other path of a move
	made          []string
	event         int // index into the changes
}

// Plan finds what takes back the changes that the filter selects. Several changes
// of one file become one step; what was taken back before, or never happened
// (see event.FileChanged.Failed), counts as not done.
func Plan(events []event.Event, f Filter) Undo {
	changes, paths := effective(events)
	chosen := choose(changes, f)
	var steps []Step
	for _, path := range paths.order {
		if s, ok := stepOf(path, paths.turns[path], chosen); ok {
			steps = append(steps, s)
		}
	}
	steps = joinMoves(steps, paths.turns, chosen)
	order(steps)
	return Undo{Steps: steps}
}

// change is a file.changed that still has an effect.
type change struct {
	event.FileChanged
	effective bool
}

type pathTurns struct {
	order []string
	turns map[string][]turn
}

// effective replays the log: per path, the changes that were not taken back.
func effective(events []event.Event) ([]change, pathTurns) {
	var changes []change
	paths := pathTurns{turns: map[string][]turn{}}
	for _, e := range events {
		c, ok := e.Data.(event.FileChanged)
		if !ok {
			continue
		}
		changes = append(changes, change{FileChanged: c})
		t := turn{seq: e.Seq, before: c.Before, after: c.After, mode: c.Mode, made: c.Made, event: len(changes) - 1}
		back := c.Call == Call || c.Failed != ""
		if c.From == "" {
			paths.add(c.Path, t, back)
			continue
		}
		out, in := t, t
		out.after, out.peer, out.made = "", c.Path, nil
		in.before, in.peer = "", c.From
		paths.add(c.From, out, back)
		paths.add(c.Path, in, back)
	}
	for _, turns := range paths.turns {
		for _, t := range turns {
			changes[t.event].effective = true
		}
	}
	return changes, paths
}

func (p *pathTurns) add(path string, t turn, back bool) {
	turns, known := p.turns[path]
	if !known {
		p.order = append(p.order, path)
	}
	if back {
		for i := len(turns) - 1; i >= 0; i-- {
			if turns[i].before == t.after {
				p.turns[path] = turns[:i]
				return
			}
		}
	}
	p.turns[path] = append(turns, t)
}

// choose marks the changes a filter selects, by index.
func choose(changes []change, f Filter) map[int]bool {
	chosen := map[int]bool{}
	last := -1
	for i, c := range changes {
		if !c.effective {
			continue
		}
		if c.Call != Call {
			last = i
		}
		if f.Task == "" || c.Task == f.Task && c.Call != Call {
			chosen[i] = true
		}
	}
	if f.Last && last >= 0 {
		for i := range changes {
			same := i == last || changes[last].Call != "" && changes[i].Call == changes[last].Call
			if !same {
				delete(chosen, i)
			}
		}
	}
	if f.Path != "" {
		follow(changes, chosen, f.Path)
	}
	alongside(changes, chosen)
	return chosen
}

// alongside adds what was taken back of a file by hunks (see PlanHunk) where every
// change that the session made to it is taken back.
func alongside(changes []change, chosen map[int]bool) {
	all := map[string]bool{}
	for i, c := range changes {
		if !c.effective {
			continue
		}
		if before, known := all[c.Path]; c.Call != Call {
			all[c.Path] = chosen[i] && (before || !known)
		}
	}
	for i, c := range changes {
		if c.effective && c.Call == Call && all[c.Path] {
			chosen[i] = true
		}
	}
}

// follow keeps the changes of a path, and of the names its files had or got.
func follow(changes []change, chosen map[int]bool, path string) {
	path = strings.TrimSuffix(path, "/")
	names := map[string]bool{}
	touches := func(name string) bool {
		return name != "" && (name == path || strings.HasPrefix(name, path+"/") || names[name])
	}
	kept := map[int]bool{}
	for grew := true; grew; {
		grew = false
		for i, c := range changes {
			if chosen[i] && !kept[i] && (touches(c.Path) || touches(c.From)) {
				kept[i], names[c.Path], grew = true, true, true
				if c.From != "" {
					names[c.From] = true
				}
			}
		}
	}
	for i := range chosen {
		if !kept[i] {
			delete(chosen, i)
		}
	}
}

// stepOf composes the chosen changes of one path.
func stepOf(path string, turns []turn, chosen map[int]bool) (Step, bool) {
	first := slices.IndexFunc(turns, func(t turn) bool { return chosen[t.event] })
	if first < 0 {
		return Step{}, false
	}
	last := turns[len(turns)-1]
	s := Step{Path: path, Expect: last.after, Target: turns[first].before, Mode: modeOf(turns[first].mode)}
	if s.Expect == s.Target {
		return Step{}, false
	}
	for i := first; i < len(turns); i++ {
		if !chosen[turns[i].event] {
			s.Conflict = "a later change that stays was made to it"
		} else if i > first && turns[i].before != turns[i-1].after && s.Conflict == "" {
			s.Conflict = "someone else changed it between the changes to be undone"
		}
		s.Made = append(s.Made, turns[i].made...)
		if s.Target != "" && turns[i].mode == LinkMode {
			s.Lost = "it was a symbolic link; make it again by hand"
		}
	}
	if s.Target != "" {
		s.Made = nil
	}
	slices.Reverse(s.Made)
	return s, true
}

func modeOf(text string) uint32 {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil {
		return 0
	}
	return uint32(n) & 0o777
}

// joinMoves turns the two steps of a move that nothing else happened to into one
// that moves the file back.
func joinMoves(steps []Step, turns map[string][]turn, chosen map[int]bool) []Step {
	only := func(path string) (turn, bool) {
		var found []turn
		for _, t := range turns[path] {
			if chosen[t.event] {
				found = append(found, t)
			}
		}
		if len(found) != 1 || found[0].peer == "" {
			return turn{}, false
		}
		return found[0], true
	}
	at := map[string]int{}
	for i, s := range steps {
		at[s.Path] = i
	}
	drop := map[int]bool{}
	for i := range steps {
		old := &steps[i]
		out, ok := only(old.Path)
		if !ok || out.after != "" {
			continue
		}
		j, there := at[out.peer]
		in, ok := only(out.peer)
		if !there || !ok || in.event != out.event || old.Conflict != "" || steps[j].Conflict != "" {
			continue
		}
		old.From, old.Expect, old.Made, old.Lost = out.peer, in.after, steps[j].Made, ""
		drop[j] = true
	}
	var out []Step
	for i, s := range steps {
		if !drop[i] {
			out = append(out, s)
		}
	}
	return out
}

// order puts removals before moves before writes, so that a file that stands
// where a folder was is out of the way.
func order(steps []Step) {
	rank := func(s Step) int {
		switch {
		case s.Target == "":
			return 0
		case s.From != "":
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(rank(a), rank(b)) })
}
