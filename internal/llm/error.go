package llm

import (
	"fmt"
	"time"
)

// Kind sorts failures by what can be done about them.
type Kind string

// The kinds of failure an adapter reports.
const (
	KindAuth          Kind = "auth"           // key missing, wrong or forbidden
	KindQuota         Kind = "quota"          // credit or spending limit used up
	KindRateLimit     Kind = "rate_limit"     // too many requests for now
	KindOverloaded    Kind = "overloaded"     // the provider has no capacity for now
	KindServer        Kind = "server"         // 5xx and the like
	KindNetwork       Kind = "network"        // could not connect, or the connection broke
	KindTruncated     Kind = "truncated"      // the stream ended before its end marker
	KindTimeout       Kind = "timeout"        // nothing, or nothing of meaning, came in time
	KindContextLength Kind = "context_length" // the prompt is longer than the model's window
	KindBadToolCall   Kind = "bad_tool_call"  // the model wrote a call the provider could not read
	KindUnsupported   Kind = "unsupported"    // a parameter, role or content the model refuses
	KindHistory       Kind = "history"        // the replayed conversation was refused
	KindModelNotFound Kind = "model_not_found"
	KindBadRequest    Kind = "bad_request"
	KindBadResponse   Kind = "bad_response" // not the protocol: HTML, wrong content type, not JSON
)

// Error is a failed call to a provider. Message is the provider's own words,
// single-line, without secrets or HTML; RetryAfter is zero when none was given.
type Error struct {
	Provider   string
	Model      string
	Kind       Kind
	Status     int // HTTP status, 0 if there was none
	Code       string
	Param      string // the parameter the provider complained about, if it said
	Message    string
	RetryAfter time.Duration
	NoRetry    bool // the provider said that trying again is useless
	// Tokens and Limit are the size of the prompt and of the model's window as
	// a context_length failure reported them; zero when it did not.
	Tokens, Limit int64
	Cause         error
	// Usage and Partial are what arrived before the failure. Partial holds
	// text and thinking only.
	Usage   Usage
	Partial Message
}

// Error says who failed, how, and in whose words.
func (e *Error) Error() string {
	s := e.Provider + ": " + string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Temporary reports whether the same request can succeed later. A bad tool call
// can: it is sampled anew.
func (e *Error) Temporary() bool {
	if e.NoRetry {
		return false
	}
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindServer, KindNetwork, KindTruncated, KindTimeout, KindBadToolCall:
		return true
	default:
		return false
	}
}
