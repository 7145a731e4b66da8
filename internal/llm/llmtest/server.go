package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Received is one request as it came over HTTP.
type Received struct {
	Method string
	Path   string // with its query
	Header http.Header
	Body   []byte
}

// Server is an HTTP server that plays one list of turns to whichever wire format
// asks: OpenAI chat completions and Responses, Anthropic Messages, Gemini, and
// Ollama's own chat. It also lists one model, "scripted", in each format.
type Server struct {
	script
	*httptest.Server
	t testing.TB

	rmu      sync.Mutex
	received []Received
}

// NewServer starts a server that ends with the test. Its URL is the endpoint for
// every adapter.
func NewServer(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s := &Server{script: script{turns: turns}, t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Always sets what answers before the turns do, and returns the server.
func (s *Server) Always(f Always) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = f
	return s
}

// Left is how many turns were not asked for.
func (s *Server) Left() int { return s.left() }

// Requests are all calls to a model so far, in order.
func (s *Server) Requests() []Received {
	s.rmu.Lock()
	defer s.rmu.Unlock()
	return append([]Received(nil), s.received...)
}

// writer renders a turn in one wire format.
type writer func(out *events, model string, t Turn)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	write := format(r.URL.Path)
	if write == nil {
		s.list(w, r)
		return
	}
	s.rmu.Lock()
	s.received = append(s.received, Received{r.Method, r.URL.RequestURI(), r.Header.Clone(), body})
	s.rmu.Unlock()
	a := askOfBody(r.URL.Path, body)
	t, err := s.take(a)
	if err != nil {
		s.t.Errorf("llmtest: %v", err)
		t = Turn{Status: http.StatusBadRequest, Body: `{"error":{"message":` + quote(err.Error()) + `}}`}
	}
	if t.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range t.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(t.Status)
		_, _ = io.WriteString(w, t.Body)
		return
	}
	out := &events{ctx: r.Context(), w: w, pause: t.Pause, lines: strings.HasSuffix(r.URL.Path, "/api/chat")}
	out.begin()
	if t.Raw != "" {
		out.raw(t.Raw)
		return
	}
	write(out, a.Model, t)
}

func format(path string) writer {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return writeChat
	case strings.HasSuffix(path, "/responses"):
		return writeResponses
	case strings.HasSuffix(path, "/messages"):
		return writeAnthropic
	case strings.Contains(path, ":streamGenerateContent"):
		return writeGemini
	case strings.HasSuffix(path, "/api/chat"):
		return writeOllama
	default:
		return nil
	}
}

// list answers the model lists.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/tags"):
		_, _ = io.WriteString(w, `{"models":[{"name":"scripted","model":"scripted"}]}`)
	case strings.HasSuffix(r.URL.Path, "/api/show"):
		_, _ = io.WriteString(w, `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"x","x.context_length":131072}}`)
	case strings.HasSuffix(r.URL.Path, "/api/ps"):
		_, _ = io.WriteString(w, `{"models":[]}`)
	case strings.HasSuffix(r.URL.Path, "/v1beta/models"):
		_, _ = io.WriteString(w, `{"models":[{"name":"models/scripted","inputTokenLimit":131072,"outputTokenLimit":8192,"supportedGenerationMethods":["generateContent"]}]}`)
	case strings.HasSuffix(r.URL.Path, "/models"):
		_, _ = io.WriteString(w, `{"data":[{"id":"scripted","context_length":131072}]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "404 page not found")
	}
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(data)
}

// askOfBody reads a request in any of the formats.
func askOfBody(path string, body []byte) Ask {
	a := Ask{Body: body}
	var doc struct {
		Model string `json:"model"`
		Tools []struct {
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
			Declarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Messages []map[string]any `json:"messages"`
		Contents []map[string]any `json:"contents"`
		Input    []map[string]any `json:"input"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return a
	}
	a.Model = doc.Model
	if _, rest, ok := strings.Cut(path, "/models/"); ok {
		a.Model, _, _ = strings.Cut(rest, ":")
	}
	for _, t := range doc.Tools {
		for _, name := range []string{t.Name, t.Function.Name} {
			if name != "" {
				a.Tools = append(a.Tools, name)
			}
		}
		for _, d := range t.Declarations {
			a.Tools = append(a.Tools, d.Name)
		}
	}
	var last []string
	list := append(append(doc.Messages, doc.Contents...), doc.Input...)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i]["role"] == "assistant" || list[i]["role"] == "model" || list[i]["type"] == "function_call" || list[i]["type"] == "reasoning" {
			break
		}
		last = append(collect(list[i], nil), last...)
	}
	a.Last = strings.Join(last, "\n")
	return a
}

// collect gathers what was said: texts, and the content of results.
func collect(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, e := range v {
			out = collect(e, out)
		}
	case map[string]any:
		for _, key := range []string{"text", "content", "parts", "functionResponse", "response", "result", "output", "error"} {
			out = collect(v[key], out)
		}
	}
	return out
}
