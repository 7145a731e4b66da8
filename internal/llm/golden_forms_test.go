package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coderrr/coderrr/internal/llm"
)

func readAnthropic(t *testing.T, body object, origin llm.Origin) llm.Request {
	req := canonical()
	if body["thinking"] == nil {
		req.Effort = ""
	}
	for _, s := range list(body["system"]) {
		req.System += text(obj(s)["text"])
	}
	for _, m := range list(body["messages"]) {
		role := llm.Role(text(obj(m)["role"]))
		for _, b := range list(obj(m)["content"]) {
			b := obj(b)
			switch b["type"] {
			case "text":
				add(&req, role, llm.Text{Text: text(b["text"])})
			case "image":
				src := obj(b["source"])
				add(&req, role, llm.Image{MediaType: text(src["media_type"]), Data: decoded(src["data"])})
			case "thinking":
				add(&req, role, llm.Thinking{Text: text(b["thinking"]), Signature: text(b["signature"]), Origin: origin})
			case "tool_use":
				add(&req, role, llm.ToolUse{ID: text(b["id"]), Name: text(b["name"]), Input: rawOf(b["input"]), Origin: origin})
			case "tool_result":
				r := llm.ToolResult{ToolUseID: text(b["tool_use_id"])}
				for _, c := range list(b["content"]) {
					r.Content += text(obj(c)["text"])
				}
				add(&req, role, r)
			default:
				t.Fatalf("block %v", b["type"])
			}
		}
	}
	for _, tl := range list(body["tools"]) {
		tl := obj(tl)
		req.Tools = append(req.Tools, llm.ToolSpec{Name: text(tl["name"]), Description: text(tl["description"]), Schema: rawOf(tl["input_schema"])})
	}
	return req
}

func tidyAnthropic(body object) object {
	return obj(without(clone(object{"model": body["model"], "system": body["system"], "messages": body["messages"], "tools": body["tools"]}), "cache_control", "strict"))
}

func readGoogle(_ *testing.T, body object, origin llm.Origin) llm.Request {
	req := canonical()
	req.Effort = ""
	for _, p := range list(obj(body["systemInstruction"])["parts"]) {
		req.System += text(obj(p)["text"])
	}
	for _, c := range list(body["contents"]) {
		role := llm.User
		if obj(c)["role"] == "model" {
			role = llm.Assistant
		}
		for _, p := range list(obj(c)["parts"]) {
			add(&req, role, googlePart(obj(p), origin))
		}
	}
	for _, tl := range list(body["tools"]) {
		for _, d := range list(obj(tl)["functionDeclarations"]) {
			d := obj(d)
			req.Tools = append(req.Tools, llm.ToolSpec{Name: text(d["name"]), Description: text(d["description"]), Schema: rawOf(schemaOf(d))})
		}
	}
	return req
}

func googlePart(p object, origin llm.Origin) llm.Block {
	image := func(v any) llm.Image {
		d := obj(obj(v)["inlineData"])
		return llm.Image{MediaType: text(d["mimeType"]), Data: decoded(d["data"])}
	}
	switch {
	case p["functionCall"] != nil:
		c := obj(p["functionCall"])
		return llm.ToolUse{ID: text(c["id"]), Name: text(c["name"]), Input: rawOf(c["args"]), Signature: text(p["thoughtSignature"]), Origin: origin}
	case p["functionResponse"] != nil:
		r := obj(p["functionResponse"])
		out := llm.ToolResult{ToolUseID: text(r["id"]), Name: text(r["name"]), Content: text(obj(r["response"])["result"])}
		for _, img := range list(r["parts"]) {
			out.Images = append(out.Images, image(img))
		}
		return out
	case p["inlineData"] != nil:
		return image(p)
	default:
		return llm.Text{Text: text(p["text"])}
	}
}

// schemaOf is a declaration's schema in any of its three spellings, as plain JSON
// Schema.
func schemaOf(d object) any {
	for _, key := range []string{"parametersJsonSchema", "parameters_json_schema", "parameters"} {
		if s, ok := d[key]; ok {
			s = lower(clone(s))
			if req, ok := obj(s)["required"]; ok && len(list(req)) == 0 {
				delete(obj(s), "required")
			}
			return s
		}
	}
	return nil
}

// lower writes OpenAPI's type names (OBJECT) as JSON Schema's.
func lower(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = lower(v[i])
		}
	case object:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "type" {
				v[k] = strings.ToLower(s)
			} else {
				v[k] = lower(e)
			}
		}
	}
	return v
}

func tidyGoogle(body object) object {
	contents := without(clone(body["contents"]), "thought")
	for _, c := range list(contents) {
		for _, p := range list(obj(c)["parts"]) {
			if r := obj(obj(p)["functionResponse"]); r != nil {
				if _, isText := obj(r["response"])["result"].(string); !isText {
					obj(r["response"])["result"] = "" // ours are always texts
				}
			}
		}
	}
	var tools []any
	for _, tl := range list(body["tools"]) {
		for _, d := range list(obj(tl)["functionDeclarations"]) {
			tools = append(tools, object{"name": obj(d)["name"], "description": obj(d)["description"], "schema": schemaOf(obj(d))})
		}
	}
	system := list(obj(without(clone(body["systemInstruction"]), "thought"))["parts"])
	return object{"contents": contents, "system": system, "tools": tools}
}

func readResponses(t *testing.T, body object, origin llm.Origin) llm.Request {
	req := canonical()
	req.System = text(body["instructions"])
	for _, it := range list(body["input"]) {
		it := obj(it)
		switch it["type"] {
		case "message":
			for _, c := range list(it["content"]) {
				add(&req, llm.Role(text(it["role"])), llm.Text{Text: text(obj(c)["text"])})
			}
		case "reasoning":
			add(&req, llm.Assistant, llm.Thinking{Data: rawOf(it), Origin: origin})
		case "function_call":
			add(&req, llm.Assistant, llm.ToolUse{ID: text(it["call_id"]), Name: text(it["name"]), Input: json.RawMessage(text(it["arguments"])), Origin: origin})
		case "function_call_output":
			add(&req, llm.User, llm.ToolResult{ToolUseID: text(it["call_id"]), Content: text(it["output"])})
		default:
			t.Fatalf("item %v", it["type"])
		}
	}
	for _, tl := range list(body["tools"]) {
		tl := obj(tl)
		req.Tools = append(req.Tools, llm.ToolSpec{Name: text(tl["name"]), Description: text(tl["description"]), Schema: rawOf(tl["parameters"])})
	}
	return req
}

func tidyResponses(body object) object {
	input := list(clone(body["input"]))
	for _, it := range input {
		it := obj(it)
		delete(it, "status")
		if it["type"] != "reasoning" {
			delete(it, "id")
		}
	}
	return obj(without(clone(object{"model": body["model"], "instructions": body["instructions"], "input": input, "tools": body["tools"]}), "strict"))
}
