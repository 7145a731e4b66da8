package server

import (
	"context"
	"maps"
	"slices"

	"github.com/coderrr/coderrr/web"
)

// pick gives the hub of a session. nil is the newest that runs, or else the start
// page; "" is the start page. The caller must join or leave it.
func (s *Server) pick(ctx context.Context, session *string) (*hub, error) {
	id := ""
	if session == nil {
		id = s.running(ctx)
	} else {
		id = *session
	}
	if h := s.known(id); h != nil {
		return h, nil
	}
	if id == "" {
		return s.addHub(ctx, nil, s.choice()), nil
	}
	live, err := s.backend.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.addHub(ctx, live, s.backend.Info().ConfirmWrites), nil
}

// known returns a hub that exists, held so that it stays until it is joined.
func (s *Server) known(id string) *hub {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hubs[id]
	if h != nil {
		h.mu.Lock()
		h.watchers++
		h.mu.Unlock()
	}
	return h
}

// running is the id of the newest session that runs here, "" for none.
func (s *Server) running(ctx context.Context) string {
	list, err := s.backend.Sessions(ctx)
	if err != nil {
		return ""
	}
	for _, i := range list {
		if i.Running && !i.Elsewhere {
			return i.ID
		}
	}
	return ""
}

// choose keeps the choice of the start page for the next session, for all pages.
func (s *Server) choose(confirm bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirm = &confirm
}

func (s *Server) choice() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confirm != nil {
		return *s.confirm
	}
	return s.backend.Info().ConfirmWrites
}

// adopt makes the hub of a session that was just started. Its log says whether
// each write is reviewed, where that is not as configured.
func (s *Server) adopt(ctx context.Context, live Live) {
	h := s.addHub(ctx, live, s.backend.Info().ConfirmWrites)
	h.mu.Lock()
	h.watchers--
	h.mu.Unlock()
}

// addHub makes a hub and lets it follow its log; another that was made meanwhile
// wins. It is held for one join.
func (s *Server) addHub(ctx context.Context, live Live, confirm bool) *hub {
	s.listing.Lock()
	defer s.listing.Unlock()
	rows := s.sessionRows(ctx)
	h := newHub(s, live, s.webInfo(), confirm, rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.hubs[h.session]; old != nil {
		h = old
	} else {
		run, cancel := context.WithCancel(s.base)
		h.cancel = cancel
		s.hubs[h.session] = h
		s.tasks.Go(func() {
			defer cancel()
			h.run(run)
		})
	}
	h.mu.Lock()
	h.watchers++
	h.mu.Unlock()
	return h
}

// watching are the pages that show a session.
func (s *Server) watching(session string) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hubs[session]
	if h == nil || session == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.conns))
}

// forget ends the hub of a session whose log another takes over. Its pages must
// be moved.
func (s *Server) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hubs[session]; h != nil {
		h.cancel()
		delete(s.hubs, session)
	}
}

// leave takes a page off its hub, and the hub away when it is the last and nothing
// happens there any more.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := c.current()
	if h == nil {
		return
	}
	h.mu.Lock()
	delete(h.conns, c)
	if s.hubs[h.session] != h { // forgotten already
		h.mu.Unlock()
		return
	}
	idle := len(h.conns) == 0 && h.watchers == 0 && (h.live == nil || !h.live.Running())
	h.mu.Unlock()
	if idle {
		h.cancel()
		delete(s.hubs, h.session)
	}
}

func (s *Server) sessionRows(ctx context.Context) []web.Session {
	list, err := s.backend.Sessions(ctx)
	if err != nil {
		return []web.Session{{ID: "", Title: "The sessions could not be listed: " + err.Error()}}
	}
	rows := make([]web.Session, 0, len(list))
	for _, i := range list {
		rows = append(rows, web.Session{
			ID: i.ID, Title: i.Title, Status: i.Status, Started: i.Started, Running: i.Running, Elsewhere: i.Elsewhere, Foreign: i.Foreign,
		})
	}
	return rows
}

// defaultDemo is the label of a demo that brings none.
const defaultDemo = "demo model: replays a recorded session"

func (s *Server) webInfo() web.Info {
	i := s.backend.Info()
	out := web.Info{
		Project: i.Project, Workspace: i.Workspace, Branch: i.Branch, Provider: i.Provider, Model: i.Model,
		Tier: string(i.Sandbox.Tier), Network: i.Sandbox.Network, Summary: i.Sandbox.Summary,
		Limits: i.Sandbox.Limits, Better: i.Sandbox.Better, Suggestion: i.Suggestion, Version: i.Version, Problem: i.Problem,
	}
	if i.Demo {
		out.Demo = i.DemoLabel
		if out.Demo == "" {
			out.Demo = defaultDemo
		}
	}
	return out
}
