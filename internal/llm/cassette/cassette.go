// Package cassette records the HTTP exchanges with a provider and plays them back,
// so that a report can be replayed by someone without the key, and a demo runs
// without a network. Its one rule: nothing that looks like a secret reaches a file.
//
// A cassette is JSON Lines, one exchange a line. Lines without "step" are played
// in order, each to the next request of the same method and path. Lines with
// "step" make a small state machine: of the lines of the current step the first
// whose "when" holds is played, and the state goes to "goto" or the next step.
// "repeat" lines do not advance; without a step they match at any time.
package cassette

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds one line of a cassette in bytes.
const maxLine = 256 << 20

// Line is one exchange.
type Line struct {
	Step     *int     `json:"step,omitempty"`
	When     When     `json:"when,omitzero"`
	Repeat   bool     `json:"repeat,omitempty"`
	Goto     *int     `json:"goto,omitempty"`
	Request  Request  `json:"request,omitzero"`
	Response Response `json:"response"`
}

// When says which requests a line answers. The zero value takes any.
type When struct {
	// Tools: the request offers tools, or offers none; nil means either.
	Tools *bool `json:"tools,omitempty"`
	// LastContains is a part of the text after the last answer of the model: a
	// person's message or tool results.
	LastContains string `json:"last_contains,omitempty"`
}

// Request is what was asked. Headers are never kept.
type Request struct {
	Method string          `json:"method,omitempty"`
	Path   string          `json:"path,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Response is what came back: Chunks as they arrived, or Body in one piece.
type Response struct {
	Status  int               `json:"status,omitempty"` // 0 means 200
	Headers map[string]string `json:"headers,omitempty"`
	Chunks  []Chunk           `json:"chunks,omitempty"`
	Body    string            `json:"body,omitempty"`
	// Error is how the body broke off, "" for a clean end.
	Error string `json:"error,omitempty"`
}

// Chunk is one piece of a body. Data holds bytes that are not valid UTF-8.
type Chunk struct {
	MS   int64  `json:"ms,omitempty"` // milliseconds since the piece before
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"`
}

func (c Chunk) bytes() []byte {
	if len(c.Data) > 0 {
		return c.Data
	}
	return []byte(c.Text)
}

// Read reads the lines of a cassette; blank lines are skipped.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := br.ReadString('\n')
		if len(text) > maxLine {
			return nil, fmt.Errorf("line %d of the recording is longer than %d bytes", n, maxLine)
		}
		if strings.TrimSpace(text) != "" {
			var l Line
			if jerr := json.Unmarshal([]byte(text), &l); jerr != nil {
				return nil, fmt.Errorf("line %d of the recording is not one exchange: %w", n, jerr)
			}
			lines = append(lines, l)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
	}
	if len(lines) == 0 {
		return nil, errors.New("the recording is empty")
	}
	return lines, nil
}
