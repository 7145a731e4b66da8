// Package llm is the vocabulary every model adapter translates to and from:
// messages made of blocks, streamed deltas, usage and errors. It knows no wire
// format; adapters live below it and depend on it, never the reverse.
package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// Role says who a message is from. System text is part of a Request, not a role.
type Role string

// The two roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one entry of a conversation.
type Message struct {
	Role   Role   `json:"role"`
	Blocks Blocks `json:"blocks"`
}

// Origin names the adapter and the model that made a block. Signatures and
// opaque items are replayed only to the origin that made them.
type Origin struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// StopReason says why a model stopped.
type StopReason string

// The reasons an adapter can report.
const (
	StopEndTurn      StopReason = "end_turn"
	StopToolUse      StopReason = "tool_use"
	StopMaxTokens    StopReason = "max_tokens"
	StopStopSequence StopReason = "stop_sequence"
	StopRefusal      StopReason = "refusal"
	StopPause        StopReason = "pause_turn"
	StopError        StopReason = "error"
)

// Usage counts tokens of one call. Input excludes what was read from or written
// to a cache; Output includes Reasoning. Known is false when the provider
// reported nothing: the numbers are then zero and must not be shown as fact.
type Usage struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	Known      bool  `json:"known"`
	Estimated  bool  `json:"estimated,omitempty"`
}

// TotalInput is everything the model read: fresh, cached and newly cached.
func (u Usage) TotalInput() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of two usages; the sum is known only if both are.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input:      u.Input + o.Input,
		CacheRead:  u.CacheRead + o.CacheRead,
		CacheWrite: u.CacheWrite + o.CacheWrite,
		Output:     u.Output + o.Output,
		Reasoning:  u.Reasoning + o.Reasoning,
		Known:      u.Known && o.Known,
		Estimated:  u.Estimated || o.Estimated,
	}
}

// ToolSpec describes one tool to a model. Schema is a JSON Schema whose root is
// an object.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request is one call to a model. The zero MaxTokens leaves the limit to the
// adapter; a nil Temperature sends none.
type Request struct {
	Model       string
	System      string
	Messages    []Message
	Tools       []ToolSpec
	MaxTokens   int
	Temperature *float64
	Effort      string
}

// Delta is one piece of a streamed answer. It is a closed set: TextDelta,
// ThinkingDelta, ToolUseStart, ToolInputDelta, Retry and Done.
type Delta interface{ isDelta() }

// TextDelta is visible text, whole runes only.
type TextDelta struct{ Text string }

// ThinkingDelta is reasoning text meant for people, whole runes only.
type ThinkingDelta struct{ Text string }

// ToolUseStart announces a call whose arguments are still arriving. It is for
// display: only the calls in Done.Message may be executed.
type ToolUseStart struct {
	Index    int
	ID, Name string
}

// ToolInputDelta is a fragment of the raw JSON arguments of the call at Index.
type ToolInputDelta struct {
	Index int
	JSON  string
}

// Retry says that the attempt failed and another follows after Wait. Whatever
// was streamed before it belongs to the abandoned attempt and is discarded.
type Retry struct {
	Wait    int64 // milliseconds
	Attempt int   // the attempt that follows, from 2
	Reason  string
}

// Done ends a stream. Message holds only whole blocks: a call that was cut is in
// Incomplete, by name, and is never executed or replayed; the Input of such a call
// is a JSON string with what came of its arguments.
type Done struct {
	Message    Message
	Stop       StopReason
	RawStop    string
	Usage      Usage
	Incomplete []ToolUse
}

func (TextDelta) isDelta()      {}
func (ThinkingDelta) isDelta()  {}
func (ToolUseStart) isDelta()   {}
func (ToolInputDelta) isDelta() {}
func (Retry) isDelta()          {}
func (Done) isDelta()           {}

// Provider is one way to reach models. A stream yields deltas and ends with Done,
// or with one error (an *Error, or the context's). Breaking out of the loop
// cancels the call and frees its connection; nothing runs behind a stream.
// Implementations are safe for concurrent use.
type Provider interface {
	Name() string
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// ModelInfo is what a provider or the catalogue knows of a model. Zero means
// unknown; prices are US dollars per million tokens and nil when unknown.
type ModelInfo struct {
	ID              string
	Name            string
	ContextTokens   int64
	MaxOutputTokens int64
	Prices          *Prices
	Tools, Images   bool
	Reasoning       bool
}

// Prices are US dollars per million tokens.
type Prices struct{ Input, Output, CacheRead, CacheWrite float64 }

// Cost is the price of a usage in US dollars.
func (p Prices) Cost(u Usage) float64 {
	const million = 1e6
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / million
}

// Lister is implemented by providers that can say which models they serve; it is
// the cheap call that checks a key and an address.
type Lister interface {
	Models(ctx context.Context) ([]ModelInfo, error)
}
