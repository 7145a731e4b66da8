package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/demo"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/cassette"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// What the demo's model is called.
const (
	demoProvider = "demo"
	demoModel    = "recording"
)

// Provider implements cli.Parts.
func (a *App) Provider(context.Context) (llm.Provider, error) {
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return nil, providerFailure(err)
	}
	return a.adapter(m, nil)
}

func providerFailure(err error) error {
	remedy := "Run coderrr config."
	if errors.Is(err, config.ErrNoProvider) {
		remedy = "Run coderrr config to choose one, or coderrr ui --demo to see how it works without one."
	}
	return &cli.Failure{Code: cli.ExitProvider, Err: err, Remedy: remedy}
}

// model makes the model of one session. The closer writes a recording to its end.
func (a *App) model(o cli.SessionOptions) (agent.Model, io.Closer, error) {
	if o.Demo {
		m, err := demoModelOf()
		return m, nopCloser{}, err
	}
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return agent.Model{}, nil, providerFailure(err)
	}
	transport, closer, err := a.transport(m, o)
	if err != nil {
		return agent.Model{}, nil, err
	}
	p, err := a.adapter(m, transport)
	if err != nil {
		return agent.Model{}, nil, errors.Join(err, closer.Close())
	}
	return agent.Model{Provider: p, Name: m.Name, Info: a.lookup(m.Kind, m.Name)}, closer, nil
}

// demoModelOf plays the embedded recording as it was spoken.
func demoModelOf() (agent.Model, error) {
	lines, err := cassette.Read(demo.Cassette())
	if err != nil {
		return agent.Model{}, fmt.Errorf("read the demo: %w", err)
	}
	p, err := openai.New(openai.Options{
		Options: wire.Options{Name: demoProvider, Endpoint: "http://demo.invalid/v1", Transport: cassette.NewPlayer(lines, 1)},
		Dialect: openai.DialectFor("compatible", ""),
	})
	if err != nil {
		return agent.Model{}, fmt.Errorf("open the demo: %w", err)
	}
	return agent.Model{Provider: p, Name: demoModel}, nil
}

// transport carries requests to the provider, to it and a recording, or from a
// recording.
func (a *App) transport(m config.Model, o cli.SessionOptions) (http.RoundTripper, io.Closer, error) {
	switch {
	case o.Replay != "":
		p, err := cassette.Open(o.Replay, 0)
		return p, nopCloser{}, err
	case o.Record != "":
		key, err := a.key(m)
		if err != nil {
			return nil, nil, err
		}
		r, err := cassette.Create(o.Record, wire.NewTransport(), key)
		return r, r, err
	default:
		return nil, nopCloser{}, nil
	}
}

func (a *App) key(m config.Model) (string, error) {
	key, _, err := a.env.Config.Key(m, a.env.Getenv, a.vault)
	if err != nil {
		return "", providerFailure(err)
	}
	return key.Reveal(), nil
}

// adapter is the adapter of a kind of provider; a nil transport is the network.
func (a *App) adapter(m config.Model, transport http.RoundTripper) (llm.Provider, error) {
	key, err := a.key(m)
	if err != nil {
		return nil, err
	}
	o := wire.Options{
		Name: m.Profile, Endpoint: m.Endpoint, Key: key, Transport: transport, Headers: map[string]string{},
	}
	for name, value := range m.Headers {
		o.Headers[name] = config.Expand(value.Reveal(), a.env.Getenv)
	}
	p, err := openai.New(openai.Options{Options: o, Dialect: openai.DialectFor(m.Kind, m.Endpoint)})
	if err != nil {
		return nil, providerFailure(err)
	}
	return llm.WithRetry(p, llm.RetryPolicy{}), nil
}

// lookup is what is known of a model; nothing for an unknown one.
func (a *App) lookup(string, string) llm.ModelInfo { return llm.ModelInfo{} }

type nopCloser struct{}

func (nopCloser) Close() error { return nil }
