package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/anthropic"
	"github.com/coderrr/coderrr/internal/llm/cassette"
	"github.com/coderrr/coderrr/internal/llm/catalog"
	"github.com/coderrr/coderrr/internal/llm/google"
	"github.com/coderrr/coderrr/internal/llm/ollama"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// knowledge is the catalogue of models, read when it is first asked for.
type knowledge struct {
	once sync.Once
	all  *catalog.Catalog
	err  error
}

func (k *knowledge) catalog() (*catalog.Catalog, error) {
	k.once.Do(func() { k.all, k.err = catalog.Load() })
	return k.all, k.err
}

// adapter is the adapter of a model's provider, with repetition; a nil transport is
// the network.
func (a *App) adapter(m config.Model, transport http.RoundTripper) (llm.Provider, error) {
	key, err := a.key(m)
	if err != nil {
		return nil, err
	}
	_, replayed := transport.(*cassette.Player)
	if key == "" && config.NeedsKey(m.Kind) && m.Endpoint == "" && len(m.Headers) == 0 && !replayed {
		return nil, &cli.Failure{
			Code: cli.ExitProvider, Err: fmt.Errorf("there is no key for %s", m.Profile),
			Remedy: "Run coderrr config, or set " + strings.Join(config.EnvNames(m.Kind), " or ") + ".",
		}
	}
	o := wire.Options{
		Name: m.Profile, Endpoint: m.Endpoint, Key: key, Transport: transport, Headers: map[string]string{},
		Lookup: func(model string) (llm.ModelInfo, bool) { return a.lookup(m, model) },
	}
	for name, value := range m.Headers {
		o.Headers[name] = value.Reveal()
	}
	p, err := dial(m, o)
	if err != nil {
		return nil, providerFailure(err)
	}
	return llm.WithRetry(p, llm.RetryPolicy{}), nil
}

func dial(m config.Model, o wire.Options) (llm.Provider, error) {
	switch m.Kind {
	case "anthropic":
		return anthropic.New(o)
	case "google":
		return google.New(o)
	case "ollama":
		fallback, err := openai.New(openai.Options{Options: o, Dialect: openai.Ollama()})
		if err != nil {
			return nil, err
		}
		return ollama.New(ollama.Options{Options: o, NumCtx: int(m.Context), Fallback: fallback})
	default:
		return openai.New(openai.Options{Options: o, Dialect: openai.DialectFor(m.Kind, m.Endpoint), API: openai.API(m.API)})
	}
}

// service is how the catalogue calls what answers for a model. own is false for a
// server that only speaks the same protocol: its prices are its own.
func service(m config.Model) (name string, own bool) {
	switch m.Kind {
	case "ollama":
		return "", false
	case "anthropic", "google":
		host := map[string]string{"anthropic": "api.anthropic.com", "google": "generativelanguage.googleapis.com"}[m.Kind]
		u, err := url.Parse(m.Endpoint)
		return m.Kind, m.Endpoint == "" || err == nil && u.Hostname() == host
	default:
		d := openai.DialectFor(m.Kind, m.Endpoint)
		return d.Name, m.Endpoint == "" || openai.DialectFor("compatible", m.Endpoint).Name == d.Name
	}
}

// lookup is what is known of a model at the provider of m: from the configuration,
// then from the catalogue. Only a known model may be told that it takes no images.
func (a *App) lookup(m config.Model, model string) (info llm.ModelInfo, known bool) {
	name, own := service(m)
	if c, err := a.known.catalog(); err == nil && name != "" {
		info, known = c.Lookup(name, model)
	}
	info.ID = model
	if !own {
		info.Prices = nil
	}
	if model != m.Name {
		return info, known
	}
	if m.Images != nil {
		known = true
	}
	return configured(m, info), known
}

// configured puts what the configuration says of m over what is known.
func configured(m config.Model, info llm.ModelInfo) llm.ModelInfo {
	if m.Context > 0 {
		info.ContextTokens = m.Context
	}
	if m.InputUSD != nil && m.OutputUSD != nil {
		// No price of their own is known for cached tokens: they cost as any input.
		info.Prices = &llm.Prices{Input: *m.InputUSD, Output: *m.OutputUSD, CacheRead: *m.InputUSD, CacheWrite: *m.InputUSD}
	}
	if m.Images != nil {
		info.Images = *m.Images
	}
	return info
}

// learnTime bounds what is asked of a server before a session begins.
const learnTime = 5 * time.Second

// onlyV1 warns of a server at which a long prompt may be cut in silence.
const onlyV1 = "This server has no Ollama API, only /v1: the context size cannot be set there and a long prompt is cut without a word. Use a current Ollama, or start the server with OLLAMA_CONTEXT_LENGTH=65536."

// learner asks the server for what the catalogue does not know: context, and
// prices where the server tells them. It is nil when nothing is missing. A server
// that does not answer teaches nothing: the first call will say what is wrong.
func learner(m config.Model, p llm.Provider, known llm.ModelInfo) func(context.Context) (llm.ModelInfo, string) {
	router := m.Kind == "openrouter" // its prices change with what it routes to
	if m.Kind != "ollama" && !router && (known.ContextTokens > 0 || m.Kind == "openai") {
		return nil
	}
	return func(ctx context.Context) (llm.ModelInfo, string) {
		ctx, cancel := context.WithTimeout(ctx, learnTime)
		defer cancel()
		if native, ok := nativeOllama(p); ok {
			info, err := native.Info(ctx, m.Name)
			var e *llm.Error
			if err != nil && errors.As(err, &e) && e.Kind == llm.KindBadResponse {
				return known, onlyV1
			}
			if err != nil {
				return known, ""
			}
			return configured(m, info), ""
		}
		lister, ok := p.(llm.Lister)
		if !ok {
			return known, ""
		}
		list, err := lister.Models(ctx)
		if err != nil {
			return known, ""
		}
		for _, have := range list {
			if have.ID == m.Name {
				if known.Prices != nil && !router {
					have.Prices = known.Prices
				}
				return configured(m, have), ""
			}
		}
		return known, ""
	}
}

// nativeOllama finds Ollama's adapter below the repetition.
func nativeOllama(p llm.Provider) (*ollama.Provider, bool) {
	if u, ok := p.(interface{ Unwrap() llm.Provider }); ok {
		p = u.Unwrap()
	}
	native, ok := p.(*ollama.Provider)
	return native, ok
}
