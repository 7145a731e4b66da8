package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// manyDeltas is a chat stream of about n bytes in small chunks.
func manyDeltas(n int) (body []byte, chunks [][]byte) {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		chunk := fmt.Sprintf(`{"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1777319950,"model":"some-model-name","choices":[{"index":0,"delta":{"content":" token%d"},"finish_reason":null}]}`, i)
		chunks = append(chunks, []byte(chunk))
		b.WriteString("data: " + chunk + "\n\n")
	}
	b.WriteString(chunkEnd + chunkDone)
	return b.Bytes(), chunks
}

// decodeAll is the measure: json.Unmarshal of the same chunks into plain structs.
func decodeAll(t testing.TB, chunks [][]byte) time.Duration {
	start := time.Now()
	var text strings.Builder
	for _, c := range chunks {
		var v struct {
			ID      string `json:"id"`
			Object  string `json:"object"`
			Created int64  `json:"created"`
			Model   string `json:"model"`
			Choices []struct {
				Index int `json:"index"`
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
				Finish *string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(c, &v); err != nil {
			t.Fatal(err)
		}
		text.WriteString(v.Choices[0].Delta.Content)
	}
	return time.Since(start)
}

func assembleAll(t testing.TB, body []byte) time.Duration {
	rt := &played{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: body, size: 32 << 10}
	p := adapter(t, fixture{Adapter: "openai"}, rt)
	start := time.Now()
	deltas := 0
	for d, err := range p.Stream(context.Background(), ask("m")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := d.(llm.TextDelta); ok {
			deltas++
		}
	}
	if deltas == 0 {
		t.Fatal("no deltas")
	}
	return time.Since(start)
}

// BenchmarkAssemble reads and assembles 100 MB of small deltas; x_json is its time
// as a multiple of json.Unmarshal over the same chunks (at most 1.3).
func BenchmarkAssemble(b *testing.B) {
	body, chunks := manyDeltas(100 << 20)
	b.SetBytes(int64(len(body)))
	var ours, theirs time.Duration
	for b.Loop() {
		ours += assembleAll(b, body)
		b.StopTimer()
		theirs += decodeAll(b, chunks)
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x_json")
}

// BenchmarkFirstDelta measures, over HTTP in this process, the time from the write
// of a delta to its arrival at the consumer; p99_us is to stay below 1000.
func BenchmarkFirstDelta(b *testing.B) {
	wrote := make(chan time.Time, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		wrote <- time.Now()
		send(w, chunkText)
		<-r.Context().Done()
	}))
	defer srv.Close()
	tr := wire.NewTransport()
	defer tr.CloseIdleConnections()
	p, err := openai.New(openai.Options{Options: wire.Options{Name: "bench", Endpoint: srv.URL, Transport: tr}})
	require.NoError(b, err)
	var took []time.Duration
	for b.Loop() {
		for _, err := range p.Stream(b.Context(), ask("m")) {
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(<-wrote))
			break
		}
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99_us")
}

// TestAssembleIsCheap holds the benchmark's bound loosely enough for a busy
// machine, so that a change that doubles the cost is seen in every run.
func TestAssembleIsCheap(t *testing.T) {
	body, chunks := manyDeltas(512 << 10)
	best := 100.0
	for range 5 {
		ours, theirs := assembleAll(t, body), decodeAll(t, chunks)
		best = min(best, float64(ours)/float64(theirs))
	}
	require.Less(t, best, 2.5, "assembling costs %.2f times json.Unmarshal", best)
}
