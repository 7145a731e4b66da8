package cassette_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/cassette"
)

const canary = "CANARY-KEY-123"

func post(t *testing.T, rt http.RoundTripper, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.test/v1/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

func TestRecordThenPlay(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Set-Cookie", "a="+canary)
		for _, part := range []string{"data: 1\n\n", "data: h\xc3", "\xa9\n\n", "data: CANARY-", "KEY-123 and sk-abcdefghijklmnop\n\n"}[:1+2*n] {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "rec.jsonl")
	rec, err := cassette.Create(path, srv.Client().Transport, canary)
	require.NoError(t, err)
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/chat/completions?key="+canary, strings.NewReader(`{"messages":[{"content":"`+canary+`"}]}`))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+canary)
		resp, err := rec.RoundTrip(req)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	require.NoError(t, rec.Close())
	_, err = cassette.Create(path, nil)
	require.Error(t, err, "a recording is not overwritten")

	p, err := cassette.Open(path, 0)
	require.NoError(t, err)
	got, err := post(t, p, "{}")
	require.NoError(t, err)
	require.Equal(t, "data: 1\n\ndata: h\xc3\xa9\n\n", got)
	got, err = post(t, p, "{}")
	require.NoError(t, err)
	require.Equal(t, "data: 1\n\ndata: h\xc3\xa9\n\ndata: [secret] and [secret]\n\n", got)
	_, err = post(t, p, `{"messages":[{"role":"user","content":"one more"}]}`)
	var missing *cassette.Missing
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "one more")
	require.True(t, missing.Permanent())
}

// C09: keys reach no cassette.
func TestC09NoSecretInCassette(t *testing.T) {
	var out bytes.Buffer
	rec := cassette.NewRecorder(echo{}, &out, canary)
	_, err := post(t, rec, `{"a":"`+canary+`","b":"AKIAABCDEFGHIJKLMNOP"}`)
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	require.NotContains(t, out.String(), canary)
	require.NotContains(t, out.String(), "AKIA")
	require.Contains(t, out.String(), "[secret]")
}

type echo struct{}

func (echo) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"X-Api-Key": {canary}}, Body: req.Body, Request: req}, nil
}

const steps = `
{"step":1,"when":{"tools":true},"response":{"body":"plan"}}
{"step":2,"when":{"tools":true,"last_contains":"rejected"},"goto":2,"response":{"body":"again"}}
{"step":2,"when":{"tools":true},"response":{"body":"done"}}
{"repeat":true,"when":{"tools":false},"response":{"body":"verdict"}}
`

func TestPlaySteps(t *testing.T) {
	lines, err := cassette.Read(strings.NewReader(steps))
	require.NoError(t, err)
	p := cassette.NewPlayer(lines, 0)
	say := func(tools, last string) string {
		got, err := post(t, p, `{"tools":[`+tools+`],"messages":[{"role":"user","content":"rejected before"},{"role":"assistant","content":"x"},{"role":"tool","content":"`+last+`"},{"role":"tool","content":"ok"}]}`)
		if err != nil {
			return err.Error()
		}
		return got
	}
	require.Equal(t, "plan", say("{}", "go"))
	require.Equal(t, "verdict", say("", "go"))
	require.Equal(t, "again", say("{}", "hunk 2 was rejected"))
	require.Equal(t, "again", say("{}", "rejected"))
	require.Equal(t, "done", say("{}", "fine"))
	require.Equal(t, "verdict", say("", ""))
	require.Contains(t, say("{}", "fine"), "its last step is played")
}

func TestPlayAtPaceAndCancel(t *testing.T) {
	lines, err := cassette.Read(strings.NewReader(`{"response":{"chunks":[{"ms":1000,"text":"a"},{"ms":3000,"text":"b"}]}}` + "\n" +
		`{"response":{"chunks":[{"ms":1000,"text":"a"},{"ms":3600000,"text":"b"}]}}`))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		p := cassette.NewPlayer(lines, 0.5)
		start := time.Now()
		got, err := post(t, p, "{}")
		require.NoError(t, err)
		require.Equal(t, "ab", got)
		require.Equal(t, 2*time.Second, time.Since(start))

		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x.test/", nil)
		require.NoError(t, err)
		resp, err := p.RoundTrip(req)
		require.NoError(t, err)
		time.AfterFunc(time.Minute, cancel)
		_, err = io.ReadAll(resp.Body)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, resp.Body.Close())
	})
}

func TestReadSaysWhichLine(t *testing.T) {
	_, err := cassette.Read(strings.NewReader("{}\n\nnope\n"))
	require.ErrorContains(t, err, "line 3")
	_, err = cassette.Read(strings.NewReader("\n"))
	require.ErrorContains(t, err, "empty")
}
