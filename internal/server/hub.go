package server

import (
	"context"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/markdown"
	"github.com/coderrr/coderrr/internal/view"
	"github.com/coderrr/coderrr/web"
)

// mergeEvery is how long streamed text is gathered into one patch. The first of
// it goes out at once, and so does everything that is not streamed text. With a
// frame of the screen after it, a word is seen within 50 ms.
const mergeEvery = 20 * time.Millisecond

// hub is one session for all pages that show it: it follows the log, folds the
// state and renders each patch once. The start page is a hub without a session.
type hub struct {
	s       *Server
	live    Live // nil on the start page
	session string

	mu       sync.Mutex
	page     web.Page
	state    *view.State
	streams  map[string]*markdown.Stream
	sent     map[string]int // rendered parts of a streaming text that pages have
	stale    staleParts
	last     time.Time // of the last flush
	timer    *time.Timer
	frame    int64
	ring     ring
	snap     []byte // the snapshot of frame snapAt, nil when it must be made
	html     map[string]string
	conns    map[*conn]struct{}
	watchers int // connections on their way in: the hub must stay
	ended    bool
	cancel   context.CancelFunc
}

// staleParts is what the pages do not have yet.
type staleParts struct {
	parts  view.Part
	items  []string
	files  []string
	stream []string // items that only grew
	any    bool
}

// newHub folds what the log holds already; run follows the rest.
func newHub(s *Server, live Live, info web.Info, confirm bool, rows []web.Session) *hub {
	h := &hub{
		s: s, live: live, state: &view.State{}, streams: map[string]*markdown.Stream{}, sent: map[string]int{},
		html: map[string]string{}, conns: map[*conn]struct{}{},
	}
	if live != nil {
		h.session = live.ID()
		for _, e := range live.Log().Events(0) {
			h.fold(e)
			h.stale = staleParts{} // no page has anything yet; kept, it would be searched for each event
		}
	}
	h.page = web.Page{
		State: h.state, Info: info, Sessions: rows, Session: h.session, Confirm: confirm, MD: s.md,
		Stream: func(id string) *markdown.Stream { return h.streams[id] },
	}
	h.settlePage()
	return h
}

// settlePage brings what is not in the log up to date.
func (h *hub) settlePage() {
	running := h.live != nil && h.live.Running() && h.state.Outcome == nil
	h.page.Running, h.page.ReadOnly = running, h.live != nil && !running && h.state.Outcome == nil
	if h.state.Confirm != nil {
		h.page.Confirm = *h.state.Confirm
	}
	if !running {
		h.page.Stopping = false
	}
}

// run follows the log until the context or the log ends.
func (h *hub) run(ctx context.Context) {
	if h.live == nil {
		return
	}
	if f, ok := h.live.(Follower); ok {
		h.s.tasks.Go(func() { f.Follow(ctx) })
	}
	h.mu.Lock()
	after := h.state.Seq()
	h.mu.Unlock()
	for e := range h.live.Log().Follow(ctx, after) {
		h.take(e)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.ended = true
	if ctx.Err() == nil { // the log is closed: nothing answers any more
		h.settlePage()
		h.mark(view.PartHeader|view.PartQuestions|view.PartPlan|view.PartFiles, nil, nil)
		h.flush()
	}
}

// take folds one event and decides when the pages see it.
func (h *hub) take(e event.Event) {
	h.mu.Lock()
	before := h.state.Outcome == nil
	streamed := h.fold(e)
	h.settlePage()
	finished := before && h.state.Outcome != nil
	switch wait := mergeEvery - time.Since(h.last); {
	case !h.stale.any:
	case !streamed || wait <= 0:
		h.flush()
	case h.timer == nil:
		h.timer = time.AfterFunc(wait, h.late)
	}
	_, began := e.Data.(event.SessionStarted)
	h.mu.Unlock()
	if finished || began {
		h.s.Changed()
	}
}

// late sends what was gathered.
func (h *hub) late() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
}

// fold applies one event and notes what is stale; streamed is true when it only
// added to something that streams.
func (h *hub) fold(e event.Event) (streamed bool) {
	t := h.state.Apply(e)
	for _, id := range t.Items {
		it := h.state.Item(id)
		if it == nil || it.Kind != view.Text {
			continue
		}
		if it.Done {
			delete(h.streams, id)
			continue
		}
		s := h.streams[id]
		if s == nil {
			s = h.s.md.NewStream()
			h.streams[id] = s
		}
		if d, ok := e.Data.(event.TextDelta); ok {
			s.Add(d.Text)
		}
	}
	if t.Stream && t.Parts == 0 {
		h.stale.stream, h.stale.any = appendNew(h.stale.stream, t.Items), true
		return true
	}
	if len(t.Items)+len(t.Files) > 0 || t.Parts != 0 {
		h.mark(t.Parts, t.Items, t.Files)
	}
	return false
}

func (h *hub) mark(parts view.Part, items, files []string) {
	h.stale.parts |= parts
	h.stale.items, h.stale.files = appendNew(h.stale.items, items), appendNew(h.stale.files, files)
	h.stale.any = true
}

func appendNew(list, more []string) []string {
	for _, m := range more {
		found := false
		for _, l := range list {
			found = found || l == m
		}
		if !found {
			list = append(list, m)
		}
	}
	return list
}

// flush renders what is stale as one frame. It needs the lock.
func (h *hub) flush() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	if !h.stale.any {
		return
	}
	patches := h.render()
	h.stale, h.last, h.snap = staleParts{}, time.Now(), nil
	if len(patches) == 0 {
		return
	}
	h.frame++
	data := encode(frame{
		Type: "patch", Frame: h.frame, Epoch: h.s.epoch, Session: h.session, Seq: h.state.Seq(), Patch: patches,
	})
	h.ring.add(h.frame, data)
	for c := range h.conns {
		c.push(data)
	}
}

// snapshot is the whole page. It needs the lock.
func (h *hub) snapshot() []byte {
	if h.stale.any {
		h.flush()
	}
	if h.snap == nil {
		h.snap = encode(frame{
			Type: "snapshot", Frame: h.frame, Epoch: h.s.epoch, Session: h.session, Seq: h.state.Seq(), Patch: h.whole(),
		})
	}
	return h.snap
}

// join makes a page part of the hub: it gets the frames after the one it has, or
// a snapshot.
func (h *hub) join(c *conn, epoch string, after int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	h.conns[c] = struct{}{}
	c.mu.Lock()
	c.hub = h
	c.mu.Unlock()
	if h.stale.any {
		h.flush()
	}
	if missed, ok := h.ring.after(after, h.frame); ok && epoch == h.s.epoch && after > 0 {
		c.push(encode(frame{Type: "resumed", Frame: after, Epoch: h.s.epoch, Session: h.session, Seq: h.state.Seq()}))
		for _, data := range missed {
			c.push(data)
		}
		return
	}
	c.push(h.snapshot())
}

// resync gives a page that fell behind the whole in place of what it missed.
func (h *hub) resync(c *conn) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.clear()
	return h.snapshot()
}

func (h *hub) setSessions(rows []web.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page.Sessions = rows
	h.mark(partSessions, nil, nil)
	h.flush()
}

// setConfirm and setStopping are what the page knows before the log does.
func (h *hub) setConfirm(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page.Confirm = on
	h.mark(view.PartHeader, nil, nil)
	h.flush()
}

func (h *hub) setStopping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.Outcome == nil && h.page.Running {
		h.page.Stopping = true
		h.mark(view.PartHeader|view.PartQuestions|view.PartPlan, nil, nil)
		h.flush()
	}
}
