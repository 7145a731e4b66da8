package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/mcp/oauth"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// grant is how the scenarios for machines get their tokens.
func (s *scenario) grant() oauth.Grant {
	g := s.given
	switch {
	case strings.HasPrefix(s.name, "auth/client-credentials"):
		return oauth.ClientCredentials{ClientID: g.ClientID, ClientSecret: g.ClientSecret, PrivateKey: g.PrivateKey}
	case strings.HasPrefix(s.name, "auth/enterprise-managed"), strings.HasPrefix(s.name, "auth/cross-app-access"):
		return oauth.Enterprise{
			ClientID: g.ClientID, ClientSecret: g.ClientSecret,
			IDPClientID: g.IDPClientID, IDToken: g.IDToken, IDPTokenEndpoint: g.IDPTokenEndpoint,
		}
	case strings.HasPrefix(s.name, "auth/wif"):
		return oauth.Workload{ClientID: g.ClientID, JWT: g.ValidJWT}
	}
	return nil
}

// accept is a person who takes what a form proposes.
func accept(_ context.Context, e wire.Elicitation) wire.ElicitResult {
	var form struct {
		Properties map[string]struct {
			Type    string `json:"type"`
			Default any    `json:"default"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(e.Schema, &form) // a form that cannot be read has no fields
	content := map[string]any{}
	for name, f := range form.Properties {
		switch {
		case f.Default != nil:
			content[name] = f.Default
		case f.Type == "boolean":
			content[name] = true
		case f.Type == "string":
			content[name] = "coderrr"
		}
	}
	return wire.ElicitResult{Action: "accept", Content: content}
}

// run connects, looks at what there is, and does what the scenario is about.
func (s *scenario) run(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = c.Close(done) // the suite has its answer by now
	}()
	if strings.Contains(s.name, "skills") || strings.HasPrefix(s.name, "sep-2640") {
		return s.skills(ctx, c)
	}
	tools, _, err := c.Tools(ctx)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	if len(s.given.ToolCalls) > 0 {
		for _, call := range s.given.ToolCalls {
			if _, err := c.Call(ctx, wire.Call{Tool: call.Name, Arguments: call.Arguments}); err != nil {
				return fmt.Errorf("call %s: %w", call.Name, err)
			}
		}
		return nil
	}
	if err := s.call(ctx, c, tools); err != nil {
		return err
	}
	return s.others(ctx, c)
}

// call calls every tool with arguments that fit its schema.
func (s *scenario) call(ctx context.Context, c *wire.Client, tools []wire.Tool) error {
	var errs []error
	for _, t := range tools {
		_, err := c.Call(ctx, wire.Call{Tool: t.Name, Arguments: example(t, tools)})
		var rpc *wire.RPCError
		if errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound {
			continue // some of the suite's servers list tools and have none to call
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("call %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

// example makes arguments for a tool. A tool that wants to be given a schema gets
// another tool's, as it came.
func example(t wire.Tool, tools []wire.Tool) json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // without properties there are no arguments
	args := map[string]any{}
	for name, p := range schema.Properties {
		switch p.Type {
		case "number", "integer":
			args[name] = 1
		case "boolean":
			args[name] = true
		case "string":
			args[name] = "coderrr"
		case "object", "":
			args[name] = map[string]any{}
			if i := slices.IndexFunc(tools, func(o wire.Tool) bool { return o.Name != t.Name }); i >= 0 && strings.Contains(strings.ToLower(name), "schema") {
				args[name] = tools[i].InputSchema
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return raw
}

// others uses resources and prompts where they are offered.
func (s *scenario) others(ctx context.Context, c *wire.Client) error {
	if strings.HasPrefix(s.name, "auth/") {
		return nil
	}
	resources, err := c.Resources(ctx)
	if err != nil {
		return fmt.Errorf("list the resources: %w", err)
	}
	for _, r := range resources {
		if _, _, err := c.Read(ctx, r.URI); err != nil {
			return fmt.Errorf("read %s: %w", r.URI, err)
		}
	}
	prompts, err := c.Prompts(ctx)
	if err != nil {
		return fmt.Errorf("list the prompts: %w", err)
	}
	for _, p := range prompts {
		args := map[string]string{}
		for _, a := range p.Arguments {
			args[a.Name] = "coderrr"
		}
		if _, err := c.Prompt(ctx, p.Name, args); err != nil {
			return fmt.Errorf("get the prompt %s: %w", p.Name, err)
		}
	}
	return nil
}

// skills lists the skills and, where the scenario is about reading, reads the
// first one and then its other files.
func (s *scenario) skills(ctx context.Context, c *wire.Client) error {
	list, err := c.Skills(ctx)
	if err != nil {
		return fmt.Errorf("list the skills: %w", err)
	}
	if strings.HasSuffix(s.name, "no-prefetch") || len(list) == 0 {
		return nil
	}
	if _, err := c.ReadSkill(ctx, list[0], list[0].URI); err != nil {
		return err
	}
	for _, f := range list[0].Resources {
		if _, err := c.ReadSkill(ctx, list[0], f.URI); err != nil {
			return err
		}
	}
	return nil
}
