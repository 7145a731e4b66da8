package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/coderrr/coderrr/internal/event"
)

// eachSync is the sink to compare with: one sync for each event.
type eachSync struct{ *event.FileSink }

func (s eachSync) Write(e event.Event, _ bool) error { return s.FileSink.Write(e, true) }

// journal measures the log: what an append costs early and late, and what syncing
// in groups gains.
func (b *bench) journal(context.Context) ([]row, error) {
	past := history("s", b.dir, many)
	var early, late []time.Duration
	for i := range 7 {
		for n, into := range map[int]*[]time.Duration{1000: &early, many: &late} {
			took, err := b.append(fmt.Sprintf("append%d_%d", i, n), past, n, 2000, false)
			if err != nil {
				return nil, err
			}
			*into = append(*into, took)
		}
	}
	var grouped, single []time.Duration
	for i := range 3 {
		g, err := b.append(fmt.Sprintf("grouped%d", i), past, 0, 20_000, false)
		if err != nil {
			return nil, err
		}
		s, err := b.append(fmt.Sprintf("single%d", i), past, 0, 1000, true)
		if err != nil {
			return nil, err
		}
		grouped, single = append(grouped, g), append(single, s)
	}
	us := func(d []time.Duration) string { return fmt.Sprintf("%.3g us", float64(least(d).Nanoseconds())/1000) }
	return []row{
		{what: "append to a log of 50k events, over one of 1k", value: float64(least(late)) / float64(least(early)), unit: "x", limit: 1.1, note: us(late) + " / " + us(early)},
		{what: "log, events per second over one sync per event", value: float64(least(single)) / float64(least(grouped)), unit: "x", limit: 30, least: true, note: us(grouped) + " / " + us(single) + ", closing sync included"},
	}, nil
}

// append writes n events to a log that holds the first of past already, and gives
// the time of one. The end is on disk.
func (b *bench) append(name string, past []event.Payload, held, n int, sync bool) (took time.Duration, err error) {
	f, err := os.Create(filepath.Join(b.dir, name))
	if err != nil {
		return 0, fmt.Errorf("make a log: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	var sink event.Sink = event.NewFileSink(f)
	if sync {
		sink = eachSync{event.NewFileSink(f)}
	}
	events := make([]event.Event, held)
	for i := range events {
		events[i] = event.Event{Seq: int64(i + 1), Time: time.Now(), Data: past[i]}
	}
	log := event.NewLog(events, sink)
	ordinary := make([]event.Payload, 0, n)
	for i := 0; len(ordinary) < n; i++ {
		if _, durable := past[i%len(past)].(event.Durable); !durable {
			ordinary = append(ordinary, past[i%len(past)])
		}
	}
	log.Append(ordinary[0]) // the list of events grows here, for thousands to come
	runtime.GC()            // what was made to measure with is not a part of the cost
	began := time.Now()
	for _, p := range ordinary {
		log.Append(p)
	}
	if held > 0 { // what the last sync costs does not depend on what is held
		took = time.Since(began)
	}
	if err := errors.Join(log.Err(), log.Close()); err != nil {
		return 0, err
	}
	if held == 0 {
		took = time.Since(began)
	}
	return took / time.Duration(n), nil
}

// least is the smallest of the times: what disturbs a measurement only adds.
func least(took []time.Duration) time.Duration {
	out := took[0]
	for _, d := range took {
		out = min(out, d)
	}
	return out
}
