package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxMessage bounds a provider's message in an error, in bytes.
const maxMessage = 1200

// said is what an error body says, whatever its shape.
type said struct {
	isError bool // the document is an error, not an answer
	message string
	kind    string // the provider's type or status name
	code    string
	param   string
	reason  string // Google: ErrorInfo.reason and quota ids
	wait    time.Duration
	tokens  int64
	limit   int64
	failed  bool // a failed_generation is there: the model wrote a bad call
	page    bool // not JSON
}

// parseSaid reads an error document: {"error":{…}}, {"error":"…"}, {"message":…},
// {"detail":…}, {"object":"error",…}, or an array of them.
func parseSaid(body []byte) said {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return parseSaid(list[0])
		}
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(body, &doc) != nil {
		return said{page: true, message: plain(body)}
	}
	s := said{isError: present(doc["error"]) || text(doc["object"]) == "error" || text(doc["type"]) == "error"}
	var inner map[string]json.RawMessage
	switch {
	case json.Unmarshal(doc["error"], &inner) == nil && inner != nil:
		s.fill(inner)
		s.outer(doc)
	case text(doc["error"]) != "":
		s.fill(doc)
		s.message = text(doc["error"])
	default:
		s.fill(doc)
	}
	s.message = tidy(s.message)
	return s
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""` && string(raw) != "{}"
}

// fill reads the fields of the object that holds the message.
func (s *said) fill(obj map[string]json.RawMessage) {
	s.message = text(obj["message"])
	if s.message == "" {
		s.message = detail(obj["detail"])
	}
	s.kind = text(obj["type"])
	if status := text(obj["status"]); status != "" {
		s.kind = status
	}
	s.code = scalar(obj["code"])
	s.param = text(obj["param"])
	s.limit = number(obj["n_ctx"])
	s.tokens = number(obj["n_prompt_tokens"])
	s.failed = present(obj["failed_generation"])
	if s.code == "" {
		s.code = scalar(obj["status_code"])
	}
	var meta struct {
		Raw json.RawMessage `json:"raw"`
	}
	if json.Unmarshal(obj["metadata"], &meta) == nil && len(meta.Raw) > 0 {
		raw := text(meta.Raw)
		if nested := parseSaid([]byte(raw)); !nested.page && nested.message != "" {
			raw = nested.message
		}
		if raw != "" && raw != s.message {
			s.message = strings.TrimSpace(s.message + ": " + raw)
		}
	}
	s.googleDetails(obj["details"])
}

// outer takes what stands beside the error object.
func (s *said) outer(doc map[string]json.RawMessage) {
	if s.message == "" {
		s.message = text(doc["message"])
	}
	if s.code == "" {
		s.code = scalar(doc["code"])
	}
}

// googleDetails reads google.rpc ErrorInfo, RetryInfo and QuotaFailure.
func (s *said) googleDetails(raw json.RawMessage) {
	var list []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, d := range list {
		if d.Reason != "" {
			s.reason += " " + d.Reason
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			s.wait = wait
		}
		for _, v := range d.Violations {
			s.reason += " " + v.QuotaID
		}
	}
}

// detail reads FastAPI's detail: a string or a list of {msg}.
func detail(raw json.RawMessage) string {
	if t := text(raw); t != "" {
		return t
	}
	var list []struct {
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0].Msg
	}
	return ""
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// scalar is a string or a number as text.
func scalar(raw json.RawMessage) string {
	if t := text(raw); t != "" {
		return t
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

func number(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// plain is a short text body as it is, and nothing for a page.
func plain(body []byte) string {
	if bytes.ContainsRune(body, '<') || len(body) > maxMessage || !utf8.Valid(body) {
		return ""
	}
	return tidy(string(body))
}

// tidy makes one line of bounded length.
func tidy(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\t' || r == ' ' || r < 0x20 || r == 0x7f
	}), " ")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
