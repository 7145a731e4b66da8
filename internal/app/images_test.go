package app_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// pixel is the smallest picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (x *machine) picture(name string) {
	x.t.Helper()
	data, err := base64.StdEncoding.DecodeString(pixel)
	require.NoError(x.t, err)
	require.NoError(x.t, os.WriteFile(filepath.Join(x.ws, name), data, 0o644))
}

// A picture that a request names goes to the model in every wire format.
func TestPicturesInRequests(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			server := llmtest.NewServer(t, llmtest.Say("a pixel"))
			if w.kind == "ollama" {
				w.extra = "images = true\n"
			}
			x := at(t, w, server.URL)
			x.picture("shot.png")
			x.picture("my shot.PNG")
			require.Zero(t, x.run("ask", `what is in @shot.png and @"my shot.PNG"?`), x)
			require.Equal(t, 2, strings.Count(string(server.Requests()[0].Body), pixel), x)
		})
	}
}

// A model that is known to take no pictures is not sent one: the refusal says why.
func TestPicturesRefused(t *testing.T) {
	server := llmtest.NewServer(t)
	x := at(t, way{kind: "compatible", extra: "images = false\n", keyVar: "CODERRR_API_KEY"}, server.URL)
	x.picture("shot.png")
	require.Equal(t, 1, x.run("ask", "what is in @shot.png?"), x)
	require.Contains(t, x.err.String()+x.out.String(), "refused: compatible: unsupported: the model scripted does not take images")
	require.Empty(t, server.Requests())
}

// What is no picture, is too far away or is not there is told and left out.
func TestPicturesThatCannotBeUsed(t *testing.T) {
	server := llmtest.NewServer(t, llmtest.Say("no picture"))
	x := at(t, ways()[6], server.URL)
	require.NoError(t, os.WriteFile(filepath.Join(x.ws, "text.png"), []byte("not a picture"), 0o644))
	require.Zero(t, x.run("ask", "see @text.png @../out.png @none.png and me@example.png"), x)
	require.NotContains(t, string(server.Requests()[0].Body), "image_url")
	var told []string
	for _, e := range x.log() {
		if n, ok := e.Data.(event.Notice); ok && n.Kind == "model" {
			told = append(told, n.Text)
		}
	}
	require.Len(t, told, 3)
}
