package skills

import (
	"context"
	"errors"
)

// Shelf is all skills there are: the local ones, then a registry's. Safe for
// concurrent use.
type Shelf struct {
	Local Local
	// Registry may be nil. Problem then says why, if it should be there.
	Registry *Registry
	Problem  error
}

// Search returns what fits, the local ones first. A registry that cannot be used is
// an error only if nothing local fits.
func (s Shelf) Search(ctx context.Context, query string, limit int) ([]Info, error) {
	found, err := s.Local.Search(ctx, query, limit)
	if err != nil || len(found) >= limit {
		return found, err
	}
	more, err := s.remote(ctx, query, limit)
	if err != nil && len(found) > 0 && ctx.Err() == nil {
		return found, nil
	}
	have := map[string]bool{}
	for _, i := range found {
		have[i.Name] = true
	}
	for _, i := range more {
		if len(found) < limit && !have[i.Name] {
			found = append(found, i)
		}
	}
	return found, err
}

func (s Shelf) remote(ctx context.Context, query string, limit int) ([]Info, error) {
	if s.Registry == nil {
		return nil, s.Problem
	}
	return s.Registry.Search(ctx, query, limit)
}

// Load reads the local skill of this name, or else the registry's.
func (s Shelf) Load(ctx context.Context, name string) (Skill, error) {
	skill, err := s.Local.Load(ctx, name)
	if !errors.Is(err, ErrNoSkill) {
		return skill, err
	}
	switch {
	case s.Registry != nil:
		return s.Registry.Load(ctx, name)
	case s.Problem != nil:
		return Skill{}, s.Problem
	default:
		return Skill{}, err
	}
}
