package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// maxMessage bounds one message of the client, in bytes.
const maxMessage = 16 << 20

// Error codes of JSON-RPC 2.0 §5.1 and of the protocol (ErrorCode).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32002
)

// rpcError is the error of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is the message.
func (e *rpcError) Error() string { return e.Message }

func fault(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// incoming is any message that comes in.
type incoming struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil for a notification
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

type (
	outRequest struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	outNotification struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	outResult struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	outError struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}
)

// wire is JSON-RPC 2.0 over two streams, one message a line. Sending is safe for
// concurrent use; one goroutine reads.
type wire struct {
	in *bufio.Reader

	mu   sync.Mutex
	out  io.Writer
	err  error // of the first write that failed
	next int
	wait map[string]chan incoming // requests of ours that are not answered
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: bufio.NewReaderSize(in, 64<<10), out: out, wait: map[string]chan incoming{}}
}

// errTooLong: a line is longer than any message may be.
var errTooLong = errors.New("the message is too long")

// read returns the next line that is not empty. A line that is too long is read
// to its end and dropped.
func (w *wire) read() ([]byte, error) {
	for {
		var line []byte
		long := false
		for {
			part, err := w.in.ReadSlice('\n')
			if long = long || len(line)+len(part) > maxMessage; !long {
				line = append(line, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
				return nil, err
			}
			break
		}
		if long {
			return nil, errTooLong
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (w *wire) send(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // ends the line
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.err == nil {
		_, err = w.out.Write(b.Bytes())
	}
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("send to the editor: %w", err)
	}
}

// failed is the first error of sending.
func (w *wire) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *wire) notify(method string, params any) {
	w.send(outNotification{"2.0", method, params})
}

func (w *wire) reply(id json.RawMessage, result any, err error) {
	if err == nil {
		w.send(outResult{"2.0", id, result})
		return
	}
	var e *rpcError
	if !errors.As(err, &e) {
		e = fault(codeInternal, "%s", visible(err.Error()))
	}
	w.send(outError{"2.0", id, e})
}

// call sends a request and waits for its answer. When ctx ends the client is told
// that the answer is no longer needed.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan incoming, 1)
	w.mu.Lock()
	w.next++
	id := "coderrr-" + strconv.Itoa(w.next)
	w.wait[id] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.wait, id)
		w.mu.Unlock()
	}()
	w.send(outRequest{"2.0", id, method, params})
	select {
	case <-ctx.Done():
		w.notify("$/cancel_request", map[string]string{"requestId": id})
		return ctx.Err()
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("the editor answered %s with an error: %w", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("read the editor's answer to %s: %w", method, err)
		}
		return nil
	}
}

// answered hands a response to the request it belongs to; others are dropped.
func (w *wire) answered(m incoming) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer, ok := w.wait[id]; ok {
		delete(w.wait, id)
		answer <- m
	}
}
