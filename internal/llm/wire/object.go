package wire

import (
	"bytes"
	"encoding/json"
)

// Object reads the arguments of a call: a JSON object, or one that was encoded
// twice. Nothing, or null, is {} unless the turn was cut.
func Object(args []byte, cut bool) (json.RawMessage, bool) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}"), !cut
	}
	if args[0] == '"' {
		var inner string
		if json.Unmarshal(args, &inner) != nil {
			return nil, false
		}
		args = bytes.TrimSpace([]byte(inner))
	}
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return nil, false
	}
	return append(json.RawMessage(nil), args...), true
}
