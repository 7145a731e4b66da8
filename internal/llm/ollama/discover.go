package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// Model is what /api/show says.
type Model struct {
	// Context is the longest context the model can have, in tokens; 0 if unknown.
	Context int64
	// Remote models run at ollama.com, not on this machine.
	Remote                bool
	Tools, Images, Thinks bool
}

// Loaded is one model in memory, from /api/ps.
type Loaded struct {
	Name    string `json:"name"`
	Context int64  `json:"context_length"`
}

// Models lists what is pulled, with the context size of what is loaded.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := p.c.Get(ctx, wire.Call{Path: "/api/tags", Header: p.auth()}, &tags); err != nil {
		var e *llm.Error
		if l, ok := p.o.Fallback.(llm.Lister); ok && errors.As(err, &e) && e.Status == 404 {
			return l.Models(ctx)
		}
		return nil, err
	}
	loaded, _ := p.Loaded(ctx) // a detail: the list is good without it
	out := make([]llm.ModelInfo, 0, len(tags.Models))
	for _, m := range tags.Models {
		info := llm.ModelInfo{ID: m.Name, Name: m.Name}
		for _, l := range loaded {
			if l.Name == m.Name {
				info.ContextTokens = l.Context
			}
		}
		out = append(out, info)
	}
	return out, nil
}

// Loaded lists the models in memory.
func (p *Provider) Loaded(ctx context.Context) ([]Loaded, error) {
	var ps struct {
		Models []Loaded `json:"models"`
	}
	if err := p.c.Get(ctx, wire.Call{Path: "/api/ps", Header: p.auth()}, &ps); err != nil {
		return nil, err
	}
	return ps.Models, nil
}

// Info is what a session wants to know of a model; ContextTokens is the size that
// calls will be made with.
func (p *Provider) Info(ctx context.Context, model string) (llm.ModelInfo, error) {
	m, err := p.Show(ctx, model)
	if err != nil {
		return llm.ModelInfo{}, err
	}
	window, err := p.Window(ctx, model)
	if err != nil {
		return llm.ModelInfo{}, err
	}
	info := llm.ModelInfo{ID: model, Name: model, ContextTokens: int64(window), Tools: m.Tools, Images: m.Images, Reasoning: m.Thinks}
	if m.Remote {
		info.ContextTokens = m.Context
	}
	return info, nil
}

// Show asks for one model and remembers the answer.
func (p *Provider) Show(ctx context.Context, model string) (Model, error) {
	p.mu.Lock()
	known, ok := p.shown[model]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	body, err := wire.Marshal(map[string]string{"model": model})
	if err != nil {
		return Model{}, err
	}
	var show struct {
		Capabilities []string                   `json:"capabilities"`
		Info         map[string]json.RawMessage `json:"model_info"`
		RemoteHost   string                     `json:"remote_host"`
	}
	call := wire.Call{Method: "POST", Path: "/api/show", Header: p.auth(), Body: body, Model: model}
	if err := p.c.Get(ctx, call, &show); err != nil {
		return Model{}, p.hint(err)
	}
	m := Model{
		Remote: show.RemoteHost != "" || strings.HasSuffix(model, "-cloud") || strings.HasSuffix(model, ":cloud"),
		Tools:  slices.Contains(show.Capabilities, "tools"), Images: slices.Contains(show.Capabilities, "vision"),
		Thinks: slices.Contains(show.Capabilities, "thinking"),
	}
	for key, raw := range show.Info {
		if strings.HasSuffix(key, ".context_length") {
			_ = json.Unmarshal(raw, &m.Context) // stays 0, unknown
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown[model] = m
	return m, nil
}

// Window is the context size that calls ask for, in tokens: the configured one; of
// a loaded model its own if that is enough, because another would load it anew; else
// the usual one, as far as the model goes. 0 leaves it to the server (models that
// run elsewhere, and servers that cannot say).
func (p *Provider) Window(ctx context.Context, model string) (int, error) {
	if p.o.NumCtx > 0 {
		return p.o.NumCtx, nil
	}
	p.mu.Lock()
	known, ok := p.windows[model]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	m, err := p.Show(ctx, model)
	if err != nil {
		var e *llm.Error
		if errors.As(err, &e) && e.Kind == llm.KindBadResponse {
			return 0, nil // no native API: the call will say so
		}
		return 0, err
	}
	window := 0
	if !m.Remote {
		window = usualWindow
		if m.Context > 0 {
			window = min(window, int(m.Context))
		}
		loaded, _ := p.Loaded(ctx) // without it the usual size is asked for
		for _, l := range loaded {
			if (l.Name == model || l.Name == model+":latest") && l.Context >= leastWindow {
				window = int(l.Context)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windows[model] = window
	return window, nil
}
