// Package google speaks the Gemini API (generateContent). Its one rule: a thought
// signature goes back on the part that it came with, and only to its maker.
package google

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

const (
	base    = "https://generativelanguage.googleapis.com"
	host    = "generativelanguage.googleapis.com"
	version = "/v1beta"
)

// Provider is an llm.Provider and llm.Lister. It is safe for concurrent use.
type Provider struct {
	c      *wire.Client
	key    string
	lookup func(string) (llm.ModelInfo, bool)
	quirks wire.Quirks
}

// New returns a provider. The endpoint may end in /v1beta (or /v1) or not.
func New(o wire.Options) (*Provider, error) {
	c, err := wire.NewClient(o, base, wire.CloudTimeouts(), version, "/v1")
	if err != nil {
		return nil, err
	}
	return &Provider{c: c, key: o.Key, lookup: o.Lookup}, nil
}

// Name is the configured name of the provider.
func (p *Provider) Name() string { return p.c.Name }

// emptyAnswer marks an answer without any part: Gemini sends one now and then.
const emptyAnswer = "EMPTY"

// Stream makes one call. What the server refuses and is not needed is left out,
// remembered, and the call is made again; an answer without any part is asked for
// once more.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		again := false
		once := func(emit wire.Emit) error {
			empty := false
			err := p.once(ctx, req, func(d llm.Delta) bool {
				if done, ok := d.(llm.Done); ok && !again && done.Stop == llm.StopEndTurn && len(done.Message.Blocks) == 0 {
					empty = true
					return true
				}
				return emit(d)
			})
			if err == nil && empty {
				again = true
				return &llm.Error{Provider: p.c.Name, Model: req.Model, Kind: llm.KindTruncated, Code: emptyAnswer, Message: "the answer was empty"}
			}
			return err
		}
		if err := wire.Repeat(ctx, yield, once, func(e *llm.Error) string { return p.repair(req, e) }); err != nil {
			yield(nil, err)
		}
	}
}

func (p *Provider) once(ctx context.Context, req llm.Request, emit wire.Emit) error {
	body, err := p.build(req)
	if err != nil {
		return err
	}
	call := wire.Call{
		Path:  version + "/models/" + strings.TrimPrefix(req.Model, "models/") + ":streamGenerateContent",
		Query: url.Values{"alt": {"sse"}}, Header: p.headers(), Body: body, Model: req.Model,
	}
	return p.c.Run(ctx, call, p.newAnswer(req), emit)
}

// headers carry the key: in the query it would end up in logs.
func (p *Provider) headers() http.Header {
	h := http.Header{}
	if p.key != "" {
		h.Set("x-goog-api-key", p.key)
	}
	return h
}

func (p *Provider) origin(model string) llm.Origin { return p.c.Origin(model, host) }

// Models lists the models that can chat.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	var list struct {
		Models []struct {
			Name    string   `json:"name"`
			Display string   `json:"displayName"`
			Input   int64    `json:"inputTokenLimit"`
			Output  int64    `json:"outputTokenLimit"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	call := wire.Call{Path: version + "/models", Query: url.Values{"pageSize": {"1000"}}, Header: p.headers()}
	if err := p.c.Get(ctx, call, &list); err != nil {
		return nil, err
	}
	var out []llm.ModelInfo
	for _, m := range list.Models {
		if !slices.Contains(m.Methods, "generateContent") {
			continue
		}
		id := strings.TrimPrefix(m.Name, "models/")
		info := llm.ModelInfo{Tools: true, Images: true}
		if p.lookup != nil {
			if known, ok := p.lookup(id); ok {
				info = known
			}
		}
		info.ID, info.ContextTokens, info.MaxOutputTokens = id, m.Input, m.Output
		if info.Name == "" {
			info.Name = m.Display
		}
		out = append(out, info)
	}
	return out, nil
}

// generation reads the version of a Gemini model as a number: 2.5 is 205, 3 is
// 300; 0 is unknown.
func generation(model string) int {
	_, rest, ok := strings.Cut(model, "gemini-")
	if !ok {
		return 0
	}
	text, _, _ := strings.Cut(rest, "-")
	major, minor, _ := strings.Cut(text, ".")
	a, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	b, err := strconv.Atoi(minor)
	if err != nil {
		b = 0
	}
	return a*100 + b
}
