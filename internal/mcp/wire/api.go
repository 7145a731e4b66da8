package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// Tools lists all tools. Over HTTP in 2026-07-28 a tool whose header annotations
// break the rules is left out; dropped says why, by name.
func (c *Client) Tools(ctx context.Context) (list []Tool, dropped map[string]string, err error) {
	if info := c.Info(); info.Capabilities.Tools == nil && !info.Modern {
		return nil, nil, nil
	}
	all, err := pages[Tool](ctx, c, "tools/list", "tools")
	if err != nil {
		return nil, nil, err
	}
	params, dropped := map[string][]headerParam{}, map[string]string{}
	for _, t := range all {
		if c.mirrors() {
			found, err := headerParams(t.InputSchema)
			if err != nil {
				dropped[t.Name] = err.Error()
				continue
			}
			params[t.Name] = found
		}
		list = append(list, t)
	}
	c.mu.Lock()
	c.params = params
	c.mu.Unlock()
	return list, dropped, nil
}

// mirrors reports whether arguments are repeated in HTTP headers.
func (c *Client) mirrors() bool { return c.Info().Modern && c.t.kind() != "stdio" }

// Call calls a tool. An error of the tool itself is a Result with IsError; the
// error is for what kept the call from being answered.
func (c *Client) Call(ctx context.Context, in Call) (Result, error) {
	args := in.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	progress := in.Progress
	if progress == nil {
		progress = func(Progress) {} // a token is sent so that progress can extend the limit
	}
	params := map[string]any{"name": in.Tool, "arguments": args}
	do := func() (message, error) {
		c.mu.Lock()
		found := c.params[in.Tool]
		c.mu.Unlock()
		return c.rounds(ctx, "tools/call", params, call{name: in.Tool, progress: progress, headers: mirror(found, args)})
	}
	m, err := do()
	var rpc *RPCError
	if errors.As(err, &rpc) && rpc.Code == codeHeaderMismatch && c.mirrors() {
		// Our copy of the schema is out of date (2026-07-28, streamable-http.mdx).
		if _, _, listErr := c.Tools(ctx); listErr == nil {
			m, err = do()
		}
	}
	if err != nil {
		return Result{}, err
	}
	var res struct {
		Content    []Content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Legacy     json.RawMessage `json:"toolResult"` // 2024-10-07
		Type       string          `json:"resultType"`
	}
	if err := json.Unmarshal(m.Result, &res); err != nil {
		return Result{}, fmt.Errorf("the result of %s cannot be read: %w", short(in.Tool), err)
	}
	if res.Type == "task" {
		return Result{}, fmt.Errorf("%s answers with a task to wait for, which is not supported", short(in.Tool))
	}
	if len(res.Content) == 0 && len(res.Legacy) > 0 {
		res.Content = []Content{{Type: "text", Text: string(res.Legacy)}}
	}
	return Result{Content: res.Content, Structured: res.Structured, IsError: res.IsError, Cut: m.cut}, nil
}

// rounds sends a request and answers what the server asks on the way: each round
// is a new request that carries the answers and the server's state, unread.
func (c *Client) rounds(ctx context.Context, method string, params map[string]any, o call) (message, error) {
	send := maps.Clone(params)
	for range maxRounds {
		m, err := c.request(ctx, method, maps.Clone(send), o)
		if err != nil {
			return m, err
		}
		var r struct {
			Type  string                     `json:"resultType"`
			Asked map[string]json.RawMessage `json:"inputRequests"`
			State json.RawMessage            `json:"requestState"`
		}
		if json.Unmarshal(m.Result, &r) != nil || r.Type != "input_required" {
			return m, nil
		}
		if m.cut > 0 {
			return m, fmt.Errorf("%w: what the server asks was cut", ErrTooLarge)
		}
		answers, err := c.inputs(ctx, r.Asked)
		if err != nil {
			return m, err
		}
		send = maps.Clone(params)
		if len(answers) > 0 {
			send["inputResponses"] = answers
		}
		if len(r.State) > 0 {
			send["requestState"] = r.State
		}
	}
	return message{}, fmt.Errorf("%s asked %d times for more and is not finished", method, maxRounds)
}

// Resources lists all resources, nil where the server has none.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	if c.Info().Capabilities.Resources == nil {
		return nil, nil
	}
	return pages[Resource](ctx, c, "resources/list", "resources")
}

// Templates lists all resource templates, nil where the server has none.
func (c *Client) Templates(ctx context.Context) ([]Resource, error) {
	if c.Info().Capabilities.Resources == nil {
		return nil, nil
	}
	return pages[Resource](ctx, c, "resources/templates/list", "resourceTemplates")
}

// Read reads a resource. Cut is the number of bytes left out while it was read.
func (c *Client) Read(ctx context.Context, uri string) (docs []Document, cut int64, err error) {
	m, err := c.rounds(ctx, "resources/read", map[string]any{"uri": uri}, call{name: uri})
	if err != nil {
		return nil, 0, err
	}
	var res struct {
		Contents []Document `json:"contents"`
	}
	if err := json.Unmarshal(m.Result, &res); err != nil {
		return nil, 0, fmt.Errorf("the resource %s cannot be read: %w", short(uri), err)
	}
	return res.Contents, m.cut, nil
}

// Prompts lists all prompts, nil where the server has none.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	if c.Info().Capabilities.Prompts == nil {
		return nil, nil
	}
	return pages[Prompt](ctx, c, "prompts/list", "prompts")
}

// Prompt fills a prompt in.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) ([]PromptMessage, error) {
	params := map[string]any{"name": name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	m, err := c.rounds(ctx, "prompts/get", params, call{name: name})
	if err != nil {
		return nil, err
	}
	var res struct {
		Messages []PromptMessage `json:"messages"`
	}
	if err := json.Unmarshal(m.Result, &res); err != nil {
		return nil, fmt.Errorf("the prompt %s cannot be read: %w", short(name), err)
	}
	return res.Messages, nil
}

// Complete asks for completions of an argument of a prompt or template.
func (c *Client) Complete(ctx context.Context, ref map[string]string, argument, value string) ([]string, error) {
	m, err := c.request(ctx, "completion/complete", map[string]any{
		"ref": ref, "argument": map[string]string{"name": argument, "value": value},
	}, call{})
	if err != nil {
		return nil, err
	}
	var res struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	err = json.Unmarshal(m.Result, &res)
	return res.Completion.Values, err
}

// Request sends any other request, such as one of an extension.
func (c *Client) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	m, err := c.request(ctx, method, maps.Clone(params), call{})
	return m.Result, err
}

// pages follows a list to its end. Only a missing cursor ends it: an empty one is
// a cursor like any other. A server that never ends is stopped.
func pages[T any](ctx context.Context, c *Client, method, member string) ([]T, error) {
	var (
		all    []T
		params map[string]any
		seen   = map[string]bool{}
	)
	for range maxPages {
		m, err := c.request(ctx, method, params, call{})
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		if err := json.Unmarshal(m.Result, &page); err != nil {
			return nil, fmt.Errorf("the answer to %s cannot be read: %w", method, err)
		}
		var items []json.RawMessage
		if raw := page[member]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &items); err != nil {
				return nil, fmt.Errorf("the answer to %s cannot be read: %w", method, err)
			}
		}
		for _, raw := range items {
			var item T
			if json.Unmarshal(raw, &item) == nil { // one bad entry does not lose the others
				all = append(all, item)
			}
		}
		if len(all) > maxItems {
			return nil, fmt.Errorf("%w: %s has more than %d entries", ErrTooLarge, method, maxItems)
		}
		var cursor *string
		if json.Unmarshal(page["nextCursor"], &cursor) != nil || cursor == nil {
			return all, nil
		}
		if seen[*cursor] {
			return nil, fmt.Errorf("the pages of %s go round in a circle", method)
		}
		seen[*cursor] = true
		params = map[string]any{"cursor": *cursor}
	}
	return nil, fmt.Errorf("%w: %s has more than %d pages", ErrTooLarge, method, maxPages)
}
