// Package anthropic speaks the Anthropic Messages API, at Anthropic and at the
// gateways that copy it. Its one rule: thinking goes back byte for byte, and only
// to the model that made it.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

const (
	base    = "https://api.anthropic.com"
	host    = "api.anthropic.com"
	version = "2023-06-01"
)

// Provider is an llm.Provider and llm.Lister. It is safe for concurrent use.
type Provider struct {
	c      *wire.Client
	key    string
	lookup func(string) (llm.ModelInfo, bool)
	quirks wire.Quirks
}

// New returns a provider. The endpoint may end in /v1 or not.
func New(o wire.Options) (*Provider, error) {
	c, err := wire.NewClient(o, base, wire.CloudTimeouts(), "/v1/messages", "/v1")
	if err != nil {
		return nil, err
	}
	return &Provider{c: c, key: o.Key, lookup: o.Lookup}, nil
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
	body, err := p.build(req)
	if err != nil {
		return err
	}
	call := wire.Call{Path: "/v1/messages", Header: p.headers(), Body: body, Model: req.Model}
	return p.c.Run(ctx, call, p.newAnswer(req), emit)
}

func (p *Provider) headers() http.Header {
	h := http.Header{}
	h.Set("anthropic-version", version)
	if p.key != "" {
		h.Set("x-api-key", p.key)
	}
	return h
}

func (p *Provider) origin(model string) llm.Origin { return p.c.Origin(model, host) }

// Models lists what the key may use.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Name string `json:"display_name"`
			Max  int64  `json:"max_input_tokens"`
		} `json:"data"`
	}
	call := wire.Call{Path: "/v1/models", Query: url.Values{"limit": {"1000"}}, Header: p.headers()}
	if err := p.c.Get(ctx, call, &list); err != nil {
		return nil, err
	}
	out := make([]llm.ModelInfo, 0, len(list.Data))
	for _, m := range list.Data {
		info := llm.ModelInfo{Tools: true, Images: true}
		if p.lookup != nil {
			if known, ok := p.lookup(m.ID); ok {
				info = known
			}
		}
		info.ID = m.ID
		if m.Name != "" {
			info.Name = m.Name
		}
		if m.Max > 0 {
			info.ContextTokens = m.Max
		}
		out = append(out, info)
	}
	return out, nil
}
