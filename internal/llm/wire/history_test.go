package wire_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

func ours() llm.Origin { return llm.Origin{Provider: "p", Model: "m"} }

// conversations draws histories as they come out of cancelled, resumed and switched
// sessions: anything goes.
func conversations() *rapid.Generator[[]llm.Message] {
	id := rapid.SampledFrom([]string{"", "a", "b", "c", "functions.x:0"})
	origin := rapid.SampledFrom([]llm.Origin{ours(), {}, {Provider: "p", Model: "other"}})
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		o := origin.Draw(t, "origin")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return llm.Text{Text: rapid.SampledFrom([]string{"", " \n", "hi", "hi \n"}).Draw(t, "text")}
		case 1:
			return llm.Thinking{Text: "t", Signature: "sig", Origin: o}
		case 2:
			return llm.ToolUse{ID: id.Draw(t, "id"), Name: "n", Input: json.RawMessage("{}"), Signature: "sig", Origin: o}
		case 3:
			return llm.ToolResult{ToolUseID: id.Draw(t, "id"), Content: "r"}
		case 4:
			return llm.Opaque{Kind: "k", Data: json.RawMessage("{}"), Origin: o}
		default:
			return llm.Image{MediaType: "image/png", Data: []byte("x")}
		}
	})
	return rapid.Custom(func(t *rapid.T) []llm.Message {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		var out []llm.Message
		for range n {
			out = append(out, llm.Message{
				Role:   rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(t, "role"),
				Blocks: rapid.SliceOfN(block, 0, 4).Draw(t, "blocks"),
			})
		}
		return out
	})
}

// TestTidyHolds: whatever the history, the result has alternating roles beginning
// with the user, every call answered once and in order right after it, no empty
// text, nothing foreign, and tidying it again changes nothing.
func TestTidyHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := conversations().Draw(t, "messages")
		before := fmt.Sprint(msgs)
		out := wire.Tidy(msgs, wire.Keep(ours()))
		if fmt.Sprint(msgs) != before {
			t.Fatal("the input was changed")
		}
		for i, m := range out {
			want := llm.User
			if i%2 == 1 {
				want = llm.Assistant
			}
			if m.Role != want || len(m.Blocks) == 0 {
				t.Fatalf("message %d: role %s, %d blocks", i, m.Role, len(m.Blocks))
			}
			checkBlocks(t, m)
			if uses := llm.ToolUses(m); len(uses) > 0 {
				if i+1 == len(out) {
					t.Fatal("open calls at the end")
				}
				for j, use := range uses {
					r, ok := out[i+1].Blocks[j].(llm.ToolResult)
					if !ok || r.ToolUseID != use.ID {
						t.Fatalf("call %d of message %d has no result", j, i)
					}
				}
			}
		}
		if again := wire.Tidy(out, wire.Keep(ours())); fmt.Sprint(again) != fmt.Sprint(out) {
			t.Fatalf("not stable:\n%v\n%v", out, again)
		}
	})
}

func checkBlocks(t *rapid.T, m llm.Message) {
	results := 0
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) == "" {
				t.Fatal("empty text")
			}
		case llm.Thinking:
			if b.Origin != ours() || m.Role != llm.Assistant || i == len(m.Blocks)-1 {
				t.Fatal("thinking where it must not be")
			}
		case llm.Opaque:
			if b.Origin != ours() {
				t.Fatal("a foreign item")
			}
		case llm.ToolUse:
			if m.Role != llm.Assistant || b.Origin != ours() && b.Signature != "" {
				t.Fatal("a call with a foreign signature")
			}
		case llm.ToolResult:
			if m.Role != llm.User || i != results {
				t.Fatal("a result that is not at the start")
			}
			results++
		}
	}
}

// Ids are valid for the provider, the same for call and result, different for
// different calls, and a valid one stays as it is.
func TestIDs(t *testing.T) {
	valid := map[wire.Style]*regexp.Regexp{
		wire.AnyID:  regexp.MustCompile(`^.{1,64}$`),
		wire.WordID: regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`),
		wire.NineID: regexp.MustCompile(`^[A-Za-z0-9]{9}$`),
	}
	for style, re := range valid {
		ids := wire.NewIDs(style)
		seen := map[string]string{}
		for _, id := range []string{"call_1", "functions.read:0", "functions.read:1", "g6fVbXS8K", strings.Repeat("x", 65), strings.Repeat("x", 66), ""} {
			w := ids.Wire(id)
			require.Regexp(t, re, w)
			require.Equal(t, w, ids.Wire(id))
			require.NotContains(t, seen, w)
			seen[w] = id
			require.Equal(t, w, wire.NewIDs(style).Wire(id), "the same in every request")
			if re.MatchString(id) {
				require.Equal(t, id, w)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	k := wire.NewKeys([]llm.Message{{Blocks: llm.Blocks{llm.ToolUse{ID: "a"}, llm.ToolUse{ID: "made_3"}}}})
	require.Equal(t, "b", k.Take("b"))
	got := map[string]bool{"a": true, "made_3": true, "b": true}
	for _, id := range []string{"a", "a", "", "", "b"} {
		fresh := k.Take(id)
		require.False(t, got[fresh], fresh)
		require.True(t, wire.Made(fresh))
		got[fresh] = true
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 80)
	tools := []llm.ToolSpec{{Name: "read_file"}, {Name: "mcp__a__b"}, {Name: "a.b"}, {Name: "a/b"}, {Name: "0x"}, {Name: long}, {Name: long + "2"}, {Name: "é"}}
	n := wire.NewNames(tools)
	seen := map[string]bool{}
	for _, tool := range tools {
		w := n.Wire(tool.Name)
		require.Regexp(t, `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, w)
		require.False(t, seen[w])
		seen[w] = true
		require.Equal(t, tool.Name, n.Back(w))
	}
	require.Equal(t, "read_file", n.Wire("read_file"))
	require.Equal(t, "unknown", n.Back("unknown"))
}

func TestObject(t *testing.T) {
	tests := []struct {
		args string
		cut  bool
		want string
	}{
		{args: `{"a":1}`, want: `{"a":1}`},
		{args: ` {"a":1} `, want: `{"a":1}`},
		{args: ``, want: `{}`},
		{args: `null`, want: `{}`},
		{args: ``, cut: true},
		{args: `{"a":1}`, cut: true, want: `{"a":1}`},
		{args: `"{\"a\":1}"`, want: `{"a":1}`},
		{args: `"text"`},
		{args: `[1]`},
		{args: `{"a":`},
		{args: `{"n":12345678901234567890}`, want: `{"n":12345678901234567890}`},
	}
	for _, tt := range tests {
		got, ok := wire.Object([]byte(tt.args), tt.cut)
		require.Equal(t, tt.want != "", ok, tt.args)
		if ok {
			require.Equal(t, tt.want, string(got))
		}
	}
}
