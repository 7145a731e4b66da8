package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(2, 64).Draw(t, "keep")
		chunks := rapid.SliceOf(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 40)).Draw(t, "chunks")
		var all []byte
		var live strings.Builder
		c := NewCapture(keep, func(_, text string) { live.WriteString(text) })
		for _, p := range chunks {
			all = append(all, p...)
			_, _ = c.Writer("stdout").Write(p)
		}
		var r Result
		c.Finish(&r)
		half := (keep + 1) / 2
		require.Equal(t, string(all), live.String())
		sum := sha256.Sum256(all)
		require.Equal(t, hex.EncodeToString(sum[:]), r.LogSHA256)
		if len(all) <= 2*half {
			require.Equal(t, string(all), r.Output)
			require.Zero(t, r.Dropped)
			return
		}
		require.EqualValues(t, len(all)-2*half, r.Dropped)
		require.True(t, strings.HasPrefix(r.Output, string(all[:half])+"\n…"))
		require.True(t, strings.HasSuffix(r.Output, "…\n"+string(all[len(all)-half:])))
	})
}

func TestCaptureStreamsWholeRunes(t *testing.T) {
	t.Parallel()
	text := "héllo wörld — 世界 🎉"
	var parts []string
	c := NewCapture(0, func(_, s string) { parts = append(parts, s) })
	for i := range len(text) {
		_, _ = c.Writer("stdout").Write([]byte{text[i]})
	}
	var r Result
	c.Finish(&r)
	require.Equal(t, text, strings.Join(parts, ""))
	require.Equal(t, text, r.Output)
	for _, p := range parts {
		require.True(t, utf8.ValidString(p), "%q", p)
	}
}

func TestCaptureDoesNotSplitRunesAtTheCut(t *testing.T) {
	t.Parallel()
	c := NewCapture(9, nil)
	_, _ = c.Writer("stdout").Write([]byte(strings.Repeat("世", 100)))
	var r Result
	c.Finish(&r)
	require.True(t, utf8.ValidString(r.Output), "%q", r.Output)
	require.EqualValues(t, 300-2*3, r.Dropped)
}

func TestR01CaptureStopsStreamingAFlood(t *testing.T) {
	t.Parallel()
	live := 0
	c := NewCapture(0, func(_, s string) { live += len(s) })
	block := []byte(strings.Repeat("y\n", 16<<10))
	for range 4000 {
		_, _ = c.Writer("stdout").Write(block)
	}
	var r Result
	c.Finish(&r)
	require.Less(t, live, streamLimit+200)
	require.Less(t, len(r.Output), DefaultKeep+200)
	require.EqualValues(t, 4000*len(block)-DefaultKeep, r.Dropped)
}
