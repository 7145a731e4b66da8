package fs

import (
	"context"

	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/verify"
)

// Verify lets a verifier judge the changes of a Set.
func Verify(v *verify.Verifier) tools.Verifier { return judge{v} }

type judge struct{ v *verify.Verifier }

// Verify implements tools.Verifier.
func (j judge) Verify(ctx context.Context, c tools.Change) (verdict, reason string) {
	e := c.Event()
	p := verify.Proposal{
		Path: c.Path, From: c.From, Op: string(c.Op), Intent: c.Intent, Diff: e.Diff, Truncated: e.DiffTruncated,
	}
	for _, f := range c.Files {
		p.Files = append(p.Files, f.Path)
	}
	got, reason := j.v.Verify(ctx, p)
	return string(got), reason
}
