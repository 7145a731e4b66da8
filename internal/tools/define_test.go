package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

type sample struct {
	Path  string   `json:"path" jsonschema_description:"a path"`
	Limit int      `json:"limit,omitempty" jsonschema_description:"how many"`
	Deep  bool     `json:"deep,omitempty" jsonschema_description:"whether"`
	Names []string `json:"names,omitempty" jsonschema_description:"which"`
}

func TestDefine(t *testing.T) {
	var got sample
	tool := tools.Define("sample", "does it", policy.Read, func(_ context.Context, in sample) (tools.Result, error) {
		got = in
		if in.Path == "explain" {
			return tools.Result{}, tools.Explain("word for word")
		}
		if in.Path == "fail" {
			return tools.Result{}, errors.New("broken")
		}
		return tools.Result{Content: "ok"}, nil
	})
	require.Equal(t, "sample", tool.Spec().Name)
	require.Equal(t, policy.Read, tool.Class())
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
		"path":{"type":"string","description":"a path"},"limit":{"type":"integer","description":"how many"},
		"deep":{"type":"boolean","description":"whether"},"names":{"type":"array","items":{"type":"string"},"description":"which"}}}`, string(tool.Spec().Schema))

	const usage = ` It takes: deep (boolean, optional), limit (integer, optional), names (array, optional), path (string).`
	for _, tc := range []struct{ in, want string }{
		{`{"path":"a","limit":3,"deep":true,"names":["x"]}`, ""},
		{`{"path":"a","limit":null}`, ""},
		{`{"path":"explain"}`, "word for word"},
		{`{"path":"fail"}`, "sample: broken"},
		{``, `sample needs the argument "path".` + usage},
		{`{}`, `sample needs the argument "path".` + usage},
		{`{"path":null}`, `sample needs the argument "path".` + usage},
		{`{"path":"a","extra":1}`, `sample has no argument "extra".` + usage},
		{`{"Path":"a"}`, `sample has no argument "Path".` + usage},
		{`{"path":7}`, `sample: the argument "path" must be a string, not number.` + usage},
		{`{"path":"a","limit":"3"}`, `sample: the argument "limit" must be a whole number, not string.` + usage},
		{`{"path":"a","limit":1.5}`, `sample: the argument "limit" must be a whole number, not number 1.5.` + usage},
		{`{"path":"a","deep":"yes"}`, `sample: the argument "deep" must be true or false, not string.` + usage},
		{`{"path":"a","names":"x"}`, `sample: the argument "names" must be a list, not string.` + usage},
		{`["a"]`, `sample: the arguments are not a JSON object (they are of type array).` + usage},
		{`{"path":"a"} x`, `sample: the arguments are not a JSON object (invalid character 'x' after top-level value).` + usage},
	} {
		res := tool.Run(t.Context(), json.RawMessage(tc.in))
		if tc.want == "" {
			require.False(t, res.IsError, res.Content)
			require.Equal(t, "a", got.Path)
			continue
		}
		require.True(t, res.IsError)
		require.Equal(t, tc.want, res.Content, tc.in)
	}
	none := tools.Define("none", "", policy.Read, func(context.Context, struct{}) (tools.Result, error) { return tools.Result{}, nil })
	require.Equal(t, `none has no argument "x". It takes no arguments.`, none.Run(t.Context(), json.RawMessage(`{"x":1}`)).Content)
}

func FuzzDecode(f *testing.F) {
	tool := tools.Define("sample", "", policy.Read, func(context.Context, sample) (tools.Result, error) { return tools.Result{Content: "ok"}, nil })
	for _, s := range []string{`{"path":"a"}`, `{"path":{}}`, `[`, `{"path":"a","path":1}`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if res := tool.Run(context.Background(), json.RawMessage(in)); res.Content == "" {
			t.Fatalf("%q gives no content", in)
		}
	})
}
