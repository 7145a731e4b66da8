package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSetBytesKeepsEveryOtherByte(t *testing.T) {
	for _, tt := range []struct {
		name, in, key, value, want string
	}{
		{"empty file", "", "provider.model", "m", "[provider]\nmodel = \"m\"\n"},
		{"replace, comment kept", "# top\n[provider]\nmodel = \"old\"   # mine\nname='x' \n", "provider.model", "new", "# top\n[provider]\nmodel = \"new\"   # mine\nname='x' \n"},
		{"add to table", "[provider]\nname = \"a\" # c\n\n# about ui\n[ui]\nstream = true\n", "provider.model", "m", "[provider]\nname = \"a\" # c\nmodel = \"m\"\n\n# about ui\n[ui]\nstream = true\n"},
		{"add to an empty table", "[provider]\n[ui]\n", "provider.model", "m", "[provider]\nmodel = \"m\"\n[ui]\n"},
		{"new table", "[ui]\nstream = true", "provider.model", "m", "[ui]\nstream = true\n\n[provider]\nmodel = \"m\"\n"},
		{"inline", "provider = { name = \"a\" } # x\n", "provider.model", "m", "provider = { name = \"a\", model = \"m\" } # x\n"},
		{"inline, replaced", "provider = { name = \"a\", model = \"o\" }\n", "provider.name", "b", "provider = { name = \"b\", model = \"o\" }\n"},
		{"empty inline", "provider = {}\n", "provider.model", "m", "provider = { model = \"m\" }\n"},
		{"dotted", "provider.name = \"a\"\n[ui]\nstream = true\n", "provider.model", "m", "provider.name = \"a\"\nprovider.model = \"m\"\n[ui]\nstream = true\n"},
		{"dotted in a table", "[providers]\nwork.name = \"openai\"\n", "providers.work.model", "m", "[providers]\nwork.name = \"openai\"\nwork.model = \"m\"\n"},
		{"only a sub-table", "[providers.work.headers]\nA = \"1\"\n", "providers.work.model", "m", "[providers.work.headers]\nA = \"1\"\n\n[providers.work]\nmodel = \"m\"\n"},
		{"carriage returns", "[provider]\r\nname = \"a\"\r\n", "provider.model", "m", "[provider]\r\nname = \"a\"\r\nmodel = \"m\"\r\n"},
		{"byte order mark", "\ufeff[provider]\nmodel = \"o\"\n", "provider.model", "m", "\ufeff[provider]\nmodel = \"m\"\n"},
		{"no newline at the end", "[provider]\nname = \"a\"", "provider.model", "m", "[provider]\nname = \"a\"\nmodel = \"m\""},
		{"multi-line value", "[provider]\nmodel = \"\"\"\na\nb\"\"\" # c\nname = \"a\"\n", "provider.model", "m", "[provider]\nmodel = \"m\" # c\nname = \"a\"\n"},
		{"name with a dot", "[mcp.servers.\"a.b\"]\nurl = \"http://x/\"\n", `mcp.servers."a.b".url`, "http://y/", "[mcp.servers.\"a.b\"]\nurl = \"http://y/\"\n"},
		{"unknown keys stay", "[future]\nx = [1, 2]\n[[future.list]]\ny = 1\n", "provider.model", "m", "[future]\nx = [1, 2]\n[[future.list]]\ny = 1\n\n[provider]\nmodel = \"m\"\n"},
		{"special characters", "", "provider.model", "a\"b\\c\n\x01é", "[provider]\nmodel = \"a\\\"b\\\\c\\n\\u0001é\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, err := SplitKey(tt.key)
			require.NoError(t, err)
			got, err := setBytes([]byte(tt.in), path, tt.value)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

func TestSetBytesRefuses(t *testing.T) {
	_, err := setBytes([]byte("provider = 3\n"), []string{"provider", "model"}, "m")
	require.Error(t, err)
	_, err = setBytes(nil, []string{"x"}, "m")
	require.ErrorContains(t, err, "a table and a name")
	_, err = setBytes([]byte("[[provider]]\nx = 1\n"), []string{"provider", "model"}, "m")
	require.Error(t, err)
}

func TestUnsetBytes(t *testing.T) {
	for _, tt := range []struct{ name, in, key, want string }{
		{"line", "[ui]\n# keep\nstream = true # gone\nshow_usage = false\n", "ui.stream", "[ui]\n# keep\nshow_usage = false\n"},
		{"table", "[ui]\nstream = true\n# about\n[providers.a]\nname = \"openai\"\n[providers.a.headers]\nx = \"1\"\n[agent]\nmax_iter = 3\n", "providers.a", "[ui]\nstream = true\n# about\n[agent]\nmax_iter = 3\n"},
		{"inline first", "provider = { name = \"a\", model = \"m\" }\n", "provider.name", "provider = { model = \"m\" }\n"},
		{"inline last", "provider = { name = \"a\", model = \"m\" }\n", "provider.model", "provider = { name = \"a\" }\n"},
		{"inline only", "provider = { name = \"a\" }\n", "provider.name", "provider = {  }\n"},
		{"whole inline", "provider = { name = \"a\" }\n[ui]\n", "provider", "[ui]\n"},
		{"multi-line list", "[sandbox]\nenv = [\n \"A\", # a\n]\ntier = \"auto\"\n", "sandbox.env", "[sandbox]\ntier = \"auto\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, err := SplitKey(tt.key)
			require.NoError(t, err)
			got, err := unsetBytes([]byte(tt.in), path)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
	_, err := unsetBytes([]byte("[ui]\n"), []string{"ui", "stream"})
	require.ErrorIs(t, err, errAbsent)
}

// Any key set in any of these layouts is what is read back, and everything else
// is as before (setBytes checks that itself; here it must also succeed).
func TestSetBytesAlwaysFits(t *testing.T) {
	layouts := []string{
		"", "# only a comment", "[provider]\n", "[provider]\nname = \"a\"", "provider.name = \"a\"\n",
		"provider = { name = \"a\" }\n[ui]\nstream = true\n", "[a]\nb = { c = [1, { d = 2 }] }\n[[x]]\ny = 1\n[x.z]\nq = 1\n",
		"[mcp]\nservers.one.url = \"http://h/\"\n", "[mcp.servers.one]\nurl = \"http://h/\" # x\n\n\n# end\n", "\r\n[ui]\r\nstream = false\r\n",
	}
	keys := []string{"provider.model", "provider.name", "ui.stream2", "mcp.servers.one.url", "mcp.servers.two.url", "a.b.e", "agent.note"}
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(rapid.SampledFrom(layouts).Draw(t, "layout"))
		want := map[string]string{}
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			value := rapid.String().Draw(t, "value")
			value = strings.ToValidUTF8(value, "")
			out, err := setBytes(data, strings.Split(key, "."), value)
			if err != nil {
				t.Fatalf("set %s in %q: %v", key, data, err)
			}
			data, want[key] = out, value
		}
		var m map[string]any
		if err := toml.Unmarshal(data, &m); err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		for key, value := range want {
			var v any = m
			for _, p := range strings.Split(key, ".") {
				v = v.(map[string]any)[p]
			}
			if v != value {
				t.Fatalf("%s = %q, want %q", key, v, value)
			}
			out, err := unsetBytes(data, strings.Split(key, "."))
			if err != nil {
				t.Fatalf("unset %s in %q: %v", key, data, err)
			}
			data = out
		}
	})
}

func FuzzSetBytes(f *testing.F) {
	f.Add([]byte("[provider]\nname = \"a\"\n"), "m")
	f.Add([]byte("provider = { x = 1 }\n"), "m\"")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		value = strings.ToValidUTF8(value, "?")
		out, err := setBytes(data, []string{"provider", "model"}, value)
		if err != nil {
			return
		}
		var m map[string]map[string]any
		var loose map[string]any
		if err := toml.Unmarshal(withoutBOM(out), &loose); err != nil {
			t.Fatal(err)
		}
		if table, ok := loose["provider"].(map[string]any); !ok || fmt.Sprint(table["model"]) != value {
			t.Fatalf("%q is not in %q (%v)", value, out, m)
		}
	})
}
