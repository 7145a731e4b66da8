package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/tools"
	fstools "github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/tools/search"
	"github.com/coderrr/coderrr/internal/tools/sys"
)

// maxSkills is how many search results are shown.
const maxSkills = 20

// Skills implements cli.Parts.
func (a *App) Skills(context.Context) (cli.Skills, error) {
	r, err := skills.New(a.env.Config.Skills.Registry)
	if err != nil {
		return nil, err
	}
	return registry{r}, nil
}

// ToolSpecs implements cli.Parts. The tools are made to be described and never
// run, so what they act on is left out.
func (a *App) ToolSpecs(context.Context) (map[string][]tools.Spec, error) {
	all := search.Tools(nil, nil)
	all = append(all, fstools.Tools(fstools.Options{})...)
	all = append(all, sys.Tools(sys.Deps{
		Specs: struct{ sys.Specs }{}, Tasks: struct{ sys.Tasks }{}, Sandbox: struct{ sandbox.Sandbox }{}, Asker: ask.Policy{},
	})...)
	out := map[string][]tools.Spec{}
	for _, m := range policy.Modes() {
		for _, t := range all {
			if policy.Exposes(m, t.Class()) {
				out[m.String()] = append(out[m.String()], t.Spec())
			}
		}
	}
	return out, nil
}

type registry struct{ r *skills.Registry }

// Search implements cli.Skills.
func (r registry) Search(ctx context.Context, query string) ([]cli.SkillInfo, error) {
	found, err := r.r.Search(ctx, query, maxSkills)
	if err != nil {
		return nil, err
	}
	out := make([]cli.SkillInfo, 0, len(found))
	for _, s := range found {
		out = append(out, cli.SkillInfo{Name: s.Name, Description: s.Description, Source: "registry"})
	}
	return out, nil
}

// Show implements cli.Skills.
func (r registry) Show(ctx context.Context, name string) (string, error) {
	s, err := r.r.Load(ctx, name)
	if errors.Is(err, skills.ErrNoSkill) {
		return "", fmt.Errorf("%w: %w", cli.ErrNoSkill, err)
	}
	return s.Text, err
}
