package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/term"
)

// about says what a session under c would use and asks the provider whether it
// answers. The list of its models is nil where there is none.
func (r *runner) about(ctx context.Context, c config.Config, home string) (doctor.About, []llm.ModelInfo, error) {
	app, err := r.build(ctx, Env{Getenv: r.io.Getenv, Home: home, Config: c, Dir: r.io.Dir, Version: r.version, Notice: r.errln})
	if err != nil {
		return doctor.About{}, nil, err
	}
	return reach(ctx, app.About, app.Provider)
}

// reach is what is known, and what the provider answers. A provider that cannot be
// asked, for want of a key, is a problem of its own.
func reach(ctx context.Context, about func(context.Context) (doctor.About, error), provider func(context.Context) (llm.Provider, error)) (doctor.About, []llm.ModelInfo, error) {
	a, err := about(ctx)
	if err != nil {
		return a, nil, err
	}
	p, err := provider(ctx)
	if err != nil && a.Problem != "" {
		return a, nil, nil
	}
	if err != nil {
		return a, nil, err
	}
	return a, a.Reach(ctx, p), nil
}

func (r *runner) modelsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "models", Short: "list what the provider serves", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.models(cmd.Context()) },
	}
	r.modelFlag(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print JSON")
	return cmd
}

// modelRow is a model in --json.
type modelRow struct {
	ID            string   `json:"id"`
	Name          string   `json:"name,omitempty"`
	ContextTokens *int64   `json:"context_tokens"`
	InputPrice    *float64 `json:"input_usd_per_mtok"`
	OutputPrice   *float64 `json:"output_usd_per_mtok"`
	Current       bool     `json:"current"`
}

func (r *runner) models(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	home, c, err := r.load()
	if err != nil {
		return err
	}
	about, models, err := r.about(ctx, c.WithModel(r.flags.model), home)
	if err != nil {
		return err
	}
	rows := modelRows(about, models)
	if r.flags.json {
		err = r.printJSON(struct {
			Provider doctor.About `json:"provider"`
			Models   []modelRow   `json:"models"`
		}{about, rows})
	} else {
		style := r.style(r.io.OutTerminal, 0)
		r.outln(aboutText(style, about))
		if len(rows) > 0 {
			r.outln(style.Table(modelTable(rows)))
		}
	}
	if err == nil && !about.Reachable {
		return &Failure{Code: ExitProvider, Err: errors.New(about.Problem), Remedy: about.Remedy}
	}
	return err
}

func modelRows(about doctor.About, models []llm.ModelInfo) []modelRow {
	rows := make([]modelRow, 0, len(models))
	for _, m := range models {
		var known doctor.About
		known.Known(m)
		row := modelRow{ID: m.ID, Name: m.Name, ContextTokens: known.ContextTokens, InputPrice: known.InputUSD, OutputPrice: known.OutputUSD}
		if m.ID == about.Model || m.ID == about.Model+":latest" {
			row.Current, row.ContextTokens, row.InputPrice, row.OutputPrice = true, about.ContextTokens, about.InputUSD, about.OutputUSD
		}
		rows = append(rows, row)
	}
	return rows
}

// aboutText is what is in force, a line each.
func aboutText(style term.Style, a doctor.About) string {
	key := "none"
	if a.Key != "" {
		key = a.Key + " (" + config.Mask + ")"
	}
	answers := "yes"
	if !a.Reachable {
		answers = "NO"
	}
	name := a.Provider
	if a.Profile != a.Provider {
		name = a.Profile + " (" + a.Provider + ")"
	}
	rows := [][]string{
		{"provider", name},
		{"endpoint", a.Endpoint},
		{"key", key},
		{"model", a.Model},
		{"context", a.Size()},
		{"price", a.Price()},
		{"answers", answers},
	}
	for _, extra := range [][]string{{"problem", a.Problem}, {"remedy", a.Remedy}, {"warning", a.Warning}} {
		if extra[1] != "" {
			rows = append(rows, extra)
		}
	}
	return style.Table(rows)
}

func modelTable(rows []modelRow) [][]string {
	out := [][]string{{" ", "MODEL", "CONTEXT", "USD PER MTOK IN/OUT"}}
	for _, m := range rows {
		mark, size, price := " ", "unknown", "unknown"
		if m.Current {
			mark = "*"
		}
		if m.ContextTokens != nil {
			size = fmt.Sprint(*m.ContextTokens)
		}
		if m.InputPrice != nil {
			price = fmt.Sprintf("%g/%g", *m.InputPrice, *m.OutputPrice)
		}
		out = append(out, []string{mark, m.ID, size, price})
	}
	return out
}
