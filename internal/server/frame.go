package server

import (
	"bytes"
	"encoding/json"
)

// patch puts one whole element: in the place of the element with this id, or at
// the end of In. Op "remove" takes it away.
type patch struct {
	ID   string `json:"id"`
	In   string `json:"in,omitempty"`
	Op   string `json:"op,omitempty"`
	HTML string `json:"html,omitempty"`
}

// frame is what the page gets. Patches are numbered without gaps in their
// session; a snapshot carries the number of the last patch it holds, and resumed
// says that the patches after the one the page named follow.
type frame struct {
	Type    string  `json:"type"` // patch, snapshot, resumed
	Frame   int64   `json:"frame"`
	Epoch   string  `json:"epoch"`
	Session string  `json:"session"`
	Seq     int64   `json:"seq"` // of the last event in it: only a cursor, with gaps
	Patch   []patch `json:"patch,omitempty"`
}

// ack answers one command. Why says in plain words what is wrong.
type ack struct {
	Type    string `json:"type"` // ack
	ID      string `json:"id"`
	OK      bool   `json:"ok"`
	Code    string `json:"code,omitempty"`
	Why     string `json:"why,omitempty"`
	Session string `json:"session,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // edit: of the text that is on disk now
	// Files are the paths that fit, or that of the picture that is kept.
	Files []string `json:"files,omitempty"`
	// Models are what the session could go on with.
	Models []ModelChoice `json:"models,omitempty"`
	// HTML is the lines that were asked for, Total how many the file has.
	HTML  string `json:"html,omitempty"`
	Total int    `json:"total,omitempty"`
}

// encode writes JSON without HTML escaping, which would make HTML twice as long.
// Only strings and numbers are encoded: it cannot fail.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// Limits of the ring that answers reconnecting pages.
const (
	ringFrames = 5000
	ringBytes  = 8 << 20
)

// ring keeps the last frames. The zero ring is empty.
type ring struct {
	first  int64 // number of frames[0]
	frames [][]byte
	size   int
}

func (r *ring) add(n int64, data []byte) {
	if len(r.frames) == 0 {
		r.first = n
	}
	r.frames, r.size = append(r.frames, data), r.size+len(data)
	drop := 0
	for drop < len(r.frames)-1 && (len(r.frames)-drop > ringFrames || r.size > ringBytes) {
		r.size -= len(r.frames[drop])
		r.frames[drop] = nil
		drop++
	}
	r.frames, r.first = r.frames[drop:], r.first+int64(drop)
}

// after returns the frames that follow n, and whether they are all there.
func (r *ring) after(n, last int64) ([][]byte, bool) {
	if n == last {
		return nil, true
	}
	if n > last || n < 0 || len(r.frames) == 0 || n+1 < r.first {
		return nil, false
	}
	return r.frames[n+1-r.first:], true
}
