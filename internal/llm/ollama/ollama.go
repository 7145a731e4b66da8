// Package ollama speaks Ollama's own chat endpoint. Its one rule: the context size
// is always said, because Ollama's default is small and it cuts a longer prompt
// without a word; its OpenAI-compatible path cannot set it.
package ollama

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

const (
	base = "http://localhost:11434"
	host = "localhost:11434"
)

// Context sizes in tokens.
const (
	// usualWindow is asked for when nothing else is known: enough for an agent,
	// and what most machines can hold.
	usualWindow = 65_536
	// leastWindow is the size below which a loaded model is loaded anew.
	leastWindow = 32_768
)

// Options configure New.
type Options struct {
	wire.Options
	// NumCtx is the context size in tokens; 0 chooses by what the model can do.
	NumCtx int
	// KeepAlive is how long the model stays loaded ("30m"); "" is 30 minutes.
	KeepAlive string
	// Fallback answers when the server has no /api/chat, only /v1; it may be nil.
	Fallback llm.Provider
}

// Provider is an llm.Provider and llm.Lister. It is safe for concurrent use.
type Provider struct {
	c      *wire.Client
	o      Options
	quirks wire.Quirks

	mu      sync.Mutex
	shown   map[string]Model
	windows map[string]int
	noChat  bool
}

// New returns a provider. The endpoint may end in /v1 or /api or not.
func New(o Options) (*Provider, error) {
	c, err := wire.NewClient(o.Options, base, wire.LocalTimeouts(), "/v1", "/api")
	if err != nil {
		return nil, err
	}
	if o.KeepAlive == "" {
		o.KeepAlive = "30m"
	}
	return &Provider{c: c, o: o, shown: map[string]Model{}, windows: map[string]int{}}, nil
}

// Name is the configured name of the provider.
func (p *Provider) Name() string { return p.c.Name }

// Stream makes one call. What the server refuses and is not needed is left out,
// remembered, and the call is made again.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if p.fallsBack() {
			p.o.Fallback.Stream(ctx, req)(yield)
			return
		}
		err := wire.Repeat(ctx, yield,
			func(emit wire.Emit) error { return p.once(ctx, req, emit) },
			func(e *llm.Error) string { return p.repair(req, e) })
		switch {
		case err == nil:
		case p.missing(err):
			p.o.Fallback.Stream(ctx, req)(yield)
		default:
			yield(nil, err)
		}
	}
}

func (p *Provider) fallsBack() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noChat && p.o.Fallback != nil
}

// missing notes that the server has no chat endpoint of Ollama's; it reports
// whether the fallback can take over.
func (p *Provider) missing(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusNotFound || e.Kind != llm.KindBadResponse {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noChat = true
	return p.o.Fallback != nil
}

// Native reports whether the server has Ollama's own API. Where it has not, the
// context size cannot be set and a long prompt is cut in silence: people are to be
// warned.
func (p *Provider) Native(ctx context.Context) bool {
	var v struct {
		Version string `json:"version"`
	}
	return p.c.Get(ctx, wire.Call{Path: "/api/version", Header: p.auth()}, &v) == nil && v.Version != ""
}

func (p *Provider) once(ctx context.Context, req llm.Request, emit wire.Emit) error {
	window, err := p.Window(ctx, req.Model)
	if err != nil {
		return err
	}
	if size := llm.EstimateTokens(req); window > 0 && size > int64(window) {
		return &llm.Error{
			Provider: p.c.Name, Model: req.Model, Kind: llm.KindContextLength, Tokens: size, Limit: int64(window),
			Message: "the prompt is longer than the context the model is loaded with",
		}
	}
	body, err := p.build(ctx, req, window)
	if err != nil {
		return err
	}
	call := wire.Call{Path: "/api/chat", Header: p.auth(), Body: body, Model: req.Model, Accept: "application/x-ndjson", Lines: true}
	return p.hint(p.c.Run(ctx, call, p.newAnswer(req), emit))
}

// hint adds the remedy to a missing model.
func (p *Provider) hint(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && e.Kind == llm.KindModelNotFound && !strings.Contains(e.Message, "ollama pull") {
		e.Message = strings.TrimSuffix(e.Message, ", try pulling it first") + "; get it with: ollama pull " + e.Model
	}
	return err
}

func (p *Provider) auth() http.Header {
	h := http.Header{}
	if p.o.Key != "" {
		h.Set("Authorization", "Bearer "+p.o.Key)
	}
	return h
}

func (p *Provider) origin(model string) llm.Origin { return p.c.Origin(model, host) }

// repair finds what to leave out after a refusal; "" means nothing to try.
func (p *Provider) repair(req llm.Request, e *llm.Error) string {
	if e.Kind != llm.KindUnsupported && e.Kind != llm.KindBadRequest {
		return ""
	}
	low := strings.ToLower(e.Message)
	if strings.Contains(low, "think") && p.quirks.Add(req.Model, dropThink) {
		return "thinking was refused; it is left out"
	}
	return ""
}
