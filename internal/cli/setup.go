package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/term"
)

// checkTime bounds the call that tries the new settings.
const checkTime = 20 * time.Second

// setup is the guided configuration.
type setup struct {
	r       *runner
	console *term.Console
	style   term.Style
	home    string
	config  config.Config
}

func (r *runner) setup(cmd *cobra.Command) error {
	console := r.console()
	if console == nil {
		return &Failure{Code: ExitUsage, Err: errors.New("there is no terminal to ask on"), Remedy: "use `coderrr config set KEY VALUE`, for example provider.name, provider.model and provider.endpoint"}
	}
	defer func() { _ = console.Close() }() // nothing is written through it
	home, c, err := r.load()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	s := &setup{r: r, console: console, style: r.style(r.io.ErrTerminal, console.Width()), home: home, config: c}
	return s.run(ctx)
}

func (s *setup) say(text string) { s.r.errln(text) }

func (s *setup) run(ctx context.Context) error {
	kind, err := s.kind(ctx)
	if err != nil {
		return err
	}
	settings := [][2]string{{"provider.name", kind}}
	endpoint, err := s.endpoint(ctx, kind)
	if err != nil {
		return err
	}
	settings = append(settings, [2]string{"provider.endpoint", endpoint})
	s.config.Verify.Model = "" // it is about another provider, perhaps
	s.config.Provider = config.Provider{Name: kind, Endpoint: endpoint, Model: "?"}
	if err := s.key(ctx, kind); err != nil {
		return err
	}
	model, err := s.model(ctx, kind, s.models(ctx))
	if err != nil {
		return err
	}
	settings = append(settings, [2]string{"provider.model", model})
	notes, err := config.SetValues(ctx, s.home, settings)
	s.r.notes(notes)
	if err != nil {
		return err
	}
	s.say(s.style.Good("saved") + " to " + config.Path(s.home) + ". Try: coderrr run \"...\"")
	return nil
}

func (s *setup) kind(ctx context.Context) (string, error) {
	names := map[string]string{
		"ollama": "Ollama, on this machine or in its cloud", "anthropic": "Anthropic", "openai": "OpenAI", "google": "Google",
		"openrouter": "OpenRouter", "compatible": "another endpoint that speaks the OpenAI protocol",
	}
	s.say(s.style.Bold("Which provider?"))
	for i, k := range config.Kinds() {
		s.say(fmt.Sprintf("  %d  %-11s %s", i+1, k, names[k]))
	}
	for {
		line, err := s.console.Line(ctx, "Number or name: ")
		if err != nil {
			return "", ended(err)
		}
		line = strings.ToLower(strings.TrimSpace(line))
		for i, k := range config.Kinds() {
			if line == k || line == strconv.Itoa(i+1) {
				return k, nil
			}
		}
	}
}

// ended explains a prompt that got no answer.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Failure{Code: ExitFailure, Err: fmt.Errorf("nothing was saved: %w", err)}
}

func (s *setup) endpoint(ctx context.Context, kind string) (string, error) {
	prompt := "Address (empty for the provider's own): "
	var found []string
	if kind == "compatible" {
		prompt = "Address, such as http://127.0.0.1:8000/v1: "
		if found = s.local(ctx); len(found) > 0 {
			prompt = "Number, or address: "
		}
	}
	for {
		line, err := s.console.Line(ctx, prompt)
		if err != nil {
			return "", ended(err)
		}
		line = strings.TrimSpace(line)
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(found) {
			return found[n-1], nil
		}
		u, parseErr := url.Parse(line)
		switch {
		case line == "" && kind != "compatible":
			return "", nil
		case parseErr != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			s.say("It begins with http:// or https://.")
		case u.User != nil:
			s.say("Leave the key out of the address; it is asked for next.")
		default:
			return line, nil
		}
	}
}

// probeTime bounds the search for servers on this machine.
const (
	probeTime = 1500 * time.Millisecond
	probe     = "search"
)

// local shows which of the usual servers answer on this machine, and returns their
// addresses. They are asked for their list of models and are given no key.
func (s *setup) local(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	usual := [][2]string{
		{"LM Studio", "http://127.0.0.1:1234/v1"},
		{"llama.cpp", "http://127.0.0.1:8080/v1"},
		{"vLLM", "http://127.0.0.1:8000/v1"},
		{"Ollama", "http://127.0.0.1:11434/v1"},
	}
	lists := make([][]llm.ModelInfo, len(usual))
	var wg sync.WaitGroup
	for i, u := range usual {
		wg.Go(func() {
			c := config.Default()
			// A profile of its own: a stored key is for the server it was given for.
			c.Providers = map[string]config.Provider{probe: {Name: "compatible"}}
			c.Provider = config.Provider{Name: probe, Endpoint: u[1], Model: "?"}
			if app, err := s.r.build(ctx, Env{Getenv: func(string) string { return "" }, Home: s.home, Config: c, Dir: s.r.io.Dir, Version: s.r.version, Notice: func(string) {}}); err == nil {
				if p, err := app.Provider(ctx); err == nil {
					var about doctor.About
					lists[i] = about.Reach(ctx, p)
				}
			}
		})
	}
	wg.Wait()
	var found []string
	for i, u := range usual {
		if len(lists[i]) == 0 {
			continue
		}
		found = append(found, u[1])
		s.say(fmt.Sprintf("  %d  %s: it looks like %s, with %s", len(found), u[1], u[0], term.OneLine(lists[i][0].ID)))
	}
	return found
}

func (s *setup) key(ctx context.Context, kind string) error {
	m := config.Model{Profile: kind, Kind: kind}
	_, from, err := s.config.Key(m, s.r.io.Getenv, s.r.io.Keys(s.home))
	if err != nil {
		s.say(s.style.Warning(err.Error()))
	}
	prompt := "API key (it is not shown): "
	switch {
	case from != "":
		prompt = fmt.Sprintf("API key (not shown; empty keeps the one in %s): ", from)
	case !config.NeedsKey(kind):
		prompt = "API key (not shown; empty for none): "
	}
	for {
		key, err := s.console.Secret(ctx, prompt)
		if err != nil {
			return ended(err)
		}
		if key = strings.TrimSpace(key); key != "" {
			return s.r.storeKey(s.home, kind, key)
		}
		if from != "" || !config.NeedsKey(kind) {
			return nil
		}
		s.say("A key is needed. Ctrl-C leaves without saving.")
	}
}

// models makes the call that checks address and key. A failure is told and does
// not end the setup: the person may know better.
func (s *setup) models(ctx context.Context) []llm.ModelInfo {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	about, models, err := s.r.about(ctx, s.config, s.home)
	switch {
	case err != nil:
		s.say(s.style.Error("the provider cannot be used: "+err.Error(), remedyOf(err)))
	case !about.Reachable:
		s.say(s.style.Error("the provider does not answer as it should: "+about.Problem, about.Remedy))
	default:
		s.say(s.style.Good("the provider answers") + fmt.Sprintf(" and lists %d models", len(models)))
	}
	return models
}

func (s *setup) model(ctx context.Context, kind string, models []llm.ModelInfo) (string, error) {
	const shown = 30
	for i, m := range models[:min(shown, len(models))] {
		s.say(fmt.Sprintf("  %2d  %s", i+1, modelLine(m)))
	}
	if len(models) > shown {
		s.say(fmt.Sprintf("  and %d more: `coderrr models` lists them", len(models)-shown))
	}
	prompt := "Model: "
	if len(models) > 0 {
		prompt = "Number or name of the model: "
	}
	for {
		line, err := s.console.Line(ctx, prompt)
		if err != nil {
			return "", ended(err)
		}
		line = strings.TrimSpace(line)
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= min(shown, len(models)) {
			return models[n-1].ID, nil
		}
		if line == "" {
			continue
		}
		if len(models) > 0 && !listed(models, line) {
			s.say(s.style.Warning(fmt.Sprintf("%s does not list %q; it is saved as you typed it: %s", kind, line, doctor.Missing(kind, line))))
		}
		return line, nil
	}
}

// modelLine is a model with what is known of it.
func modelLine(m llm.ModelInfo) string {
	var a doctor.About
	a.Known(m)
	line := term.OneLine(m.ID)
	if a.ContextTokens != nil {
		line += ", context " + a.Size()
	}
	if a.InputUSD != nil {
		line += ", " + a.Price()
	}
	return line
}

func listed(models []llm.ModelInfo, id string) bool {
	for _, m := range models {
		if m.ID == id || m.ID == id+":latest" {
			return true
		}
	}
	return false
}
