// Package openai speaks OpenAI's chat completions and Responses APIs, and chat
// completions as every compatible server speaks it. Its one rule: no call is
// handed on unless all of its arguments arrived.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// API is one of the two OpenAI protocols.
type API string

// The protocols. Auto takes Responses for OpenAI's own reasoning models.
const (
	Auto      API = ""
	Chat      API = "chat"
	Responses API = "responses"
)

// Options configure New.
type Options struct {
	wire.Options
	Dialect Dialect
	API     API
}

// Provider is an llm.Provider and llm.Lister. It is safe for concurrent use.
type Provider struct {
	c       *wire.Client
	d       Dialect
	api     API
	key     string
	version string // path of the version, "/v1" unless the endpoint says otherwise
	lookup  func(string) (llm.ModelInfo, bool)
	quirks  wire.Quirks
	sent    encoded
}

// New returns a provider for one endpoint. The endpoint may end in /v1 or not; one
// that ends in another version (/v4, /v1beta/openai) is taken as it is.
func New(o Options) (*Provider, error) {
	times := wire.CloudTimeouts()
	if o.Dialect.Local {
		times = wire.LocalTimeouts()
	}
	c, err := wire.NewClient(o.Options, o.Dialect.Base, times, "/chat/completions", "/v1")
	if err != nil {
		return nil, err
	}
	if c.Local() {
		// Even a plain compatible server may have to load its model first.
		if c, err = wire.NewClient(o.Options, o.Dialect.Base, wire.LocalTimeouts(), "/chat/completions", "/v1"); err != nil {
			return nil, err
		}
	}
	p := &Provider{c: c, d: o.Dialect, api: o.API, key: o.Key, version: "/v1", lookup: o.Lookup}
	if versioned(c.Path()) {
		p.version = ""
	}
	return p, nil
}

// versioned reports whether a path names a version other than /v1 already.
func versioned(path string) bool {
	for _, part := range strings.Split(path, "/") {
		if len(part) > 1 && part[0] == 'v' && part[1] >= '1' && part[1] <= '9' {
			return true
		}
	}
	return false
}

// Name is the configured name of the provider.
func (p *Provider) Name() string { return p.c.Name }

// Stream makes one call. What the server refuses and is not needed is left out,
// remembered, and the call is made again.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		err := wire.Repeat(ctx, yield,
			func(emit wire.Emit) error { return p.once(ctx, req, emit) },
			func(e *llm.Error) string { return p.repair(req, e) })
		if err != nil {
			yield(nil, err)
		}
	}
}

func (p *Provider) once(ctx context.Context, req llm.Request, emit wire.Emit) error {
	if p.responses(req.Model) {
		body, err := p.buildResponses(req)
		if err != nil {
			return err
		}
		return p.c.Run(ctx, wire.Call{Path: p.version + "/responses", Header: p.auth(), Body: body, Model: req.Model}, p.newResponse(req), emit)
	}
	body, err := p.buildChat(req)
	if err != nil {
		return err
	}
	return p.c.Run(ctx, wire.Call{Path: p.version + "/chat/completions", Header: p.auth(), Body: body, Model: req.Model}, p.newChat(req), emit)
}

func (p *Provider) auth() http.Header {
	h := http.Header{}
	if p.key == "" {
		return h
	}
	if p.d.KeyHeader != "" {
		h.Set(p.d.KeyHeader, p.key)
		return h
	}
	h.Set("Authorization", "Bearer "+p.key)
	return h
}

func (p *Provider) origin(model string) llm.Origin {
	own := ""
	if u, err := url.Parse(p.d.Base); err == nil {
		own = u.Host
	}
	return p.c.Origin(model, own)
}

func (p *Provider) info(model string) llm.ModelInfo {
	if p.lookup != nil {
		if info, ok := p.lookup(model); ok {
			return info
		}
	}
	return llm.ModelInfo{ID: model}
}

// Models lists what the server offers, with the context sizes it tells.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Name    string `json:"name"`
			Context int64  `json:"context_length"`
			MaxLen  int64  `json:"max_model_len"`
			Window  int64  `json:"context_window"`
			Meta    struct {
				Train int64 `json:"n_ctx_train"`
				Ctx   int64 `json:"n_ctx"`
			} `json:"meta"`
			Params  []string          `json:"supported_parameters"`
			Pricing map[string]string `json:"pricing"`
		} `json:"data"`
	}
	if err := p.checkKey(ctx); err != nil {
		return nil, err
	}
	if err := p.c.Get(ctx, wire.Call{Path: p.version + "/models", Header: p.auth()}, &list); err != nil {
		return nil, err
	}
	out := make([]llm.ModelInfo, 0, len(list.Data))
	for _, m := range list.Data {
		info := p.info(m.ID)
		info.ID = m.ID
		if info.Name == "" {
			info.Name = m.Name
		}
		for _, n := range []int64{m.Context, m.MaxLen, m.Window, m.Meta.Ctx, m.Meta.Train} {
			if n > 0 {
				info.ContextTokens = n
				break
			}
		}
		if p.d.Name == "openrouter" {
			info.Prices = perToken(m.Pricing, info.Prices)
		}
		info.Tools = info.Tools || slices.Contains(m.Params, "tools")
		out = append(out, info)
	}
	return out, nil
}

// checkKey asks OpenRouter what it thinks of the key: its list of models is for
// everybody and accepts any.
func (p *Provider) checkKey(ctx context.Context) error {
	if p.d.Name != "openrouter" || p.key == "" {
		return nil
	}
	var about struct{}
	err := p.c.Get(ctx, wire.Call{Path: p.version + "/key", Header: p.auth()}, &about)
	var e *llm.Error
	if errors.As(err, &e) && e.Kind == llm.KindAuth {
		return err
	}
	return nil // a gateway may not have this path
}

// perToken reads OpenRouter's prices, dollars for one token as text; known is
// returned where they cannot be read, or depend on more than tokens.
func perToken(text map[string]string, known *llm.Prices) *llm.Prices {
	read := func(key string, otherwise float64) float64 {
		n, err := strconv.ParseFloat(text[key], 64)
		if err != nil || n < 0 {
			return otherwise
		}
		return n * 1e6
	}
	in, out := read("prompt", -1), read("completion", -1)
	if in < 0 || out < 0 || read("request", 0) > 0 {
		return known
	}
	return &llm.Prices{Input: in, Output: out, CacheRead: read("input_cache_read", in), CacheWrite: read("input_cache_write", in)}
}
