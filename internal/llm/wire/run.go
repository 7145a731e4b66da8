package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sse"
)

// Progress says what one event meant for the exchange.
type Progress int

// The kinds of progress.
const (
	Alive     Progress = iota // a keep-alive: it does not count as an event
	Moving                    // a real event
	Finishing                 // the finish reason, or an error, is there; an end marker may follow
	Ended                     // the end marker: nothing more is read
)

// Emit hands a delta to the consumer; false means that it has left.
type Emit func(llm.Delta) bool

// Decoder assembles one answer from its events. It never keeps data.
type Decoder interface {
	// Event takes the payload of one event. An error that is an *llm.Error ends
	// the exchange with it; any other means that data is not the protocol.
	Event(data []byte, emit Emit) (Progress, error)
	// Finished reports whether the finish reason, or an error, was seen.
	Finished() bool
	// Done is the result, or the error that the provider sent inside the stream.
	Done() (llm.Done, error)
	// Partial is what came so far: text and thinking only, and the usage.
	Partial() (llm.Message, llm.Usage)
}

// Run makes the call and feeds the answer to d. It returns nil after Done was
// handed to emit or when the consumer left, else an *llm.Error or the cause of
// the context's end.
func (c *Client) Run(ctx context.Context, call Call, d Decoder, emit Emit) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := c.do(run, call, cancel)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	w := newWatch(c.times, cancel)
	defer w.stop()
	shown := func(delta llm.Delta) bool {
		w.away()
		defer w.back()
		return emit(delta)
	}
	return c.settle(run, call, d, emit, c.read(run, call, resp, d, w, shown))
}

// settle turns the end of reading into the result. err is nil when the answer
// ended by its marker.
func (c *Client) settle(ctx context.Context, call Call, d Decoder, emit Emit, err error) error {
	var known *llm.Error
	switch {
	case errors.Is(err, errStopped):
		return nil
	case err == nil:
	case errors.As(err, &known):
		return c.fail(call, d, known)
	case d.Finished() && !left(ctx) && !errors.Is(err, sse.ErrTooLong):
		// The answer is whole; how its connection ended does not matter.
	default:
		return c.cut(ctx, call, d, err)
	}
	done, derr := d.Done()
	if derr != nil {
		if !errors.As(derr, &known) {
			known = &llm.Error{Kind: llm.KindBadResponse, Cause: derr}
		}
		return c.fail(call, d, known)
	}
	emit(done)
	return nil
}

// left reports whether the caller ended the exchange, not we.
func left(ctx context.Context) bool {
	cause := context.Cause(ctx)
	var over graceOver
	var silent stalled
	return cause != nil && !errors.As(cause, &over) && !errors.As(cause, &silent)
}

// knowing is a decoder that may know why a stream ended early; nil means it does
// not.
type knowing interface{ Short() *llm.Error }

// cut is the error of an answer that ended before its finish.
func (c *Client) cut(ctx context.Context, call Call, d Decoder, err error) error {
	if errors.Is(err, sse.ErrTooLong) {
		return c.fail(call, d, &llm.Error{Kind: llm.KindBadResponse, Message: err.Error()})
	}
	if errors.Is(err, io.EOF) && context.Cause(ctx) == nil {
		if k, ok := d.(knowing); ok {
			if e := k.Short(); e != nil {
				return c.fail(call, d, e)
			}
		}
		return c.fail(call, d, &llm.Error{Kind: llm.KindTruncated, Message: "the stream ended before the answer was finished"})
	}
	broken := c.broken(ctx, call.Model, err, llm.KindTruncated)
	var known *llm.Error
	if !errors.As(broken, &known) {
		return broken
	}
	return c.fail(call, d, known)
}

// fail completes an error with who failed and what had come.
func (c *Client) fail(call Call, d Decoder, e *llm.Error) error {
	e.Provider, e.Model = c.Name, call.Model
	e.Message = c.Redact(e.Message)
	e.Partial, e.Usage = d.Partial()
	return e
}

func (c *Client) read(ctx context.Context, call Call, resp *http.Response, d Decoder, w *watch, emit Emit) error {
	body := bufio.NewReader(touched{resp.Body, w})
	if call.Lines {
		return c.pump(&lines{r: body}, d, w, emit)
	}
	kind, err := sniff(body)
	switch {
	case err != nil:
		return err
	case kind == formPage:
		return c.Classify(call.Model, resp.StatusCode, resp.Header, []byte("<html>"))
	case kind == formJSON:
		return c.whole(ctx, call, resp, body, d, emit)
	}
	return c.pump(events{sse.NewReader(body, 0)}, d, w, emit)
}

// pump feeds events until the answer ends.
func (c *Client) pump(src source, d Decoder, w *watch, emit Emit) error {
	for {
		_, data, cut, err := src.next()
		if err != nil {
			return err
		}
		data = bytes.TrimSpace(data)
		if !isJSON(data) {
			if string(data) == "[DONE]" {
				return marker(d, emit)
			}
			continue
		}
		progress, err := d.Event(data, emit)
		if err != nil {
			return c.garbled(err, cut)
		}
		switch progress {
		case Ended:
			return nil
		case Finishing:
			w.finishing()
			w.gotSense()
		case Moving:
			w.goesOn()
			w.gotSense()
		case Alive:
		}
	}
}

// doner is a decoder for which [DONE] alone ends an answer.
type doner interface{ Marker(emit Emit) error }

// marker takes [DONE]. It is noise after an answer that has its own end marker.
func marker(d Decoder, emit Emit) error {
	if m, ok := d.(doner); ok {
		return m.Marker(emit)
	}
	if d.Finished() {
		return nil
	}
	return io.EOF
}

// garbled explains a payload that could not be read.
func (c *Client) garbled(err error, cut bool) error {
	var known *llm.Error
	switch {
	case errors.Is(err, errStopped), errors.As(err, &known):
		return err
	case cut:
		return io.EOF // the last event is only half there
	}
	return &llm.Error{Kind: llm.KindBadResponse, Message: "an event of the stream is not valid JSON", Cause: errors.New(c.Redact(err.Error()))}
}

// isJSON reports whether a payload is meant to be a JSON document. Proxies put
// words such as "ping" there.
func isJSON(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || (data[0] == '[' && string(data) != "[DONE]"))
}

// whole takes an answer that came as one JSON document: an error, a completion
// that was not streamed, or an array of events.
func (c *Client) whole(ctx context.Context, call Call, resp *http.Response, body io.Reader, d Decoder, emit Emit) error {
	data, err := io.ReadAll(io.LimitReader(body, maxWhole))
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !json.Valid(data) {
		return io.EOF
	}
	if e := c.inBody(call.Model, resp, data); e != nil {
		return e
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	for _, one := range list {
		if _, err := d.Event(one, emit); err != nil {
			return c.garbled(err, false)
		}
	}
	return io.EOF
}

// inBody is the error that an answer of status 200 holds, nil if it holds none.
func (c *Client) inBody(model string, resp *http.Response, data []byte) *llm.Error {
	said := parseSaid(data)
	if !said.isError {
		return nil
	}
	return c.Classify(model, resp.StatusCode, resp.Header, data)
}

// Stopped is what a decoder returns when emit returned false.
func Stopped() error { return errStopped }
