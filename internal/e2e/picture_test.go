package e2e

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pixel is the smallest picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestPasteAndDropPictures: a picture that is pasted or dropped is named in the
// message, and sent with it; what is no picture, or too large, is refused in words.
func TestPasteAndDropPictures(t *testing.T) {
	hold, sent := make(chan struct{}), make(chan string, 10)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[{"id":"first"}]}`))
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(provider.Close)
	t.Cleanup(func() { close(hold) })
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"first\"\nendpoint = \""+provider.URL+"/v1\"\nimages = true\n[sandbox]\ntier = \"scratch\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	box := p.the("textbox", "Request")
	box.click()
	p.write("What is wrong here?")
	give := func(event, name, data string) {
		eval[any](p, `{
  const bytes = Uint8Array.from(atob("`+data+`"), (c) => c.charCodeAt(0)), from = new DataTransfer();
  from.items.add(new File([bytes], "`+name+`"));
  const to = document.getElementById("request"), o = { bubbles: true, cancelable: true };
  to.dispatchEvent("`+event+`" === "paste" ? new ClipboardEvent("paste", { ...o, clipboardData: from }) : new DragEvent("drop", { ...o, dataTransfer: from }));
}`)
	}
	give("paste", "text.png", base64.StdEncoding.EncodeToString([]byte("no picture")))
	p.wait("a refusal", func() bool {
		return strings.Contains(p.the("alert", "").text(), "is not a PNG, JPEG, GIF or WebP picture")
	})
	give("drop", "huge.png", base64.StdEncoding.EncodeToString(make([]byte, 6<<20)))
	p.wait("a limit", func() bool {
		return strings.Contains(p.the("alert", "").text(), "huge.png is too large: 6.0 MB, at most 5 MB.")
	})
	require.Equal(t, "What is wrong here?", box.value())

	give("paste", "shot.png", pixel)
	p.wait("its name", func() bool {
		return strings.HasPrefix(box.value(), "What is wrong here? @.coderrr/session/pictures/")
	})
	give("drop", "again.png", pixel)
	p.wait("two names", func() bool { return strings.Count(box.value(), "@.coderrr/session/pictures/") == 2 })
	p.inspect("pictures")
	kept, err := filepath.Glob(filepath.Join(s.work, ".coderrr/session/pictures/*.png"))
	require.NoError(t, err)
	require.Len(t, kept, 1, "the same picture is kept once")
	info, err := os.Stat(kept[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	p.press("Enter")
	p.waitStatus("Planning")
	require.Equal(t, 2, strings.Count(<-sent, pixel))
	p.the("button", "Stop").click()
	p.waitStatus("Stopped")
}
