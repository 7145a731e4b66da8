package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

func (r *runner) schemaCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "schema", Short: "print the JSON Schema of events, configuration or tools"}
	toolsCmd := &cobra.Command{
		Use: "tools", Short: "the tools that each mode exposes, with their arguments", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.schemaTools(cmd.Context()) },
	}
	r.workspaceFlag(toolsCmd.Flags())
	cmd.AddCommand(
		&cobra.Command{
			Use: "events", Short: "one line of --json and of a session's log", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return r.printJSON(eventSchema()) },
		},
		&cobra.Command{
			Use: "config", Short: "config.toml", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return r.printJSON(configSchema()) },
		},
		toolsCmd,
	)
	return cmd
}

// payloads lists every event, in the order of CONTRACT §Events.
func payloads() []event.Payload {
	return []event.Payload{
		event.SessionStarted{},
		event.PhaseChanged{},
		event.TurnStarted{},
		event.TurnFinished{},
		event.UserMessage{},
		event.TextDelta{},
		event.ThinkingDelta{},
		event.TextDone{},
		event.ThinkingDone{},
		event.MessageAdded{},
		event.ToolStarted{},
		event.ToolOutput{},
		event.ToolFinished{},
		event.SpecWritten{},
		event.PlanReady{},
		event.AskOpened{},
		event.AskClosed{},
		event.FileChanged{},
		event.TaskUpdated{},
		event.VerifyFinished{},
		event.UsageAdded{},
		event.RetryScheduled{},
		event.ContextChanged{},
		event.Notice{},
		event.SessionFinished{},
	}
}

// eventSchema is one schema for any line: the envelope and the fields of its type.
// Fields are only ever added, so unknown ones are allowed.
func eventSchema() *jsonschema.Schema {
	r := jsonschema.Reflector{DoNotReference: true, Anonymous: true, AllowAdditionalProperties: true, Mapper: special}
	root := &jsonschema.Schema{
		Version: jsonschema.Version, ID: "https://github.com/coderrr/coderrr/schema/events",
		Title: "Coderrr event", Description: fmt.Sprintf("One line of --json and of a session's log, format version %d.", event.Version),
	}
	for _, p := range payloads() {
		s := r.ReflectFromType(reflect.TypeOf(p))
		s.Version, s.ID, s.Title = "", "", p.Type()
		s.Properties.Set("seq", &jsonschema.Schema{Type: "integer", Minimum: "1", Description: "grows; gaps are allowed"})
		s.Properties.Set("time", &jsonschema.Schema{Type: "string", Format: "date-time"})
		s.Properties.Set("type", &jsonschema.Schema{Const: p.Type()})
		s.Required = append(s.Required, "seq", "time", "type")
		root.OneOf = append(root.OneOf, s)
	}
	return root
}

// special describes the types whose JSON is not that of their fields. A pointer
// or a nil slice may be null.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[llm.Blocks]():
		kind := jsonschema.NewProperties()
		kind.Set("type", &jsonschema.Schema{Type: "string", Enum: []any{"text", "image", "thinking", "tool_use", "tool_result", "opaque"}})
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object", Properties: kind, Required: []string{"type"}}}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Description: "any JSON"}
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[*float64]():
		return orNull(&jsonschema.Schema{Type: "number"})
	case reflect.TypeFor[*event.Evidence]():
		r := jsonschema.Reflector{DoNotReference: true, Anonymous: true, AllowAdditionalProperties: true}
		s := r.ReflectFromType(t.Elem())
		s.Version = ""
		return orNull(s)
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		r := jsonschema.Reflector{DoNotReference: true, Anonymous: true, AllowAdditionalProperties: true, Mapper: special}
		items := r.ReflectFromType(t.Elem())
		items.Version = ""
		return orNull(&jsonschema.Schema{Type: "array", Items: items})
	}
	return nil
}

func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

func configSchema() *jsonschema.Schema {
	r := jsonschema.Reflector{
		DoNotReference: true, Anonymous: true, AllowAdditionalProperties: true, RequiredFromJSONSchemaTags: true, FieldNameTag: "toml",
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[config.Secret]() {
				return &jsonschema.Schema{Type: "string"}
			}
			return nil
		},
	}
	s := r.ReflectFromType(reflect.TypeFor[config.Config]())
	s.ID, s.Title = "https://github.com/coderrr/coderrr/schema/config", "Coderrr configuration"
	return s
}

// toolRow is a tool in schema tools.
type toolRow struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

func (r *runner) schemaTools(ctx context.Context) error {
	app, _, err := r.app(ctx)
	if err != nil {
		return err
	}
	modes, err := app.ToolSpecs(ctx)
	if err != nil {
		return err
	}
	out := map[string][]toolRow{}
	for mode, specs := range modes {
		out[mode] = []toolRow{}
		for _, s := range specs {
			out[mode] = append(out[mode], toolRow{s.Name, s.Description, s.Schema})
		}
	}
	return r.printJSON(out)
}
