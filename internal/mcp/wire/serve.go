package wire

import (
	"context"
	"encoding/json"
	"fmt"
)

// serve answers a request of the server. A flood of them is not answered: the
// server's own time limit tells it. Whatever is not supported is declined by name.
func (c *Client) serve(m message) {
	select {
	case c.serving <- struct{}{}:
	default:
		return
	}
	c.work.Go(func() {
		defer func() { <-c.serving }()
		result, rpc := c.handle(c.life, m.Method, m.Params)
		c.respond(c.life, m.ID, result, rpc)
	})
}

func (c *Client) respond(ctx context.Context, id json.RawMessage, result any, rpc *RPCError) {
	msg := map[string]any{"jsonrpc": jsonrpc, "id": id}
	if rpc != nil {
		msg["error"] = rpc
	} else {
		msg["result"] = result
	}
	body, err := encode(msg)
	if err != nil {
		return
	}
	c.trace("→", body)
	_ = c.t.post(ctx, outgoing{body: body}) // the server's own time limit tells it
}

// handle answers one request: of a session, or within a call (2026-07-28).
func (c *Client) handle(ctx context.Context, method string, params json.RawMessage) (any, *RPCError) {
	switch method {
	case "ping":
		return struct{}{}, nil
	case "roots/list":
		if c.o.Roots != nil {
			return map[string]any{"roots": c.o.Roots}, nil
		}
	case "elicitation/create":
		if c.o.Elicit != nil {
			var e Elicitation
			if err := json.Unmarshal(params, &e); err != nil {
				return nil, &RPCError{Code: CodeInvalidParams, Message: "the question cannot be read"}
			}
			return c.o.Elicit(ctx, e), nil
		}
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: fmt.Sprintf("%s is not supported by this client", short(method))}
}

// capabilities are declared only as far as they are served.
func (c *Client) capabilities() map[string]any {
	caps := map[string]any{}
	if c.o.Roots != nil {
		caps["roots"] = struct{}{}
	}
	if c.o.Elicit != nil {
		caps["elicitation"] = map[string]any{"form": struct{}{}, "url": struct{}{}}
	}
	if len(c.o.Extensions) > 0 {
		caps["extensions"] = c.o.Extensions
	}
	return caps
}

// inputs answers the questions of an unfinished call (2026-07-28,
// basic/patterns/mrtr.mdx).
func (c *Client) inputs(ctx context.Context, asked map[string]json.RawMessage) (map[string]any, error) {
	out := map[string]any{}
	for key, raw := range asked {
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(raw, &q); err != nil {
			return nil, fmt.Errorf("the server asks %q in a form that cannot be read", short(key))
		}
		answer, rpc := c.handle(ctx, q.Method, q.Params)
		if rpc != nil {
			return nil, fmt.Errorf("the server needs %s for this call, which is not supported", short(q.Method))
		}
		out[key] = answer
	}
	return out, nil
}
