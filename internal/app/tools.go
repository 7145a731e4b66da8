package app

import (
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/tools"
	fstools "github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/tools/search"
	"github.com/coderrr/coderrr/internal/tools/sys"
	"github.com/coderrr/coderrr/internal/verify"
	"github.com/coderrr/coderrr/internal/workspace"
)

// tools adds what reads and changes the workspace, and what acts on the session.
func (a *App) tools(o *session.Options, servers servers, t *trust) {
	seen, network := &workspace.Seen{}, &sys.Network{}
	files := fstools.Options{Root: o.Root, Seen: seen, History: o.History}
	o.Files = fstools.NewCommitter(files)
	o.Sources = func(s *session.Session) []tools.Source {
		all := guided(search.Tools(o.Root, seen), guidance.NewNested(o.Root), t)
		all = append(all, fstools.Tools(files)...)
		all = append(all, sys.Tools(a.system(s, o, t, network))...)
		if servers.manager == nil {
			return []tools.Source{all}
		}
		servers.asker.set(s.Asker())
		return []tools.Source{all, servers.manager}
	}
}

// system is what the SYSTEM tools act on.
func (a *App) system(s *session.Session, o *session.Options, t *trust, network *sys.Network) sys.Deps {
	d := sys.Deps{
		Specs: s, Tasks: s, Sandbox: o.Sandbox, Asker: s.Asker(), Ran: s.Ran, Refused: s.Refuse, Network: network,
		Loaded: func(k skills.Skill) {
			o.Log.Append(event.ContextChanged{What: "skill", Name: k.Name, Detail: k.URL})
		},
		MaxRun: time.Duration(a.env.Config.Sandbox.Timeout) * time.Second,
	}
	all := a.shelf(o.Root)
	if all.Problem != nil {
		o.Log.Append(event.Notice{Level: "warning", Kind: "skills", Text: all.Problem.Error()})
	}
	d.Skills = shelved{all, t}
	return d
}

// verifier judges proposed writes with the session's model, or with verify.model.
func (a *App) verifier(o *session.Options, all *models) tools.Verifier {
	c := a.env.Config.Verify
	if verify.Mode(c.Mode) == verify.Off {
		return nil
	}
	return fstools.Verify(verify.New(verify.Options{
		Mode: verify.Mode(c.Mode), Temperature: &c.Temperature,
		Target: func() (llm.Provider, string) {
			m := all.helping()
			return m.Provider, m.Name
		},
		Usage: func(u llm.Usage) { o.Log.Append(o.Budget.Add(u, all.helping().Info, "verify")) },
	}))
}
