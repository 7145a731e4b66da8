package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInlineCode: a model's one-line text may name code; markup stays text.
func TestInlineCode(t *testing.T) {
	for in, want := range map[string]string{
		"how should `notes search` end?": "how should <code>notes search</code> end?",
		"a `b` and `c`":                  "a <code>b</code> and <code>c</code>",
		"one ` alone":                    "one ` alone",
		"``":                             "``",
		"`<img src=x>` <b>":              "<code>&lt;img src=x&gt;</code> &lt;b&gt;",
		"`two\nlines`":                   "`two\nlines`",
	} {
		var out strings.Builder
		require.NoError(t, inline(in).Render(t.Context(), &out))
		require.Equal(t, want, out.String())
	}
}
