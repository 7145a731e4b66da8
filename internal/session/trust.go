package session

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/coderrr/coderrr/internal/guidance"
)

// guidance is what of the found guidance is used. What lies in the workspace (a
// relative path) is left out if Options.Trust says no.
func (s *Session) guidance(ctx context.Context) []guidance.Doc {
	if s.o.Trust == nil || s.o.Trust(ctx, s.asker) {
		return s.o.Guidance
	}
	return slices.DeleteFunc(slices.Clone(s.o.Guidance), func(d guidance.Doc) bool { return !filepath.IsAbs(d.Path) })
}
