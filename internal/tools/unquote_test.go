package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

type quotedArgs struct {
	List   []string       `json:"list,omitempty"`
	Object map[string]int `json:"object,omitempty"`
	Text   string         `json:"text,omitempty"`
}

// A list or an object that came as JSON in a string is what it says, also in what
// people are shown; text stays text, and what does not parse is refused.
func TestArgumentsInsideStrings(t *testing.T) {
	var got quotedArgs
	tool := tools.Define("quoted", "", policy.Read, func(_ context.Context, in quotedArgs) (tools.Result, error) {
		got = in
		return tools.Result{Content: "ok"}, nil
	})
	for _, tt := range []struct {
		in, shown string
		want      quotedArgs
		fails     bool
	}{
		{in: `{"list":"[\"a\",\"b\"]"}`, shown: `{"list":["a","b"]}`, want: quotedArgs{List: []string{"a", "b"}}},
		{in: `{"object":" {\"a\":1} ","text":"x"}`, shown: `{"object":{"a":1},"text":"x"}`, want: quotedArgs{Object: map[string]int{"a": 1}, Text: "x"}},
		{in: `{"text":"[1]"}`, shown: `{"text":"[1]"}`, want: quotedArgs{Text: "[1]"}},
		{in: `{"list":"{\"a\":1}"}`, fails: true},
		{in: `{"list":"[1"}`, fails: true},
		{in: `{"list":"[1]"}`, fails: true},
	} {
		s, log := set(tools.Options{Mode: policy.Planning, Sources: fixed(tool)})
		got = quotedArgs{}
		res := s.Call(t.Context(), use("quoted", tt.in))
		require.Equal(t, tt.fails, res.IsError, "%s: %s", tt.in, res.Content)
		if tt.fails {
			continue
		}
		require.Equal(t, tt.want, got)
		require.JSONEq(t, tt.shown, string(log.Events(0)[0].Data.(event.ToolStarted).Input))
	}
}

// Unions count as the types they offer: one that takes a string keeps the string.
func TestArgumentsInsideStringsOfUnions(t *testing.T) {
	schema := `{"type":"object","properties":{
		"a":{"anyOf":[{"type":"array"},{"type":"null"}]},
		"b":{"type":["object","string"]},
		"c":{},
		"d":{"type":["array","null"]}}}`
	tool := rawTool{schema: json.RawMessage(schema)}
	s, log := set(tools.Options{Mode: policy.Planning, Sources: fixed(tool)})
	s.Call(t.Context(), use("raw", `{"a":"[1]","b":"{}","c":"[1]","d":"[2]"}`))
	require.JSONEq(t, `{"a":[1],"b":"{}","c":"[1]","d":[2]}`, string(log.Events(0)[0].Data.(event.ToolStarted).Input))
}

type rawTool struct{ schema json.RawMessage }

func (r rawTool) Spec() tools.Spec  { return tools.Spec{Name: "raw", Schema: r.schema} }
func (rawTool) Class() policy.Class { return policy.Read }
func (rawTool) Run(context.Context, json.RawMessage) tools.Result {
	return tools.Result{Content: "ok"}
}
