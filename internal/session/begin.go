package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/spec"
)

// begin gets to a first plan: an existing spec, a resumed one, or a new one.
func (s *Session) begin(ctx context.Context, req Request) (*spec.Plan, outcome, bool) {
	if req.Spec != "" {
		id, err := s.o.Specs.Open(req.Spec)
		if err != nil {
			return nil, failed("open the spec", err), false
		}
		s.setSpec(id)
		return s.load()
	}
	if req.Approve != "" {
		return s.hashed(req.Approve)
	}
	if req.Resume && s.current() != "" && (s.wasShown() || s.planned) {
		return s.load()
	}
	if req.Resume { // its text was said when it was opened again
		return s.plan(ctx, "")
	}
	return s.plan(ctx, req.Text)
}

// hashed finds the one spec whose plan has this hash: --approve alone. It calls no
// model.
func (s *Session) hashed(hash string) (*spec.Plan, outcome, bool) {
	all, err := s.o.Specs.List()
	if err != nil {
		return nil, failed("list the specs", err), false
	}
	var found []spec.Plan
	var names []string
	for _, p := range all {
		if p.Hash == hash {
			found = append(found, p)
			names = append(names, p.ID)
		}
	}
	switch len(found) {
	case 1:
		s.setSpec(found[0].ID)
		return &found[0], outcome{}, true
	case 0:
		for _, p := range all {
			if p.Hash != "" {
				names = append(names, fmt.Sprintf("%s has %s", p.ID, p.Hash))
			}
		}
		if len(names) == 0 {
			names = []string{"there are no plans"}
		}
		return nil, outcome{
			status: "needs_approval", code: exitNeedsApproval,
			summary: fmt.Sprintf("No plan here has the hash %s that --approve named (%s). Read the plan again with coderrr spec show, then approve it as it is.", hash, strings.Join(names, "; ")),
		}, false
	default:
		return nil, outcome{
			status: "needs_approval", code: exitNeedsApproval,
			summary: fmt.Sprintf("Several plans have the hash %s: %s. Say which one with --spec.", hash, strings.Join(names, ", ")),
		}, false
	}
}

func (s *Session) load() (*spec.Plan, outcome, bool) {
	plan, err := s.o.Specs.Load(s.current())
	if err != nil {
		return nil, failed("load the plan", err), false
	}
	return &plan, outcome{}, true
}
