package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func squeezed(t testing.TB, in string, l limits) document {
	t.Helper()
	d, err := readDocument(strings.NewReader(in), l)
	require.NoError(t, err)
	one, err := readDocument(iotest.OneByteReader(strings.NewReader(in)), l)
	require.NoError(t, err)
	require.Equal(t, d, one, "how the bytes were cut must not matter")
	return d
}

func TestSqueeze(t *testing.T) {
	l := limits{text: 16, total: 200, depth: 5}
	for in, want := range map[string]string{
		`{"id":1,"result":{"a":"short"}}`:                                         `{"id":1,"result":{"a":"short"}}`,
		`{"result":{"a":"` + strings.Repeat("x", 30) + `"},"id":1}`:               `{"result":{"a":"xxxxxxxxxxxxxxxx"},"id":1}`,
		`{"result":{"a":"` + strings.Repeat(`\u00e4`, 9) + `"},"id":1}`:           `{"result":{"a":"\u00e4\u00e4"},"id":1}`,
		`{"result":{"a":"` + strings.Repeat(`x`, 14) + `\"tail"},"id":1}`:         `{"result":{"a":"xxxxxxxxxxxxxx"},"id":1}`,
		`{"result":[` + strings.Repeat(`1,`, 200) + `1],"id":7}`:                  `{"result":null,"id":7}`,
		`{"id":7,"result":[[[[[[[[1]]]]]]]],"x":{"y":2}}`:                         `{"id":7,"result":null,"x":{"y":2}}`,
		`[{"id":7,"result":[[[[[[[[1]]]]]]]]},{"id":8,"result":"ok"}]`:            `[{"id":7,"result":null},{"id":8,"result":"ok"}]`,
		`{"error":{"message":"` + strings.Repeat("y", 20) + `","code":1},"id":1}`: `{"error":{"message":"yyyyyyyyyyyyyyyy","code":1},"id":1}`,
	} {
		require.Equal(t, want, string(squeezed(t, in, l).data), in)
	}
	d := squeezed(t, `{`+strings.Repeat(`"a":1,`, 100)+`"b":1}`, l)
	require.True(t, d.tooBig)
	require.Empty(t, d.data)
	d = squeezed(t, strings.Repeat("log ", 5000), l)
	require.Len(t, d.data, maxNoise)
}

func FuzzSqueeze(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `[1,{"x":[[[[]]]]}]`, `{"a":"\u12`, `{"a":"\\"}`, "\xef\xbb\xbf{}", `{"a"::}`, `}}}]`, `{"a":{"b":"` + strings.Repeat("z", 50) + `"}}`} {
		f.Add(s, 8)
	}
	f.Fuzz(func(t *testing.T, in string, chunk int) {
		l := limits{text: 12, total: 64, depth: 4}
		whole, err := readDocument(strings.NewReader(in), l)
		require.NoError(t, err)
		require.LessOrEqual(t, len(whole.data), max(l.total+2*l.text+16, maxNoise)+len(in)/2, "what is kept is bounded")
		small, err := readDocument(&chunked{in: in, size: max(1, chunk%7)}, l)
		require.NoError(t, err)
		require.Equal(t, string(whole.data), string(small.data))
		require.Equal(t, whole.tooBig, small.tooBig)
		if json.Valid([]byte(in)) && len(in) > 0 && strings.TrimSpace(in)[0] == '{' && !(whole.tooBig && len(whole.data) == 0) {
			require.True(t, json.Valid(whole.data), "%q became %q", in, whole.data)
		}
		_, _ = parse(whole)
	})
}

type chunked struct {
	in   string
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.in == "" {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(c.size, len(c.in))])
	c.in = c.in[n:]
	return n, nil
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"x"}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		list, err := parse(document{data: in})
		if err == nil {
			for _, m := range list {
				require.NotEqual(t, garbage, m.kind())
			}
		}
		_, _ = headerParams(in)
		_, _, _ = readLine(bufio.NewReader(bytes.NewReader(in)), limits{text: 8, total: 32, depth: 3})
	})
}
