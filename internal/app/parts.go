package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/tools"
	fstools "github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/tools/search"
	"github.com/coderrr/coderrr/internal/tools/sys"
	"github.com/coderrr/coderrr/internal/workspace"
)

// maxSkills is how many search results are shown.
const maxSkills = 20

// Skills implements cli.Parts.
func (a *App) Skills(context.Context) (cli.Skills, error) { return shelf{a}, nil }

// shelf is the skills at hand; nil for root leaves the workspace's out.
func (a *App) shelf(root *workspace.Root) skills.Shelf {
	s := skills.Shelf{Local: skills.Local{Root: root}}
	if home := a.env.Getenv("HOME"); filepath.IsAbs(home) {
		s.Local.User = filepath.Join(home, ".agents", "skills")
	}
	s.Registry, s.Problem = skills.New(a.env.Config.Skills.Registry)
	return s
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

// shelf opens the workspace for each answer, so that nothing has to be closed.
type shelf struct{ app *App }

func (s shelf) with(fn func(skills.Shelf) error) error {
	root, err := s.app.openRoot()
	if err != nil {
		return err
	}
	return errors.Join(fn(s.app.shelf(root)), root.Close())
}

// Search implements cli.Skills.
func (s shelf) Search(ctx context.Context, query string) (out []cli.SkillInfo, err error) {
	out = []cli.SkillInfo{}
	err = s.with(func(all skills.Shelf) error {
		_, warnings := all.Local.List(ctx)
		for _, w := range warnings {
			s.app.env.Notice(w)
		}
		found, err := all.Search(ctx, query, maxSkills)
		for _, k := range found {
			out = append(out, cli.SkillInfo{Name: k.Name, Description: k.Description, Source: k.Source})
		}
		return err
	})
	return out, err
}

// Show implements cli.Skills. It begins with where the text is from.
func (s shelf) Show(ctx context.Context, name string) (text string, err error) {
	err = s.with(func(all skills.Shelf) error {
		k, err := all.Load(ctx, name)
		if errors.Is(err, skills.ErrNoSkill) {
			return fmt.Errorf("%w: %w", cli.ErrNoSkill, err)
		}
		text = "From " + k.URL + ", SHA-256 " + k.SHA256 + ".\n\n" + k.Text
		return err
	})
	return text, err
}
