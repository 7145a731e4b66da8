package wire

import (
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
)

// Quirks remembers, for each model of one endpoint, what the server refused, so
// that a parameter is dropped once and stays dropped. The zero value is ready;
// it is safe for concurrent use.
type Quirks struct {
	mu  sync.Mutex
	set map[string]map[string]bool
}

// Has reports whether what was refused for model.
func (q *Quirks) Has(model, what string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.set[model][what]
}

// Add remembers a refusal; it reports whether it is news.
func (q *Quirks) Add(model, what string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.set[model][what] {
		return false
	}
	if q.set == nil {
		q.set = map[string]map[string]bool{}
	}
	if q.set[model] == nil {
		q.set[model] = map[string]bool{}
	}
	q.set[model][what] = true
	return true
}

// Named is the first of params that the error complains about, "" if none.
func Named(e *llm.Error, params ...string) string {
	for _, p := range params {
		if e.Param == p || strings.HasPrefix(e.Param, p+".") {
			return p
		}
	}
	for _, p := range params {
		if mentions(e.Message, p) {
			return p
		}
	}
	return ""
}

// mentions reports whether word stands in text as a word of its own, so that
// max_tokens is not found in max_tokens_to_sample.
func mentions(text, word string) bool {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = rest[i-1]
		}
		if end := i + len(word); end < len(rest) {
			after = rest[end]
		}
		if !wordByte(before) && !wordByte(after) {
			return true
		}
		rest = rest[i+len(word):]
	}
}

func wordByte(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
