package sse_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sse"
)

type got struct {
	Name, Data, ID string
	Cut            bool
}

func all(t testing.TB, r *sse.Reader) ([]got, error) {
	t.Helper()
	var out []got
	for {
		ev, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, got{ev.Name, string(ev.Data), ev.ID, ev.Cut})
	}
}

func TestReaderGrammar(t *testing.T) {
	tests := []struct {
		name, in string
		want     []got
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []got{{Data: "a"}}},
		{"crlf", "event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []got{{Name: "e", Data: "a"}, {Data: "b"}}},
		{"cr", "event: e\rdata: a\r\rdata: b\r\r", []got{{Name: "e", Data: "a"}, {Data: "b"}}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []got{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []got{{Data: "a"}}},
		{"comments", ": hi\n\n:\ndata: a\n: mid\n\n", []got{{Data: "a"}}},
		{"no space", "data:a\n\n", []got{{Data: "a"}}},
		{"one space only", "data:  a\n\n", []got{{Data: " a"}}},
		{"several data lines", "data: a\ndata: b\ndata:\n\n", []got{{Data: "a\nb\n"}}},
		{"field without value", "data\n\n", []got{{Data: ""}}},
		{"event after data", "data: a\nevent: late\n\n", []got{{Name: "late", Data: "a"}}},
		{"event without data is dropped", "event: x\n\ndata: a\n\n", []got{{Data: "a"}}},
		{"id stays", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []got{{Data: "a", ID: "7"}, {Data: "b", ID: "7"}, {Data: "c"}}},
		{"id with NUL is ignored", "id: 7\x00\ndata: a\n\n", []got{{Data: "a"}}},
		{"unknown fields", "foo: bar\ndata: a\nbaz\n\n", []got{{Data: "a"}}},
		{"no last blank line", "data: a\n\ndata: b\n", []got{{Data: "a"}, {Data: "b", Cut: true}}},
		{"no last line end", "data: a\n\ndata: b", []got{{Data: "a"}, {Data: "b", Cut: true}}},
		{"cut in a field name", "data: a\n\nda", []got{{Data: "a"}}},
	}
	for _, tt := range tests {
		for size, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r },
			"bytes": iotest.OneByteReader,
			"half":  iotest.HalfReader,
			"eof":   iotest.DataErrReader,
		} {
			t.Run(tt.name+"/"+size, func(t *testing.T) {
				out, err := all(t, sse.NewReader(wrap(strings.NewReader(tt.in)), 0))
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, tt.want, out)
			})
		}
	}
}

func TestReaderRetryField(t *testing.T) {
	r := sse.NewReader(strings.NewReader("retry: 1500\nretry: -1\nretry: x\ndata: a\n\n"), 0)
	_, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, 1500*time.Millisecond, r.Retry())
}

// A line far beyond any scanner's default must arrive whole (R08: 20 MB line).
func TestR08LongLine(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	out, err := all(t, sse.NewReader(strings.NewReader("data: "+long+"\n\n"), 0))
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, out, 1)
	require.Len(t, out[0].Data, len(long))
}

func TestReaderLimits(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), neverEnding('a'))
	_, err := all(t, sse.NewReader(endless, 1<<20))
	require.ErrorIs(t, err, sse.ErrTooLong)

	lines := iotest.TimeoutReader(strings.NewReader(strings.Repeat("data: aaaaaaaa\n", 200)))
	_, err = all(t, sse.NewReader(io.MultiReader(strings.NewReader(strings.Repeat("data: aaaaaaaa\n", 200)), lines), 1000))
	require.ErrorIs(t, err, sse.ErrTooLong)
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestReaderKeepsReadError(t *testing.T) {
	boom := errors.New("reset")
	out, err := all(t, sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom)), 0))
	require.ErrorIs(t, err, boom)
	require.Equal(t, []got{{Data: "a"}, {Data: "b", Cut: true}}, out)
}

// An event must be handed on as soon as its blank line is there, even when the
// blank line is a lone CR: waiting for the next byte would hold back the last one.
func TestReaderDoesNotWaitPastTheBlankLine(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte("data: a" + end)) }()
		ev, err := sse.NewReader(pr, 0).Next()
		require.NoError(t, err)
		require.Equal(t, "a", string(ev.Data))
		require.NoError(t, pr.Close())
	}
}

// FuzzSSE is seeded with every recorded answer of the model adapters.
func FuzzSSE(f *testing.F) {
	recorded, err := filepath.Glob(filepath.Join("..", "llm", "testdata", "*", "*.sse"))
	require.NoError(f, err)
	require.NotEmpty(f, recorded)
	for _, path := range recorded {
		body, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(body, 7)
	}
	f.Add([]byte("data: a\n\n"), 1)
	f.Add([]byte("\xef\xbb\xbfevent: e\r\ndata: a\rdata: b\n\r\n: c\ndata"), 3)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		whole, wholeErr := all(t, sse.NewReader(bytes.NewReader(in), 1<<16))
		parts, partsErr := all(t, sse.NewReader(&pieces{in, 1 + (size&0xff)%17}, 1<<16))
		require.Equal(t, whole, parts)
		require.Equal(t, errors.Is(wholeErr, io.EOF), errors.Is(partsErr, io.EOF))
		for _, ev := range whole {
			require.LessOrEqual(t, len(ev.Data), len(in))
		}
	})
}

// pieces hands out at most n bytes a call.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
