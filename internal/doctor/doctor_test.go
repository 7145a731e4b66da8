package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
)

type provider struct{ llm.Provider }

type lister struct {
	provider
	models []llm.ModelInfo
	err    error
}

func (provider) Name() string { return "fake" }
func (provider) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}
func (l lister) Models(context.Context) ([]llm.ModelInfo, error) { return l.models, l.err }

type box struct {
	sandbox.Sandbox
	info sandbox.Info
	err  error
}

func (b box) Info() sandbox.Info { return b.info }
func (b box) Close() error       { return b.err }

func subject(t *testing.T) Subject {
	t.Helper()
	c := config.Default()
	c.Provider = config.Provider{Name: "compatible", Model: "m", Endpoint: "http://u:CANARY-KEY@h/v1"}
	return Subject{
		Version: "coderrr test", Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" },
		Load: func() (config.Config, []config.Warning, error) { return c, nil, nil },
		Provider: func(context.Context) (llm.Provider, error) {
			return lister{models: []llm.ModelInfo{{ID: "m", ContextTokens: 128000}}}, nil
		},
		Sandbox: func(context.Context) (sandbox.Sandbox, error) {
			return box{info: sandbox.Info{Tier: sandbox.Confined, Summary: "own namespaces", Isolation: sandbox.Isolation{Files: true}}}, nil
		},
		Key:     func(config.Model) (string, error) { return "$CODERRR_API_KEY", nil },
		Keyring: func() error { return nil }, Terminal: "xterm, 80 columns", Browser: true,
	}
}

func find(t *testing.T, r Report, name string) Result {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q", name)
	return Result{}
}

func TestAllWell(t *testing.T) {
	r := Run(t.Context(), subject(t).Checks())
	require.True(t, r.OK)
	for _, c := range r.Checks {
		require.Equal(t, OK, c.Status, "%+v", c)
		require.NotEmpty(t, c.Detail)
	}
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "CANARY", "C09: no secret in a report")
}

func TestEachFaultHasARemedy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Subject)
		check  string
		status Status
		detail string
	}{
		{"broken config", func(s *Subject) {
			s.Load = func() (config.Config, []config.Warning, error) { return config.Config{}, nil, errors.New("f:1:2: bad") }
		}, "config", Fail, "f:1:2"},
		{"unknown key", func(s *Subject) {
			load := s.Load
			s.Load = func() (config.Config, []config.Warning, error) {
				c, _, err := load()
				return c, []config.Warning{{File: "f", Line: 3, Text: "unknown key"}}, err
			}
		}, "config", Warn, "f:3"},
		{"no provider", func(s *Subject) {
			s.Load = func() (config.Config, []config.Warning, error) { return config.Default(), nil, nil }
		}, "provider", Fail, "no model is configured"},
		{"no key", func(s *Subject) {
			c := config.Default()
			c.Provider = config.Provider{Name: "openai", Model: "m"}
			s.Load = func() (config.Config, []config.Warning, error) { return c, nil, nil }
			s.Key = func(config.Model) (string, error) { return "", nil }
		}, "key", Fail, "no key for openai"},
		{"locked keyring", func(s *Subject) {
			s.Key = func(config.Model) (string, error) { return "", errors.New("locked") }
		}, "key", Warn, "locked"},
		{"unreachable", func(s *Subject) {
			s.Provider = func(context.Context) (llm.Provider, error) {
				return lister{err: &llm.Error{Provider: "compatible", Kind: llm.KindNetwork, Message: "refused"}}, nil
			}
		}, "model", Fail, "refused"},
		{"unknown model", func(s *Subject) {
			s.Provider = func(context.Context) (llm.Provider, error) {
				return lister{models: []llm.ModelInfo{{ID: "other"}}}, nil
			}
		}, "model", Fail, `does not list "m"`},
		{"small context", func(s *Subject) {
			s.Provider = func(context.Context) (llm.Provider, error) {
				return lister{models: []llm.ModelInfo{{ID: "m", ContextTokens: 4096}}}, nil
			}
		}, "model", Warn, "4096"},
		{"weak sandbox", func(s *Subject) {
			s.Sandbox = func(context.Context) (sandbox.Sandbox, error) {
				return box{info: sandbox.Info{Tier: sandbox.Scratch, Summary: "a copy", Limits: "Not contained.", Better: "install bubblewrap"}}, nil
			}
		}, "sandbox", Warn, "Not contained."},
		{"no sandbox", func(s *Subject) {
			s.Sandbox = func(context.Context) (sandbox.Sandbox, error) { return nil, sandbox.ErrUnavailable }
		}, "sandbox", Fail, "not available"},
		{"no workspace", func(s *Subject) { s.Dir += "/none" }, "workspace", Fail, "no such file"},
		{"clock", func(s *Subject) { s.Built = time.Now().Add(48 * time.Hour) }, "clock", Fail, "before this program was built"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := subject(t)
			tt.change(&s)
			r := Run(t.Context(), s.Checks())
			c := find(t, r, tt.check)
			require.Equal(t, tt.status, c.Status, "%+v", c)
			require.Contains(t, c.Detail, tt.detail)
			require.NotEmpty(t, c.Remedy)
			require.Equal(t, tt.status != Fail, r.OK)
		})
	}
}

func TestProviderThatCannotList(t *testing.T) {
	s := subject(t)
	s.Provider = func(context.Context) (llm.Provider, error) { return provider{}, nil }
	require.Equal(t, Skip, find(t, Run(t.Context(), s.Checks()), "model").Status)
}

func TestACheckThatHangsOrPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Run(t.Context(), []Check{
			{"hangs", func(ctx context.Context) Result { <-ctx.Done(); time.Sleep(time.Second); return Result{} }},
			{"panics", func(context.Context) Result { panic("x") }},
		})
		require.False(t, r.OK)
		require.Contains(t, r.Checks[0].Detail, "no answer")
		require.Contains(t, r.Checks[1].Detail, "the check itself failed")
		time.Sleep(2 * time.Second)
	})
}
