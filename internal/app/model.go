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

// model makes the models of one session. The closer writes a recording to its end.
func (a *App) model(o cli.SessionOptions) (*models, io.Closer, error) {
	if o.Demo {
		m, err := demoModelOf()
		return &models{main: m}, nopCloser{}, err
	}
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return nil, nil, providerFailure(err)
	}
	secrets := secretsOf(m)
	helper, helped, err := a.helper(m)
	if err != nil {
		return nil, nil, err
	}
	if helped {
		secrets = append(secrets, secretsOf(helper)...)
	}
	for _, of := range []config.Model{m, helper} {
		key, err := a.key(of)
		if err != nil {
			return nil, nil, err
		}
		secrets = append(secrets, key)
	}
	transport, closer, err := transportOf(o, secrets)
	if err != nil {
		return nil, nil, err
	}
	s := &models{app: a, transport: transport}
	if s.main, err = s.make(m); err == nil && helped {
		var other agent.Model
		other, err = s.make(helper)
		s.other = &other
	}
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return s, closer, nil
}

// helper is the model that verify.model names ("model" of the session's provider,
// or "provider/model"), if it names one.
func (a *App) helper(main config.Model) (config.Model, bool, error) {
	name := a.env.Config.Verify.Model
	if name == "" {
		return main, false, nil
	}
	m, err := a.env.Config.Resolve(name, a.env.Getenv)
	if err != nil {
		return config.Model{}, false, &cli.Failure{Code: cli.ExitProvider, Err: fmt.Errorf("verify.model: %w", err), Remedy: "Correct it with coderrr config set verify.model, or clear it."}
	}
	return m, m.String() != main.String(), nil
}

// secretsOf are what a recording must not hold, besides the keys.
func secretsOf(m config.Model) []string {
	var out []string
	for _, v := range m.Headers {
		out = append(out, v.Reveal())
	}
	return out
}

// transportOf carries requests to the provider (nil), to it and a recording, or
// from a recording.
func transportOf(o cli.SessionOptions, secrets []string) (http.RoundTripper, io.Closer, error) {
	switch {
	case o.Replay != "":
		p, err := cassette.Open(o.Replay, 0)
		return p, nopCloser{}, err
	case o.Record != "":
		r, err := cassette.Create(o.Record, wire.NewTransport(), secrets...)
		return r, r, err
	default:
		return nil, nopCloser{}, nil
	}
}

// models are those of one session: the one that works and, where verify.model
// names another, the one that judges and sums up.
type models struct {
	app       *App // nil in the demo, which has one model
	transport http.RoundTripper

	main  agent.Model  // the first
	other *agent.Model // verify.model's, nil for none
	// live is the session's model now; nil before there is a session.
	live func() agent.Model
}

// helping is the model that judges changes and sums up.
func (s *models) helping() agent.Model {
	if s.other != nil {
		return *s.other
	}
	if s.live != nil {
		return s.live()
	}
	return s.main
}

// choose makes the model that ref ([provider/]model) names.
func (s *models) choose(ref string) (agent.Model, error) {
	if s.app == nil {
		return agent.Model{}, errors.New("the demo has one model only")
	}
	m, err := s.app.env.Config.Resolve(ref, s.app.env.Getenv)
	if err != nil {
		return agent.Model{}, providerFailure(err)
	}
	return s.make(m)
}

func (s *models) make(m config.Model) (agent.Model, error) {
	p, err := s.app.adapter(m, s.transport)
	if err != nil {
		return agent.Model{}, err
	}
	info, _ := s.app.lookup(m, m.Name)
	return agent.Model{Provider: p, Name: m.Name, Info: info, Effort: m.Effort, Learn: learner(m, p, info)}, nil
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

func (a *App) key(m config.Model) (string, error) {
	key, _, err := a.env.Config.Key(m, a.env.Getenv, a.vault)
	if err != nil {
		return "", providerFailure(err)
	}
	return key.Reveal(), nil
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }
