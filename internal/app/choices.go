package app

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/server"
)

// Models implements server.Backend: what `coderrr models` lists.
func (b *backend) Models(ctx context.Context) ([]server.ModelChoice, error) {
	if b.o.Demo {
		return []server.ModelChoice{choice(demoProvider, llm.ModelInfo{ID: demoModel})}, nil
	}
	about, err := b.app.About(ctx)
	if err != nil {
		return nil, spoken(err)
	}
	p, err := b.app.Provider(ctx)
	if err != nil {
		return nil, spoken(err)
	}
	list := about.Reach(ctx, p)
	if list == nil && about.Problem != "" {
		return nil, errors.New(about.Problem)
	}
	out := make([]server.ModelChoice, 0, len(list))
	for _, m := range list {
		if !strings.ContainsFunc(m.ID, hidden) {
			out = append(out, choice(about.Profile, m))
		}
	}
	return out, nil
}

// hidden are characters that no model's name has a use for: a name with one could
// look like another's in the list.
func hidden(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

// choice says what is known of a model, and "unknown" for the rest. The profile
// stands in front of the name, which may itself begin with another provider's.
func choice(profile string, m llm.ModelInfo) server.ModelChoice {
	var known doctor.About
	known.Known(m)
	return server.ModelChoice{Name: m.ID, Ref: profile + "/" + m.ID, Context: known.Size(), Price: known.Price()}
}
