package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
)

// madePrefix begins the ids of calls for which a provider sent none, or one that
// was taken.
const madePrefix = "made_"

// Made reports whether an id is our own, not the provider's.
func Made(id string) bool { return strings.HasPrefix(id, madePrefix) }

// Keys hands out ids that are unique within one conversation.
type Keys struct {
	used map[string]bool
	n    int
}

// NewKeys knows the ids of msgs as taken.
func NewKeys(msgs []llm.Message) *Keys {
	k := &Keys{used: map[string]bool{}}
	for _, m := range msgs {
		for _, u := range llm.ToolUses(m) {
			k.used[u.ID] = true
		}
	}
	return k
}

// Take returns id if it is free, else a new one made from nothing but the count
// of calls, so that the same conversation gets the same ids again.
func (k *Keys) Take(id string) string {
	for id == "" || k.used[id] {
		k.n++
		id = madePrefix + strconv.Itoa(len(k.used)+k.n)
	}
	k.used[id] = true
	return id
}

// Style is what a provider takes as a tool-call id.
type Style int

// The known styles.
const (
	AnyID  Style = iota // up to 64 characters
	WordID              // letters, digits, _ and -, up to 64 (Anthropic)
	NineID              // exactly nine letters and digits (Mistral)
)

// IDs maps our ids to a provider's style: a valid id stays, any other becomes a
// digest of itself, the same for call and result.
type IDs struct {
	style Style
	wire  map[string]string
	used  map[string]bool
}

// NewIDs maps the ids of one request.
func NewIDs(style Style) *IDs {
	return &IDs{style: style, wire: map[string]string{}, used: map[string]bool{}}
}

// Wire is the provider's form of id.
func (m *IDs) Wire(id string) string {
	if w, ok := m.wire[id]; ok {
		return w
	}
	w := id
	for n := 0; !m.valid(w) || m.used[w]; n++ {
		w = m.digest(id + strings.Repeat("+", n))
	}
	m.wire[id], m.used[w] = w, true
	return w
}

func (m *IDs) valid(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	switch m.style {
	case NineID:
		return len(id) == 9 && strings.Trim(id, alnum) == ""
	case WordID:
		return strings.Trim(id, alnum+"_-") == ""
	default:
		return true
	}
}

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func (m *IDs) digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := hex.EncodeToString(sum[:])
	if m.style == NineID {
		return text[:9]
	}
	return "call_" + text[:24]
}
