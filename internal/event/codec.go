package event

import (
	"bytes"
	"encoding/json"
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

// encode is json.Marshal without HTML escaping: the log holds code.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
