// Package wire speaks the Model Context Protocol as a client: JSON-RPC 2.0 over
// stdio, Streamable HTTP and the older HTTP+SSE, in both of its eras (2025-11-25
// and before with a handshake; 2026-07-28 without). Its one rule: what a server
// sends is bounded while it is read, and nothing a server says decides anything
// here. Everything above it works with the plain types of this package.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The protocol revisions this package speaks.
const (
	Modern     = "2026-07-28" // stateless: no handshake, metadata on each request
	Latest     = "2025-11-25" // the newest with a handshake
	rev202506  = "2025-06-18"
	rev202503  = "2025-03-26" // the first with Streamable HTTP
	rev202411  = "2024-11-05" // HTTP+SSE
	jsonrpc    = "2.0"
	maxPages   = 200
	maxItems   = 5000
	maxRounds  = 10 // of questions within one call (multi round-trip requests)
	maxServing = 64 // requests of a server that are answered at once
)

// Error codes of JSON-RPC and of the protocol (2026-07-28, schema.mdx).
const (
	CodeMethodNotFound  = -32601
	CodeInvalidParams   = -32602
	codeHeaderMismatch  = -32020
	codeCapability      = -32021
	codeVersion         = -32022
	codeURLElicitation  = -32042
	maxShownBody        = 300 // bytes of an unexpected answer that are shown
	defaultText         = 1 << 20
	defaultMessage      = 16 << 20
	defaultDepth        = 200
	defaultEvent        = 12 << 20
	defaultHandshake    = 30 * time.Second
	defaultIdle         = 2 * time.Minute
	defaultTotal        = 30 * time.Minute
	closeGrace          = 2 * time.Second
	defaultStreamWait   = 2 * time.Second
	defaultReconnect    = time.Second
	maxReconnects       = 8
	defaultProbeTimeout = 5 * time.Second
)

var (
	// ErrClosed: the connection has ended.
	ErrClosed = errors.New("the connection has ended")
	// ErrTooLarge: a message was beyond the limits and was not kept.
	ErrTooLarge = errors.New("the message is too large")
	// ErrTimeout: the server did not answer in time.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrPlainHTTP: credentials would travel unencrypted.
	ErrPlainHTTP = errors.New("credentials are not sent over plain http")
	// ErrRedirect: the server sent the client to another place.
	ErrRedirect = errors.New("the server redirects elsewhere, which is not followed")
)

// Implementation names a program in a handshake.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title,omitempty"`
}

// Options say what to connect to and how. Either Command or URL is required.
type Options struct {
	Command *Command
	URL     string
	// Headers are sent with each HTTP request. Nil is none.
	Headers map[string]string
	// Auth adds credentials to HTTP requests; nil adds none.
	Auth Auth
	// Transport forces "http" or "sse" for a URL; "" tries both.
	Transport string
	// Version forces a protocol revision; "" finds out.
	Version string
	Client  Implementation
	// Roots are the folders a server may know of, as file:// URIs. Nil declares
	// that there is no such list.
	Roots []Root
	// Elicit answers a server that asks the person something; nil declares that
	// nobody can be asked. It is called from its own goroutine.
	Elicit func(ctx context.Context, e Elicitation) ElicitResult
	// Extensions are declared as client capabilities, by identifier.
	Extensions map[string]json.RawMessage
	// Notify is told of notifications. It must not block; nil ignores them.
	Notify func(n Notification)
	// Trace sees each message as it is sent ("→") or received ("←"); nil is none.
	Trace func(direction string, message []byte)

	Handshake time.Duration // of connecting, 0 means 30 s
	Idle      time.Duration // a call without answer or progress, 0 means 2 min
	Total     time.Duration // a call as a whole, 0 means 30 min
	MaxText   int           // bytes kept of one JSON string, 0 means 1 MiB
	MaxBytes  int           // bytes kept of one message, 0 means 16 MiB
}

// Command is a server that is started as a child process. Path is absolute; Env
// is its whole environment.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string
}

// Auth supplies the credentials of an HTTP server. Implementations are safe for
// concurrent use.
type Auth interface {
	// Sign adds credentials to a request that is about to be sent.
	Sign(ctx context.Context, req *http.Request) error
	// Refused is told of an answer 401 or 403; nil means that the request is
	// worth sending again. Its error ends the request.
	Refused(ctx context.Context, r Refusal) error
}

// Refusal is an answer that asks for other credentials.
type Refusal struct {
	Status int
	Header http.Header
	// Authorization is what the refused request carried.
	Authorization string
	// Session is true when the request carried a session id.
	Session bool
}

// Root is a folder a server may know of.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Notification is a message of a server that needs no answer. Text is the log
// message or the URI it is about.
type Notification struct {
	Method string
	Level  string
	Text   string
	Params json.RawMessage
}

// RPCError is an error a server answered (JSON-RPC 2.0, section 5.1).
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error shows message and code.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", short(e.Message), e.Code) }

// StatusError is an HTTP answer that is not one of the protocol. RPC is set when
// its body was a JSON-RPC error all the same.
type StatusError struct {
	Status  int
	Body    string // the beginning, made harmless
	RPC     *RPCError
	header  http.Header
	session string // the session id that was sent
}

// Error names status and the beginning of the body.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	switch {
	case e.RPC != nil:
		return s + ": " + e.RPC.Error()
	case e.Body != "":
		return s + ": " + e.Body
	}
	return s
}

// Unwrap returns the JSON-RPC error, if there was one.
func (e *StatusError) Unwrap() error {
	if e.RPC == nil {
		return nil
	}
	return e.RPC
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
