package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coderrr/coderrr/internal/llm"
)

// events writes the pieces of an answer.
type events struct {
	ctx   context.Context
	w     http.ResponseWriter
	pause time.Duration
	lines bool
	err   error
}

func (e *events) begin() {
	kind := "text/event-stream"
	if e.lines {
		kind = "application/x-ndjson"
	}
	e.w.Header().Set("Content-Type", kind)
	e.w.WriteHeader(http.StatusOK)
}

func (e *events) raw(s string) {
	if e.err = pause(e.ctx, e.pause); e.err != nil {
		return
	}
	if _, e.err = io.WriteString(e.w, s); e.err != nil {
		return
	}
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

type obj = map[string]any

// send writes one event; name may be "".
func (e *events) send(name string, v any) {
	if e.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	switch {
	case e.lines:
		e.raw(string(data) + "\n")
	case name != "":
		e.raw("event: " + name + "\ndata: " + string(data) + "\n\n")
	default:
		e.raw("data: " + string(data) + "\n\n")
	}
}

func input(c Call) json.RawMessage {
	raw, _ := c.Input.(json.RawMessage)
	return raw
}

func writeChat(out *events, model string, t Turn) {
	chunk := func(delta obj, finish any) {
		out.send("", obj{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(obj{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(t.Thinking) {
		chunk(obj{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(t.Text) {
		chunk(obj{"content": p}, nil)
	}
	for i, c := range t.Calls {
		chunk(obj{"tool_calls": []any{obj{"index": i, "id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": ""}}}}, nil)
		for _, p := range pieces(string(input(c))) {
			chunk(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": p}}}}, nil)
		}
	}
	finish := map[llm.StopReason]string{llm.StopToolUse: "tool_calls", llm.StopMaxTokens: "length", llm.StopRefusal: "content_filter"}[t.Stop]
	if finish == "" {
		finish = "stop"
	}
	chunk(obj{}, finish)
	out.send("", obj{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": []any{}, "usage": obj{
		"prompt_tokens": t.Usage.TotalInput(), "completion_tokens": t.Usage.Output, "total_tokens": t.Usage.TotalInput() + t.Usage.Output,
		"prompt_tokens_details": obj{"cached_tokens": t.Usage.CacheRead, "cache_write_tokens": t.Usage.CacheWrite},
	}})
	out.raw("data: [DONE]\n\n")
}

func writeAnthropic(out *events, model string, t Turn) {
	out.send("message_start", obj{"type": "message_start", "message": obj{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": model, "stop_reason": nil,
		"usage": obj{"input_tokens": t.Usage.Input, "output_tokens": 1, "cache_read_input_tokens": t.Usage.CacheRead, "cache_creation_input_tokens": t.Usage.CacheWrite},
	}})
	n := 0
	block := func(start obj, deltas []obj) {
		out.send("content_block_start", obj{"type": "content_block_start", "index": n, "content_block": start})
		for _, d := range deltas {
			out.send("content_block_delta", obj{"type": "content_block_delta", "index": n, "delta": d})
		}
		out.send("content_block_stop", obj{"type": "content_block_stop", "index": n})
		n++
	}
	deltas := func(text, kind, key string) []obj {
		var list []obj
		for _, p := range pieces(text) {
			list = append(list, obj{"type": kind, key: p})
		}
		return list
	}
	if t.Thinking != "" {
		block(obj{"type": "thinking", "thinking": "", "signature": ""},
			append(deltas(t.Thinking, "thinking_delta", "thinking"), obj{"type": "signature_delta", "signature": "c2lnbmVk"}))
	}
	if t.Text != "" {
		block(obj{"type": "text", "text": ""}, deltas(t.Text, "text_delta", "text"))
	}
	for _, c := range t.Calls {
		block(obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": obj{}}, deltas(string(input(c)), "input_json_delta", "partial_json"))
	}
	out.send("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": t.Stop, "stop_sequence": nil}, "usage": obj{"output_tokens": t.Usage.Output}})
	out.send("message_stop", obj{"type": "message_stop"})
}

func writeGemini(out *events, model string, t Turn) {
	send := func(part, more obj) {
		cand := obj{"index": 0, "content": obj{"role": "model", "parts": []any{part}}}
		if part == nil {
			cand["content"] = obj{"role": "model"}
		}
		for k, v := range more {
			cand[k] = v
		}
		out.send("", obj{"candidates": []any{cand}, "modelVersion": model, "usageMetadata": obj{
			"promptTokenCount": t.Usage.TotalInput(), "cachedContentTokenCount": t.Usage.CacheRead,
			"candidatesTokenCount": t.Usage.Output, "totalTokenCount": t.Usage.TotalInput() + t.Usage.Output,
		}})
	}
	for _, p := range pieces(t.Thinking) {
		send(obj{"text": p, "thought": true}, nil)
	}
	for _, p := range pieces(t.Text) {
		send(obj{"text": p}, nil)
	}
	for i, c := range t.Calls {
		part := obj{"functionCall": obj{"name": c.Name, "id": c.ID, "args": input(c)}}
		if i == 0 {
			part["thoughtSignature"] = "c2lnbmVk"
		}
		send(part, nil)
	}
	finish := map[llm.StopReason]string{llm.StopMaxTokens: "MAX_TOKENS", llm.StopRefusal: "SAFETY"}[t.Stop]
	if finish == "" {
		finish = "STOP"
	}
	send(nil, obj{"finishReason": finish})
}

func writeResponses(out *events, model string, t Turn) {
	seq := 0
	send := func(kind string, v obj) {
		v["type"], v["sequence_number"] = kind, seq
		seq++
		out.send(kind, v)
	}
	head := obj{"id": "resp_1", "object": "response", "model": model, "status": "in_progress", "output": []any{}}
	send("response.created", obj{"response": head})
	n := 0
	if t.Thinking != "" {
		item := obj{"id": "rs_1", "type": "reasoning", "summary": []any{obj{"type": "summary_text", "text": t.Thinking}}, "encrypted_content": "c2lnbmVk"}
		for _, p := range pieces(t.Thinking) {
			send("response.reasoning_summary_text.delta", obj{"output_index": n, "summary_index": 0, "delta": p})
		}
		send("response.output_item.done", obj{"output_index": n, "item": item})
		n++
	}
	if t.Text != "" {
		send("response.output_item.added", obj{"output_index": n, "item": obj{"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}}})
		for _, p := range pieces(t.Text) {
			send("response.output_text.delta", obj{"output_index": n, "content_index": 0, "delta": p})
		}
		send("response.output_item.done", obj{"output_index": n, "item": obj{
			"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []any{obj{"type": "output_text", "text": t.Text}},
		}})
		n++
	}
	for _, c := range t.Calls {
		item := obj{"id": fmt.Sprintf("fc_%d", n), "type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": "", "status": "in_progress"}
		send("response.output_item.added", obj{"output_index": n, "item": item})
		for _, p := range pieces(string(input(c))) {
			send("response.function_call_arguments.delta", obj{"output_index": n, "delta": p})
		}
		done := obj{"id": item["id"], "type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(input(c)), "status": "completed"}
		send("response.output_item.done", obj{"output_index": n, "item": done})
		n++
	}
	end := obj{"id": "resp_1", "object": "response", "model": model, "status": "completed", "output": []any{}, "usage": obj{
		"input_tokens": t.Usage.TotalInput(), "input_tokens_details": obj{"cached_tokens": t.Usage.CacheRead},
		"output_tokens": t.Usage.Output, "total_tokens": t.Usage.TotalInput() + t.Usage.Output,
	}}
	if t.Stop == llm.StopMaxTokens {
		end["status"], end["incomplete_details"] = "incomplete", obj{"reason": "max_output_tokens"}
		send("response.incomplete", obj{"response": end})
		return
	}
	send("response.completed", obj{"response": end})
}

func writeOllama(out *events, model string, t Turn) {
	send := func(message obj) {
		message["role"] = "assistant"
		out.send("", obj{"model": model, "message": message, "done": false})
	}
	for _, p := range pieces(t.Thinking) {
		send(obj{"content": "", "thinking": p})
	}
	for _, p := range pieces(t.Text) {
		send(obj{"content": p})
	}
	for i, c := range t.Calls {
		send(obj{"content": "", "tool_calls": []any{obj{"id": c.ID, "function": obj{"index": i, "name": c.Name, "arguments": input(c)}}}})
	}
	reason := "stop"
	if t.Stop == llm.StopMaxTokens {
		reason = "length"
	}
	out.send("", obj{
		"model": model, "message": obj{"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
		"prompt_eval_count": t.Usage.TotalInput(), "eval_count": t.Usage.Output,
	})
}
