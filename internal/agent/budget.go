package agent

import (
	"fmt"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// Budget is what a session may use. Zero limits are no limits. Time counts only
// while the agent works, not while it waits for a person. Safe for concurrent use.
type Budget struct {
	MaxTurns   int
	MaxSeconds int
	MaxCostUSD float64

	mu      sync.Mutex
	turns   int
	total   event.Usage
	priced  bool // every call so far had a price
	calls   int
	worked  time.Duration
	since   time.Time
	running int
}

// Restore counts what an earlier part of the session used.
func (b *Budget) Restore(total event.Usage, turns int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total, b.turns, b.calls = total, turns, turns
	b.priced = total.CostUSD != nil
}

// Start counts a turn and starts the clock; the function it returns stops it.
func (b *Budget) Start() (stop func()) {
	b.mu.Lock()
	b.turns++
	b.mu.Unlock()
	return b.Work()
}

// Work starts the clock; the function it returns stops it.
func (b *Budget) Work() (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running++; b.running == 1 {
		b.since = time.Now()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.running--; b.running == 0 {
			b.worked += time.Since(b.since)
		}
	}
}

// Add counts one call and returns the event that reports it. A call without a
// known price makes the total's price unknown: never a wrong one.
func (b *Budget) Add(u llm.Usage, info llm.ModelInfo, purpose string) event.UsageAdded {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := event.UsageAdded{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Context: u.TotalInput() + u.Output, Window: info.ContextTokens, Estimated: !u.Known || u.Estimated, Purpose: purpose,
	}
	if info.Prices != nil && u.Known {
		cost := info.Prices.Cost(u)
		e.CostUSD = &cost
	}
	first := b.calls == 0
	b.calls++
	b.total.Input += u.Input
	b.total.Output += u.Output
	b.total.CacheRead += u.CacheRead
	b.total.CacheWrite += u.CacheWrite
	switch {
	case e.CostUSD == nil:
		b.priced, b.total.CostUSD = false, nil
	case first:
		b.priced = true
		fallthrough
	default:
		if b.priced {
			sum := *e.CostUSD
			if b.total.CostUSD != nil {
				sum += *b.total.CostUSD
			}
			b.total.CostUSD = &sum
		}
	}
	e.Total = b.total
	return e
}

// Total is what was used so far.
func (b *Budget) Total() event.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Spent returns which limit is reached, in words, or "".
func (b *Budget) Spent() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	worked := b.worked
	if b.running > 0 {
		worked += time.Since(b.since)
	}
	switch {
	case b.MaxTurns > 0 && b.turns >= b.MaxTurns:
		return fmt.Sprintf("all %d turns are used (--max-turns)", b.MaxTurns)
	case b.MaxSeconds > 0 && worked >= time.Duration(b.MaxSeconds)*time.Second:
		return fmt.Sprintf("it worked for %d seconds (agent.max_seconds)", b.MaxSeconds)
	case b.MaxCostUSD > 0 && b.total.CostUSD != nil && *b.total.CostUSD >= b.MaxCostUSD:
		return fmt.Sprintf("it cost $%.2f of the $%.2f allowed (--max-cost)", *b.total.CostUSD, b.MaxCostUSD)
	case b.MaxCostUSD > 0 && b.calls > 0 && !b.priced:
		return "the model's price is unknown, so --max-cost cannot be kept; leave it out or choose a model with a known price"
	default:
		return ""
	}
}

// Wait stops the clock while a person is asked; the function it returns starts it
// again.
func (b *Budget) Wait() (done func()) {
	since := time.Now()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.running > 0 {
			b.worked -= time.Since(since)
		}
	}
}
