package openai

import (
	"net/url"
	"strings"

	"github.com/coderrr/coderrr/internal/llm/wire"
)

// Dialect is what differs between servers that speak chat completions. The zero
// value is a plain compatible server.
type Dialect struct {
	Name string
	// Base is the endpoint used when none is set.
	Base string
	// OwnRoles: reasoning models take "developer" instead of "system" and
	// max_completion_tokens instead of max_tokens, and no temperature (OpenAI).
	OwnRoles bool
	// CompletionTokens: the limit is always called max_completion_tokens.
	CompletionTokens bool
	// EmptyContent is sent as "" beside tool calls; otherwise the key is left out.
	EmptyContent bool
	// Replay says in which field reasoning goes back.
	Replay Replay
	// Effort says how the effort of reasoning is asked for.
	Effort Effort
	// IDs is the form tool-call ids need.
	IDs wire.Style
	// ToolImages: a tool message may hold image parts.
	ToolImages bool
	// ThinkTags: the model's <think> text may come inside the content.
	ThinkTags bool
	// Strict: schemas that satisfy strict mode are sent as strict.
	Strict bool
	// KeyHeader is the header of the key; "" is Authorization with Bearer.
	KeyHeader string
	// CacheParts: Claude models take cache_control parts (OpenRouter).
	CacheParts bool
	// EmptyIsFull: an empty stream means that the prompt did not fit (LM Studio).
	EmptyIsFull bool
	// NoStreamOptions: stream_options is refused.
	NoStreamOptions bool
	// Local: the server loads models and answers late.
	Local bool
}

// Replay is the field in which an assistant message carries its reasoning.
type Replay int

// The known fields.
const (
	ReplayNone Replay = iota
	ReplayContent
	ReplayReasoning
	ReplayDetails
)

// Effort is the request field for the effort of reasoning.
type Effort int

// The known fields.
const (
	EffortField    Effort = iota // reasoning_effort: "high"
	EffortObject                 // reasoning: {"effort": "high"} (OpenRouter)
	EffortThinking               // thinking: {"type": "enabled"} (DeepSeek)
	EffortNone                   // never sent
)

// OpenAI is OpenAI itself.
func OpenAI() Dialect {
	return Dialect{Name: "openai", Base: "https://api.openai.com", OwnRoles: true, Strict: true}
}

// OpenRouter is openrouter.ai.
func OpenRouter() Dialect {
	return Dialect{
		Name: "openrouter", Base: "https://openrouter.ai/api", Replay: ReplayDetails,
		Effort: EffortObject, ToolImages: true, CacheParts: true,
	}
}

// Ollama is Ollama's /v1 path, used where its own /api/chat is missing.
func Ollama() Dialect {
	return Dialect{
		Name: "ollama", Base: "http://localhost:11434", EmptyContent: true,
		Replay: ReplayReasoning, ToolImages: true, ThinkTags: true, Local: true,
	}
}

// DialectFor picks the dialect for a provider name and, for "compatible", by the
// endpoint's host. An unknown host is a plain compatible server.
func DialectFor(name, endpoint string) Dialect {
	switch name {
	case "openrouter":
		return OpenRouter()
	case "ollama":
		return Ollama()
	case "openai":
		d := OpenAI()
		if endpoint == "" {
			return d
		}
		if by, ok := byHost(endpoint); ok {
			return by
		}
		return d
	}
	if d, ok := byHost(endpoint); ok {
		return d
	}
	return Dialect{Name: "compatible", ThinkTags: true, Replay: ReplayContent}
}

// byHost knows the hosted services and the usual ports of local servers.
func byHost(endpoint string) (Dialect, bool) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "http://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return Dialect{}, false
	}
	host := strings.ToLower(u.Hostname())
	for suffix, d := range hosted() {
		if host == suffix || strings.HasSuffix(host, "."+suffix) {
			return d, true
		}
	}
	switch u.Port() {
	case "1234":
		return Dialect{Name: "lmstudio", ThinkTags: true, EmptyIsFull: true, Local: true}, true
	case "8080":
		return Dialect{Name: "llama.cpp", ThinkTags: true, Replay: ReplayContent, ToolImages: true, Local: true}, true
	case "11434":
		return Ollama(), true
	}
	return Dialect{}, false
}

func hosted() map[string]Dialect {
	return map[string]Dialect{
		"api.openai.com":   OpenAI(),
		"openrouter.ai":    OpenRouter(),
		"api.deepseek.com": {Name: "deepseek", EmptyContent: true, Replay: ReplayContent, Effort: EffortThinking},
		"api.groq.com":     {Name: "groq", Replay: ReplayReasoning},
		"api.mistral.ai":   {Name: "mistral", EmptyContent: true, IDs: wire.NineID, Effort: EffortNone},
		"api.x.ai":         {Name: "xai"},
		"openai.azure.com": {Name: "azure", OwnRoles: true, EmptyContent: true, Strict: true, KeyHeader: "api-key"},
		"api.moonshot.ai":  {Name: "moonshot", Replay: ReplayContent},
		"api.z.ai":         {Name: "zai", Replay: ReplayContent, Effort: EffortThinking},
	}
}

// reasoningModel reports whether an OpenAI model takes developer messages and
// refuses max_tokens and temperature. name may carry a vendor prefix.
func reasoningModel(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "gpt-5") || strings.HasPrefix(name, "gpt-6") || strings.Contains(name, "codex") {
		return !strings.Contains(name, "chat")
	}
	return len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9'
}
