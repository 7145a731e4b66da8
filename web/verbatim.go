package web

import (
	"context"
	"html"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// verbatim writes the content of a textarea byte for byte: HTML drops one line
// feed at its start, so one is put there.
func verbatim(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "\n"+html.EscapeString(s))
		return err
	})
}

// inline writes one line of a model's text: what stands between backticks as
// code, everything else as it is.
func inline(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var out strings.Builder
		rest := show(s)
		for {
			before, after, ok := strings.Cut(rest, "`")
			code, tail, closed := strings.Cut(after, "`")
			if !ok || !closed || code == "" || strings.Contains(code, "\n") {
				out.WriteString(html.EscapeString(rest))
				break
			}
			out.WriteString(html.EscapeString(before) + "<code>" + html.EscapeString(code) + "</code>")
			rest = tail
		}
		_, err := io.WriteString(w, out.String())
		return err
	})
}
