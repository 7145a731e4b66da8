package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
)

// message is any JSON-RPC message (JSON-RPC 2.0, sections 4 and 5).
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`

	cut    int64 // bytes that were left out while reading
	tooBig bool
}

type kind int

const (
	garbage kind = iota
	request
	notification
	response
)

func (m message) kind() kind {
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && hasID:
		return request
	case m.Method != "":
		return notification
	case m.Error != nil || m.Result != nil:
		return response
	}
	return garbage
}

// number is our id of a response, false when it is none of ours: servers send
// back the number, or the number as a string.
func (m message) number() (int64, bool) {
	s := string(m.ID)
	if len(s) > 1 && s[0] == '"' {
		s = strings.Trim(s, `"`)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

var errNotJSONRPC = errors.New("not a JSON-RPC message")

// parse reads one message or a batch (2025-03-26). Anything that is not an object
// of JSON-RPC is errNotJSONRPC.
func parse(d document) ([]message, error) {
	data := bytes.TrimSpace(bytes.TrimPrefix(d.data, []byte("\xef\xbb\xbf")))
	var list []message
	switch {
	case len(data) == 0:
		return nil, errNotJSONRPC
	case data[0] == '[':
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotJSONRPC, err)
		}
	default:
		list = make([]message, 1)
		if err := json.Unmarshal(data, &list[0]); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotJSONRPC, err)
		}
	}
	for i := range list {
		if list[i].JSONRPC != jsonrpc || list[i].kind() == garbage {
			return nil, errNotJSONRPC
		}
		list[i].cut, list[i].tooBig = d.cut, d.tooBig
	}
	return list, nil
}

// short makes foreign text fit for an error message.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxShownBody {
		s = strings.ToValidUTF8(s[:maxShownBody], "") + "…"
	}
	out, _ := inert.Visible(s)
	return out
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
