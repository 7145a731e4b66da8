package wire

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
)

// Classify sorts a failed answer by what can be done about it.
func (c *Client) Classify(model string, status int, header http.Header, body []byte) *llm.Error {
	s := parseSaid(body)
	e := c.sort(model, status, s)
	if s.message == "" {
		e.Message = strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
		if status/100 == 2 {
			e.Message = c.base.Host + " answered with a page, not with a stream; check provider.endpoint"
		}
	}
	if status == http.StatusNotFound && s.page {
		e.Kind = llm.KindBadResponse
		e.Message = "nothing answers at this address (404); check provider.endpoint"
	}
	e.RetryAfter = retryAfter(status, header, s)
	switch header.Get("X-Should-Retry") {
	case "false":
		e.NoRetry = true
	case "true":
		if e.Kind == llm.KindBadRequest {
			e.Kind = llm.KindServer
		}
	}
	return e
}

// InBand sorts an error object that came inside a stream of status 200. raw is
// the object itself or a document that holds it under "error".
func (c *Client) InBand(model string, raw []byte) *llm.Error {
	s := parseSaid(raw)
	e := c.sort(model, http.StatusOK, s)
	if e.Message == "" {
		e.Message = "the provider reported an error without a text"
	}
	e.RetryAfter = s.wait
	if e.RetryAfter == 0 {
		e.RetryAfter = waitInText(s.message)
	}
	return e
}

func (c *Client) sort(model string, status int, s said) *llm.Error {
	e := &llm.Error{
		Provider: c.Name, Model: model, Status: status,
		Code: c.Redact(s.code), Param: s.param, Message: c.Redact(s.message),
	}
	if e.Code == "" {
		e.Code = s.kind
	}
	e.Kind = kindOf(effective(status, s), s)
	if e.Kind == llm.KindContextLength {
		e.Tokens, e.Limit = s.tokens, s.limit
		if e.Tokens == 0 {
			e.Tokens, e.Limit = sizes(s.message)
		}
	}
	return e
}

// effective is the status an answer means: an error inside a 200 names it by
// code or by type.
func effective(status int, s said) int {
	if status/100 != 2 {
		return status
	}
	if n, err := strconv.Atoi(s.code); err == nil && n >= 400 && n < 600 {
		return n
	}
	for _, name := range []string{s.kind, s.code} {
		switch name {
		case "invalid_request_error", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "BadRequestError", "invalid_prompt":
			return http.StatusBadRequest
		case "authentication_error", "UNAUTHENTICATED":
			return http.StatusUnauthorized
		case "permission_error", "PERMISSION_DENIED":
			return http.StatusForbidden
		case "not_found_error", "NOT_FOUND":
			return http.StatusNotFound
		case "request_too_large":
			return http.StatusRequestEntityTooLarge
		case "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "too_many_requests":
			return http.StatusTooManyRequests
		case "overloaded_error", "UNAVAILABLE", "server_is_overloaded", "slow_down", "overloaded":
			return statusOverloaded
		}
	}
	if s.page {
		return status
	}
	return http.StatusInternalServerError
}

const statusOverloaded = 529

// kindOf applies the table of kinds, the surest signs first.
func kindOf(status int, s said) llm.Kind {
	low := strings.ToLower(s.message + " " + s.code + " " + s.kind + s.reason)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(low, p) {
				return true
			}
		}
		return false
	}
	switch {
	case s.page && status/100 == 2:
		return llm.KindBadResponse
	case status == http.StatusRequestEntityTooLarge, tooLong(status, low):
		return llm.KindContextLength
	case status == 402, has("insufficient_quota", "insufficient credits", "insufficient balance", "credit balance is too low", "billing_hard_limit"):
		return llm.KindQuota
	case status == 401, status == 403 && !has("flagged", "moderation"),
		has("api_key_invalid", "incorrect api key", "invalid api key", "api key not valid", "invalid_api_key", "api key expired"):
		return llm.KindAuth
	case status == 429 && has("perday"):
		return llm.KindQuota
	case status == 429:
		return llm.KindRateLimit
	case s.failed, has("tool_use_failed", "malformed_function_call"):
		return llm.KindBadToolCall
	case status >= 500 && has("jinja", "chat template", "mmproj", "not supported", "cannot use both"):
		return llm.KindUnsupported
	case status == statusOverloaded, status == 503, has("insufficient_system_resource", "overloaded"):
		return llm.KindOverloaded
	case status >= 500, status == 408, status == 409:
		return llm.KindServer
	}
	return requestKind(status, has)
}

// requestKind sorts the complaints about the request itself.
func requestKind(status int, has func(...string) bool) llm.Kind {
	switch {
	case status == 404, has("model_not_found", "invalid model", "model not found", "not a valid model", "unknown model", "model_not_exist", "model does not exist"):
		return llm.KindModelNotFound
	case has("signature", "tool_use_id", "tool_result", "`tool_use`", "must be followed by tool messages", "number of function response parts",
		"function response turn", "required following item", "roles must alternate", "thinking blocks", "thinking block", "reasoning_content` in the thinking mode must",
		"must be passed back"):
		return llm.KindHistory
	case has("unsupported_value", "unsupported_parameter", "unsupported parameter", "unsupported value", "not supported", "does not support", "doesn't support",
		"unrecognized request argument", "unknown name", "extra inputs are not permitted", "unknown parameter", "unknown_parameter", "deprecated for this model",
		"not permitted", "unknown field", "invalid schema", "invalid_function_parameters"):
		return llm.KindUnsupported
	default:
		return llm.KindBadRequest
	}
}

// tooLong knows the dialects of a prompt beyond the model's window.
func tooLong(status int, low string) bool {
	if status == http.StatusTooManyRequests {
		// "Request too large for model … Limit 30000, Requested 50000" never clears.
		return strings.Contains(low, "context_length_exceeded") || strings.Contains(low, "request too large for")
	}
	for _, sign := range []string{
		"prompt is too long", "context_length_exceeded", "maximum context length", "exceed_context_size", "exceeds the available context size",
		"exceeded max context length", "cannot truncate prompt", "n_keep", "too_many_prompt_tokens", "model_context_window_exceeded",
		"exceeds the context window", "input is too long", "exceeds the model's maximum context", "longer than the model's context", "prompt too long",
	} {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return strings.Contains(low, "input token count") && strings.Contains(low, "exceeds")
}

// Prompt size and limit in messages; the group named t is the size, l the limit.
var (
	sizeAnthropic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?P<t>\d+) tokens > (?P<l>\d+) maximum`) })
	sizeOpenAI    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`maximum context length is (?P<l>\d+) tokens\D+(?P<t>\d+) tokens`)
	})
	sizeGoogle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`token count \((?P<t>\d+)\) exceeds the maximum number of tokens allowed \((?P<l>\d+)\)`)
	})
	sizeLlama = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\((?P<t>\d+) tokens\) exceeds the available context size \((?P<l>\d+) tokens\)`)
	})
	sizePerMinute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Limit:? (?P<l>\d+), Requested:? (?P<t>\d+)`) })
)

func sizes(message string) (tokens, limit int64) {
	message = strings.ReplaceAll(message, ",", "")
	for _, re := range []*regexp.Regexp{sizeAnthropic(), sizeOpenAI(), sizeGoogle(), sizeLlama(), sizePerMinute()} {
		m := re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		tokens, _ = strconv.ParseInt(m[re.SubexpIndex("t")], 10, 64)
		limit, _ = strconv.ParseInt(m[re.SubexpIndex("l")], 10, 64)
		return tokens, limit
	}
	return 0, 0
}
