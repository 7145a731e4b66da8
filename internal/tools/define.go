package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/coderrr/coderrr/internal/policy"
)

// Define makes a tool from a function with typed arguments. The schema comes from
// In's tags (json, jsonschema, jsonschema_description); arguments are decoded
// strictly, so an unknown or missing name or a wrong type is a result that says
// what was expected. An error of run becomes a failed result.
func Define[In any](name, description string, class policy.Class, run func(context.Context, In) (Result, error)) Tool {
	return &typed[In]{spec: specOf[In](name, description), class: class, run: run}
}

// DefineWrite makes a WRITE tool from a function that proposes a change.
func DefineWrite[In any](name, description string, propose func(context.Context, In) (Change, error)) Proposer {
	return &typedWrite[In]{spec: specOf[In](name, description), propose: propose}
}

type typed[In any] struct {
	spec  Spec
	class policy.Class
	run   func(context.Context, In) (Result, error)
}

func (t *typed[In]) Spec() Spec          { return t.spec }
func (t *typed[In]) Class() policy.Class { return t.class }

func (t *typed[In]) Run(ctx context.Context, input json.RawMessage) Result {
	in, err := Decode[In](t.spec, input)
	if err != nil {
		return AsResult(t.spec.Name, err)
	}
	res, err := t.run(ctx, in)
	if err != nil {
		return AsResult(t.spec.Name, err)
	}
	return res
}

type typedWrite[In any] struct {
	spec    Spec
	propose func(context.Context, In) (Change, error)
}

func (t *typedWrite[In]) Spec() Spec          { return t.spec }
func (t *typedWrite[In]) Class() policy.Class { return policy.Write }

// Run never runs: Set commits what Propose returns.
func (t *typedWrite[In]) Run(context.Context, json.RawMessage) Result {
	return Fail(t.spec.Name + " only proposes changes; it cannot be run by itself")
}

func (t *typedWrite[In]) Propose(ctx context.Context, input json.RawMessage) (Change, error) {
	in, err := Decode[In](t.spec, input)
	if err != nil {
		return Change{}, err
	}
	return t.propose(ctx, in)
}

// Decode reads arguments into In and checks them against the schema's required
// and known names. The error is a Failure that shows the schema's arguments.
func Decode[In any](spec Spec, input json.RawMessage) (In, error) {
	var in In
	if len(strings.TrimSpace(string(input))) == 0 {
		input = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		why := err.Error()
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			why = "they are of type " + wrong.Value
		}
		return in, Explain(fmt.Sprintf("%s: the arguments are not a JSON object (%s). %s", spec.Name, why, usage(spec)))
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		return in, fmt.Errorf("read the schema of %s: %w", spec.Name, err)
	}
	for name := range given {
		if _, known := schema.Properties[name]; !known {
			return in, Explain(fmt.Sprintf("%s has no argument %q. %s", spec.Name, name, usage(spec)))
		}
	}
	for _, name := range schema.Required {
		if v, ok := given[name]; !ok || string(v) == "null" {
			return in, Explain(fmt.Sprintf("%s needs the argument %q. %s", spec.Name, name, usage(spec)))
		}
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return in, Explain(fmt.Sprintf("%s: %s. %s", spec.Name, mismatch(err), usage(spec)))
	}
	return in, nil
}

// mismatch says which argument has the wrong type, without Go's names for it.
func mismatch(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := "another type"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32:
		want = "a whole number"
	case reflect.Float64, reflect.Float32:
		want = "a number"
	case reflect.Slice:
		want = "a list"
	case reflect.Struct, reflect.Map:
		want = "an object"
	}
	return fmt.Sprintf("the argument %q must be %s, not %s", wrong.Field, want, wrong.Value)
}

// usage lists a tool's arguments for a model that got them wrong.
func usage(spec Spec) string {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(spec.Schema, &schema) != nil {
		return ""
	}
	required := map[string]bool{}
	for _, n := range schema.Required {
		required[n] = true
	}
	names := sortedKeys(schema.Properties)
	for i, n := range names {
		kind := fmt.Sprint(schema.Properties[n].Type)
		if !required[n] {
			kind += ", optional"
		}
		names[i] = n + " (" + kind + ")"
	}
	if len(names) == 0 {
		return "It takes no arguments."
	}
	return "It takes: " + strings.Join(names, ", ") + "."
}

func specOf[In any](name, description string) Spec {
	r := jsonschema.Reflector{DoNotReference: true, ExpandedStruct: true, Anonymous: true}
	schema := r.Reflect(new(In))
	schema.Version = ""
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", name, err)) // wiring: In is a plain struct
	}
	return Spec{Name: name, Description: description, Schema: raw}
}
