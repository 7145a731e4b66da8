package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/schema"
)

func TestFlatten(t *testing.T) {
	const tree = `{"type":"object","properties":{"root":{"$ref":"#/$defs/Node"}},"required":["root","ghost"],
		"$defs":{"Node":{"type":"object","properties":{"label":{"type":"string"},"next":{"$ref":"#/$defs/Node"}},"required":["label"]}}}`
	tests := []struct {
		name, in string
		target   schema.Target
		want     string
		noted    bool
	}{
		{name: "a sound schema keeps its bytes", in: `{"type":"object","properties":{"z":{"type":"string"},"a":{"$ref":"#/x"}}}`, want: `{"type":"object","properties":{"z":{"type":"string"},"a":{"$ref":"#/x"}}}`},
		{name: "nothing", in: ``, want: `{"type":"object","properties":{}}`},
		{name: "null", in: `null`, want: `{"type":"object","properties":{}}`, noted: true},
		{name: "a boolean", in: `true`, want: `{"type":"object","properties":{}}`, noted: true},
		{name: "no properties", in: `{"type":"object"}`, want: `{"type":"object","properties":{}}`},
		{
			name: "a reference at the root", in: `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			want: `{"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		},
		{
			name: "a union at the root", in: `{"anyOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"type":"string"}},"required":["b","k"]}]}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"k":{"type":"string"}},"required":["k"]}`, noted: true,
		},
		{
			name: "recursion is cut", in: tree, target: schema.Gemini, noted: true,
			want: `{"type":"object","required":["root"],"properties":{"root":{"type":"object","required":["label"],"properties":{"label":{"type":"string"},
			"next":{"type":"object","description":"another Node, of the same form"}}}}}`,
		},
		{
			name: "gemini words", target: schema.Gemini,
			in: `{"type":"object","additionalProperties":false,"$schema":"x","properties":{
				"n":{"type":["string","null"],"minLength":2},"u":{"type":["string","integer"]},"e":{"enum":[1,2]},"c":{"const":"x"},
				"o":{"oneOf":[{"type":"string"},{"type":"null"}]},"d":{"type":"string","format":"uri"},"t":{"type":"string","format":"date-time"},
				"p":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]},"x":{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}}}`,
			noted: true,
			want: `{"type":"object","properties":{
				"n":{"type":"string","nullable":true,"description":"(minLength 2)"},"u":{"anyOf":[{"type":"string"},{"type":"integer"}]},
				"e":{"type":"number","description":"(one of: 1, 2)"},"c":{"type":"string","enum":["x"]},
				"o":{"type":"string","nullable":true},"d":{"type":"string","description":"(format uri)"},"t":{"type":"string","format":"date-time"},
				"p":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}},"x":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		},
		{
			name: "plain keeps limits", target: schema.Plain, in: `{"type":"object","properties":{"a":{"type":"string","pattern":"^a","default":"a"}},"additionalProperties":false}`,
			want: `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","pattern":"^a","description":"(default \"a\")"}}}`,
		},
		{
			name: "a dead reference", target: schema.Plain, in: `{"type":"object","properties":{"a":{"$ref":"http://elsewhere/x"}}}`, noted: true,
			want: `{"type":"object","properties":{"a":{"type":"object","description":"see x"}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := schema.Flatten(json.RawMessage(tt.in), tt.target)
			require.JSONEq(t, tt.want, string(got))
			require.Equal(t, tt.noted, len(notes) > 0, "%q", notes)
			if tt.name == "a sound schema keeps its bytes" {
				require.Equal(t, tt.in, string(got), "models heed the order of properties")
			}
			again, _ := schema.Flatten(json.RawMessage(tt.in), tt.target)
			require.Equal(t, string(got), string(again))
		})
	}
}

// References that double at every level must not double the result.
func TestFlattenIsBounded(t *testing.T) {
	defs := map[string]any{"L0": map[string]any{"type": "string"}}
	for i := 1; i < 40; i++ {
		ref := map[string]any{"$ref": "#/$defs/L" + string(rune('0'+i-1))}
		defs["L"+string(rune('0'+i))] = map[string]any{"type": "object", "properties": map[string]any{"a": ref, "b": ref, "c": ref}}
	}
	in, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/L" + string(rune('0'+39))}}, "$defs": defs})
	require.NoError(t, err)
	out, notes := schema.Flatten(in, schema.Gemini)
	require.Less(t, len(out), 1<<20)
	require.NotEmpty(t, notes)
}

func TestIsStrict(t *testing.T) {
	yes := []string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a","b"],"additionalProperties":false}`,
	}
	no := []string{
		`{}`, `nope`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}},"required":["a"],"additionalProperties":false}`,
	}
	for _, s := range yes {
		require.True(t, schema.IsStrict(json.RawMessage(s)), s)
	}
	for _, s := range no {
		require.False(t, schema.IsStrict(json.RawMessage(s)), s)
	}
}

// FuzzFlatten: any bytes give an object schema, twice the same.
func FuzzFlatten(f *testing.F) {
	f.Add([]byte(`{"$ref":"#","anyOf":[{"$ref":"#"}],"allOf":[{"$ref":"#/anyOf/0"}]}`))
	f.Add([]byte(`{"type":["object","null"],"properties":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, target := range []schema.Target{schema.Full, schema.Plain, schema.Gemini} {
			out, _ := schema.Flatten(in, target)
			var root map[string]any
			require.NoError(t, json.Unmarshal(out, &root))
			require.Equal(t, "object", root["type"])
			again, _ := schema.Flatten(in, target)
			require.Equal(t, string(out), string(again))
		}
	})
}
