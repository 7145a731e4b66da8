package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// decoders maps a type name to how its payload is read. It is a function and not
// a variable so that the package keeps no state.
func decoder(name string) func([]byte) (Payload, error) {
	switch name {
	case SessionStarted{}.Type():
		return into[SessionStarted]
	case PhaseChanged{}.Type():
		return into[PhaseChanged]
	case TurnStarted{}.Type():
		return into[TurnStarted]
	case TurnFinished{}.Type():
		return into[TurnFinished]
	case UserMessage{}.Type():
		return into[UserMessage]
	case TextDelta{}.Type():
		return into[TextDelta]
	case ThinkingDelta{}.Type():
		return into[ThinkingDelta]
	case TextDone{}.Type():
		return into[TextDone]
	case ThinkingDone{}.Type():
		return into[ThinkingDone]
	case MessageAdded{}.Type():
		return into[MessageAdded]
	case ToolStarted{}.Type():
		return into[ToolStarted]
	case ToolOutput{}.Type():
		return into[ToolOutput]
	case ToolFinished{}.Type():
		return into[ToolFinished]
	default:
		return laterDecoder(name)
	}
}

func laterDecoder(name string) func([]byte) (Payload, error) {
	switch name {
	case SpecWritten{}.Type():
		return into[SpecWritten]
	case PlanReady{}.Type():
		return into[PlanReady]
	case AskOpened{}.Type():
		return into[AskOpened]
	case AskClosed{}.Type():
		return into[AskClosed]
	case FileChanged{}.Type():
		return into[FileChanged]
	case TaskUpdated{}.Type():
		return into[TaskUpdated]
	case VerifyFinished{}.Type():
		return into[VerifyFinished]
	case UsageAdded{}.Type():
		return into[UsageAdded]
	case RetryScheduled{}.Type():
		return into[RetryScheduled]
	case ContextChanged{}.Type():
		return into[ContextChanged]
	case Notice{}.Type():
		return into[Notice]
	case SessionFinished{}.Type():
		return into[SessionFinished]
	default:
		return nil
	}
}

func into[P Payload](data []byte) (Payload, error) {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	return p, nil
}

func decode(name string, data []byte) (Payload, error) {
	if read := decoder(name); read != nil {
		return read(data)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for _, k := range []string{"seq", "time", "type"} {
		delete(fields, k)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return Unknown{Name: name, Raw: raw}, nil
}

// head is the envelope of an event.
type head struct {
	seq  int64
	time time.Time
	kind string
}

// quickHead reads the envelope as line writes it, without a parse of the whole: most
// of opening a long session is this. Anything else is left to slowHead.
func quickHead(data []byte) (h head, ok bool) {
	rest, found := bytes.CutPrefix(data, []byte(`{"seq":`))
	digits, rest, comma := bytes.Cut(rest, []byte(`,"time":"`))
	stamp, rest, quote := bytes.Cut(rest, []byte(`","type":"`))
	end := bytes.IndexByte(rest, '"')
	if !found || !comma || !quote || end < 0 || len(digits) > 19 || len(stamp) > len(time.RFC3339Nano) {
		return head{}, false
	}
	var err error
	if h.seq, err = strconv.ParseInt(string(digits), 10, 64); err != nil {
		return head{}, false
	}
	if err := h.time.UnmarshalText(stamp); err != nil {
		return head{}, false
	}
	h.kind = string(rest[:end])
	for _, c := range []byte(h.kind) {
		if c != '.' && c != '_' && (c < 'a' || c > 'z') {
			return head{}, false
		}
	}
	return h, true
}

func slowHead(data []byte) (head, error) {
	var h struct {
		Seq  int64     `json:"seq"`
		Time time.Time `json:"time"`
		Type string    `json:"type"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return head{}, fmt.Errorf("decode event: %w", err)
	}
	return head{h.Seq, h.Time, h.Type}, nil
}
