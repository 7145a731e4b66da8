package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/server"
)

// single is a backend with one session that runs.
type single struct {
	server.Backend // what a page that only looks does not ask for
	live           *running
}

func (s single) Info() server.Info { return server.Info{Project: "bench", Model: "scripted"} }

func (s single) Sessions(context.Context) ([]server.SessionInfo, error) {
	return []server.SessionInfo{{ID: s.live.ID(), Running: true}}, nil
}

func (s single) Open(context.Context, string) (server.Live, error) { return s.live, nil }

type running struct {
	server.Live
	log *event.Log
}

func (*running) ID() string        { return "bench" }
func (r *running) Log() *event.Log { return r.log }
func (*running) Running() bool     { return true }

const (
	pages  = 10
	events = 400_000
	block  = 200 // deltas of one text
)

// fanout streams events to ten pages; one that has an event's patch has the event.
func (b *bench) fanout(ctx context.Context) ([]row, error) {
	var rates []float64
	for range 3 {
		took, err := deliver(ctx)
		if err != nil {
			return nil, err
		}
		rates = append(rates, pages*events/took.Seconds())
	}
	return []row{{what: "events delivered to 10 pages, per second", value: middle(rates) / 1e6, unit: "M/s", limit: 1, least: true, note: "folded, rendered, merged"}}, nil
}

func deliver(ctx context.Context) (_ time.Duration, err error) {
	live := &running{log: event.NewLog(nil, nil)}
	live.log.Append(event.SessionStarted{SessionID: "bench", Request: "stream"})
	srv, err := server.New(server.Options{Backend: single{live: live}})
	if err != nil {
		return 0, err
	}
	ln, err := server.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(serving, ln) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	_, token, _ := strings.Cut(srv.URL(ln), "#token=")
	var joined, done sync.WaitGroup
	fails := make(chan error, pages)
	for range pages {
		joined.Add(1)
		done.Go(func() {
			if err := follow(ctx, ln.Addr().String(), token, joined.Done); err != nil {
				fails <- err
			}
		})
	}
	joined.Wait()
	began := time.Now()
	var text strings.Builder
	for i := range events - 1 {
		if (i+1)%block == 0 {
			live.log.Append(event.TextDone{Text: text.String()})
			text.Reset()
			continue
		}
		text.WriteString("some more words ")
		live.log.Append(event.TextDelta{Text: "some more words "})
	}
	live.log.Append(event.PhaseChanged{Phase: event.Execute})
	done.Wait()
	took := time.Since(began)
	close(fails)
	for fail := range fails {
		err = errors.Join(err, fail)
	}
	return took, err
}

// follow reads until the frame that holds the last event.
func follow(ctx context.Context, host, token string, joined func()) error {
	ws, err := page(ctx, host, token, "bench")
	if err != nil {
		joined()
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	_, _, err = ws.Read(ctx) // the snapshot
	joined()
	for err == nil {
		var data []byte
		if _, data, err = ws.Read(ctx); err == nil && seq(data) > events {
			return nil
		}
	}
	return fmt.Errorf("follow the session: %w", err)
}

// seq is the last event in a frame.
func seq(data []byte) int64 {
	_, rest, _ := bytes.Cut(data[:min(len(data), 300)], []byte(`"seq":`))
	digits, _, _ := bytes.Cut(rest, []byte(","))
	n, _ := strconv.ParseInt(string(bytes.TrimRight(digits, "}")), 10, 64) // 0 for another frame
	return n
}
