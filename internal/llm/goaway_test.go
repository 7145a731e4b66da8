package llm_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// An HTTP/2 server that goes away in the middle of an answer: one that lets the
// stream finish gives the answer, one that gives it up a broken answer that can be
// repeated.
func TestGoAway(t *testing.T) {
	tests := []struct {
		name string
		last uint32 // the last stream that the server still serves
		rest string
		kind llm.Kind
	}{
		{name: "stream finishes", last: 1, rest: chunkEnd + chunkDone},
		{name: "stream given up", last: 0, kind: llm.KindTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cert := httptest.NewTLSServer(nil)
			defer cert.Close()
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}})
			require.NoError(t, err)
			served := make(chan error, 1)
			go func() { served <- goAway(l, tt.last, tt.rest) }()
			tr := wire.NewTransport()
			tr.TLSClientConfig = cert.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			defer leaks(t)()
			defer tr.CloseIdleConnections()
			start := time.Now()
			out := run(t.Context(), client(t, "https://"+l.Addr().String(), tr, 1, 20*time.Second), ask("m"))
			require.Less(t, time.Since(start), 10*time.Second)
			if tt.kind == "" {
				require.NoError(t, out.err)
				require.Equal(t, "Hello", llm.TextOf(out.done.Message))
			} else {
				var e *llm.Error
				require.ErrorAs(t, out.err, &e)
				require.Equal(t, tt.kind, e.Kind, e.Error())
				require.Equal(t, "Hello", llm.TextOf(e.Partial))
			}
			tr.CloseIdleConnections()
			require.NoError(t, l.Close())
			require.NoError(t, <-served)
		})
	}
}

// goAway serves one stream: headers, a piece of text, GOAWAY, and the rest.
func goAway(l net.Listener, last uint32, rest string) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return err
	}
	fr := http2.NewFramer(conn, conn)
	if err := fr.WriteSettings(); err != nil {
		return err
	}
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return nil // the client left
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			if err := answerThenLeave(fr, h.StreamID, last, rest); err != nil {
				return err
			}
		}
	}
}

func answerThenLeave(fr *http2.Framer, id, last uint32, rest string) error {
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	for _, h := range [][2]string{{":status", "200"}, {"content-type", "text/event-stream"}} {
		if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return err
		}
	}
	if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}); err != nil {
		return err
	}
	if err := fr.WriteData(id, false, []byte(chunkText)); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // the text must be read before the stream dies
	code := http2.ErrCodeNo
	if rest == "" {
		code = http2.ErrCodeInternal
	}
	if err := fr.WriteGoAway(last, code, nil); err != nil {
		return err
	}
	if rest == "" {
		return nil
	}
	return fr.WriteData(id, true, []byte(rest))
}
