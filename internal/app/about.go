package app

import (
	"context"
	"errors"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/doctor"
)

// About implements cli.Parts. The server is asked only for what is not known of
// the model.
func (a *App) About(ctx context.Context) (doctor.About, error) {
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return doctor.About{}, providerFailure(err)
	}
	out := doctor.About{Provider: m.Kind, Profile: m.Profile, Endpoint: m.Address(), Model: m.Name}
	_, from, err := a.env.Config.Key(m, a.env.Getenv, a.vault)
	if err != nil {
		out.Problem = err.Error()
	}
	out.Key = from
	info, _ := a.lookup(m, m.Name)
	p, err := a.adapter(m, nil)
	var failure *cli.Failure
	if errors.As(err, &failure) {
		out.Problem, out.Remedy = failure.Err.Error(), failure.Remedy
	} else if err != nil {
		return doctor.About{}, err
	} else if learn := learner(m, p, info); learn != nil {
		info, out.Warning = learn(ctx)
	}
	out.Known(info)
	return out, nil
}
