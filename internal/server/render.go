package server

import (
	"bytes"
	"context"
	"fmt"

	"github.com/a-h/templ"

	"github.com/coderrr/coderrr/internal/view"
	"github.com/coderrr/coderrr/web"
)

// partSessions is the list of sessions, which is not in a log.
const partSessions view.Part = 1 << 15

// region is an element of the page and the parts of the state it shows.
type region struct {
	id    string
	parts view.Part
	draw  func(web.Page) templ.Component
}

// regions are the elements that are patched as a whole, in the order of the page.
func regions() []region {
	const header = view.PartHeader
	return []region{
		{"top", header | view.PartQuestions | view.PartOutcome | view.PartTasks | view.PartPlan, web.Top},
		{"rail-plan", view.PartPlan | view.PartQuestions | view.PartTasks, web.RailPlan},
		{"tasks", view.PartTasks | view.PartFiles | view.PartOutcome, web.Tasks},
		{"context", view.PartContext, web.Context},
		{"sessions", partSessions, web.Sessions},
		{"after", view.PartRetry | view.PartQueue | header | view.PartQuestions | view.PartOutcome | partSessions, web.After},
		{"plan", view.PartPlan | view.PartOutcome | view.PartQuestions, web.Plan},
		{"pending", view.PartQuestions | view.PartOutcome, web.Pending},
		{"rev-head", view.PartFiles | view.PartOutcome | view.PartQuestions, web.ReviewHead},
		{"gate", view.PartQuestions | view.PartOutcome | view.PartPlan, web.Gate},
	}
}

// whole is every element of the page.
func (h *hub) whole() []patch {
	p := h.page
	h.html = map[string]string{}
	var out []patch
	for _, r := range []region{
		{"top", 0, web.Top},
		{"rail", 0, web.Rail},
		{"items", 0, web.Items},
		{"after", 0, web.After},
		{"plan", 0, web.Plan},
		{"review", 0, web.Review},
		{"gate", 0, web.Gate},
	} {
		out = append(out, patch{ID: r.id, HTML: draw(r.draw(p))})
	}
	for id, s := range h.streams {
		h.sent[id] = len(s.Frozen())
	}
	for _, it := range h.state.Items {
		if it.Run == it.ID {
			h.sent[web.RunID(it.Run)] = 1
		}
	}
	return out
}

// render is the patches for what is stale.
func (h *hub) render() []patch {
	var out []patch
	stale := h.stale
	for _, id := range stale.items {
		if it := h.state.Item(id); it != nil {
			out = append(out, h.item(it)...)
			if s := h.streams[id]; s != nil {
				h.sent[id] = len(s.Frozen())
			} else {
				delete(h.sent, id)
			}
		}
	}
	for _, id := range stale.stream {
		if it := h.state.Item(id); it != nil && !contains(stale.items, id) {
			out = append(out, h.grown(it)...)
		}
	}
	for _, path := range stale.files {
		id := web.FileID(path)
		if f := h.state.File(path); f != nil {
			out = append(out, patch{ID: id, In: "diffs", HTML: draw(web.File(h.page, f))})
		} else {
			out = append(out, patch{ID: id, Op: "remove"})
		}
	}
	parts := stale.parts
	if len(stale.items) > 0 {
		parts |= view.PartQueue // the dots below the last item
	}
	for _, r := range regions() {
		if r.parts&parts == 0 {
			continue
		}
		html := draw(r.draw(h.page))
		if h.html[r.id] == html {
			continue
		}
		h.html[r.id] = html
		out = append(out, patch{ID: r.id, HTML: html})
	}
	return append(out, h.rest(parts)...)
}

// rest redraws files whose buttons depend on whether the session can be changed.
func (h *hub) rest(parts view.Part) []patch {
	if parts&view.PartOutcome == 0 && !h.ended {
		return nil
	}
	var out []patch
	for _, f := range h.state.Files {
		out = append(out, patch{ID: web.FileID(f.Path), In: "diffs", HTML: draw(web.File(h.page, f))})
	}
	return out
}

// item is the patches for one entry of the conversation. The calls of a run of
// reading are in a place of their own, with a line that counts them.
func (h *hub) item(it *view.Item) []patch {
	html := draw(web.Item(h.page, it))
	if it.Run == "" {
		return []patch{{ID: it.ID, In: "items", HTML: html}}
	}
	run, id := h.state.Run(it.Run), web.RunID(it.Run)
	if h.sent[id] == 0 {
		h.sent[id] = 1
		return []patch{{ID: id, In: "items", HTML: draw(web.Run(h.page, run))}}
	}
	return []patch{
		{ID: it.ID, In: id + "-in", HTML: html},
		{ID: id + "-head", HTML: draw(web.RunHead(run))},
	}
}

// grown is the patches for a text or an output that got longer: only its open end
// and what was frozen since.
func (h *hub) grown(it *view.Item) []patch {
	if it.Kind == view.Call {
		if h.sent[it.ID] == 0 { // the card has no place for output yet
			h.sent[it.ID] = 1
			return h.item(it)
		}
		return []patch{{ID: it.ID + "-out", HTML: draw(web.Output(it))}}
	}
	s := h.streams[it.ID]
	if it.Kind != view.Text || s == nil {
		return h.item(it)
	}
	var out []patch
	frozen := s.Frozen()
	for n := h.sent[it.ID]; n < len(frozen); n++ {
		out = append(out, part(it.ID, n, frozen[n]))
	}
	h.sent[it.ID] = len(frozen)
	return append(out, part(it.ID, len(frozen), s.Tail()))
}

func part(id string, n int, html string) patch {
	return patch{ID: fmt.Sprintf("%s-b%d", id, n), In: id, HTML: draw(web.Part(id, n, html))}
}

// draw renders a component; on a buffer it cannot fail but by its own bug, which
// is then seen instead of hidden.
func draw(c templ.Component) string {
	var buf bytes.Buffer
	if err := c.Render(context.Background(), &buf); err != nil {
		return "<p>This part of the page could not be rendered: " + templ.EscapeString(err.Error()) + "</p>"
	}
	return buf.String()
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
