package web

import (
	"context"
	"html"
	"io"

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
