// Package config reads and changes CODERRR_HOME/config.toml. Its one rule: what
// the person wrote is never lost or replaced in silence. A file that cannot be
// read is an error with line and column, never the defaults; a change edits the
// bytes of one value and keeps comments, order and unknown keys.
//
// Nobody below session and cli reads it: they hand values down.
package config

// Config is the whole configuration. Fields without an entry in the file hold
// the defaults of Default.
type Config struct {
	Provider  Provider            `toml:"provider" json:"provider"`
	Agent     Agent               `toml:"agent" json:"agent"`
	Verify    Verify              `toml:"verify" json:"verify"`
	Sandbox   Sandbox             `toml:"sandbox" json:"sandbox"`
	Skills    Skills              `toml:"skills" json:"skills"`
	UI        UI                  `toml:"ui" json:"ui"`
	Session   Session             `toml:"session" json:"session"`
	Providers map[string]Provider `toml:"providers" json:"providers,omitempty"`
	MCP       MCP                 `toml:"mcp" json:"mcp"`
	// APIKeys is only used where no keyring is available.
	APIKeys map[string]Secret `toml:"api_keys" json:"api_keys,omitempty"`
}

// Provider says which model answers. A profile ([providers.NAME]) has the same
// keys; its Name is the kind of provider, or "" when NAME is a kind itself.
type Provider struct {
	Name     string `toml:"name" json:"name"`
	Model    string `toml:"model" json:"model"`
	Endpoint string `toml:"endpoint" json:"endpoint"` // "" is the provider's own
	Effort   string `toml:"effort" json:"effort"`
	// API is OpenAI's protocol: chat or responses; "" chooses by the model.
	API string `toml:"api,omitempty" json:"api,omitempty"`
	// The rest says what the catalogue does not know of Model, or knows wrong: the
	// context in tokens (for Ollama also the size it is loaded with), the prices in
	// US dollars per million tokens, and whether it takes images.
	Context   int64    `toml:"context,omitempty" json:"context,omitempty"`
	InputUSD  *float64 `toml:"input_usd,omitempty" json:"input_usd,omitempty"`
	OutputUSD *float64 `toml:"output_usd,omitempty" json:"output_usd,omitempty"`
	Images    *bool    `toml:"images,omitempty" json:"images,omitempty"`
	// Headers are sent with each request; ${VAR} is read from the environment.
	Headers map[string]Secret `toml:"headers" json:"headers,omitempty"`
}

// Agent bounds a session. Zero MaxSeconds is no limit.
type Agent struct {
	MaxIter         int      `toml:"max_iter" json:"max_iter"`             // outer retries
	MaxToolTurns    int      `toml:"max_tool_turns" json:"max_tool_turns"` // model calls
	MaxTokens       int      `toml:"max_tokens" json:"max_tokens"`         // of one answer
	Temperature     *float64 `toml:"temperature" json:"temperature"`       // nil sends none
	MaxSeconds      float64  `toml:"max_seconds" json:"max_seconds"`
	ConfirmWrites   bool     `toml:"confirm_writes" json:"confirm_writes"`
	RequireEvidence bool     `toml:"require_evidence" json:"require_evidence"`
}

// Verify is the second model call about each write: always (moves and deletes
// too), writes_only or off. An empty Model is the session's own.
type Verify struct {
	Mode        string  `toml:"mode" json:"mode"`
	Model       string  `toml:"model" json:"model"`
	Temperature float64 `toml:"temperature" json:"temperature"`
	// Batch is read from files of Coderrr v2 for Python and means nothing now.
	Batch *bool `toml:"batch,omitempty" json:"-"`
}

// Sandbox says how commands are contained. Timeout is in seconds.
type Sandbox struct {
	Tier     string   `toml:"tier" json:"tier"` // auto, confined, docker, landlock, scratch
	Network  bool     `toml:"network" json:"network"`
	Timeout  int      `toml:"timeout" json:"timeout"`
	Image    string   `toml:"image" json:"image"`
	MemoryMB int      `toml:"memory_mb" json:"memory_mb"`
	Env      []string `toml:"env" json:"env"` // names passed on to commands
}

// Skills says where skills come from; Ephemeral skills are not kept on disk.
type Skills struct {
	Registry  string `toml:"registry" json:"registry"`
	Ephemeral bool   `toml:"ephemeral" json:"ephemeral"`
}

// UI is how things are shown. It is all that a project's own file may set.
type UI struct {
	Stream    bool `toml:"stream" json:"stream"`
	ShowUsage bool `toml:"show_usage" json:"show_usage"`
}

// Session is about logs and money. A nil MaxCostUSD is no limit.
type Session struct {
	KeepDays   int      `toml:"keep_days" json:"keep_days"`
	MaxCostUSD *float64 `toml:"max_cost_usd" json:"max_cost_usd"`
}

// MCP holds the servers.
type MCP struct {
	MaxResultBytes int               `toml:"max_result_bytes" json:"max_result_bytes"`
	Servers        map[string]Server `toml:"servers" json:"servers,omitempty"`
}

// Server is one MCP server. Enabled nil means true; Timeout is in seconds.
type Server struct {
	Transport    string            `toml:"transport" json:"transport"`
	URL          string            `toml:"url" json:"url,omitempty"`
	Command      string            `toml:"command" json:"command,omitempty"`
	Args         []string          `toml:"args" json:"args,omitempty"`
	Env          map[string]Secret `toml:"env" json:"env,omitempty"`
	Headers      map[string]Secret `toml:"headers" json:"headers,omitempty"`
	Cwd          string            `toml:"cwd" json:"cwd,omitempty"`
	Enabled      *bool             `toml:"enabled" json:"enabled,omitempty"`
	Timeout      int               `toml:"timeout" json:"timeout,omitempty"`
	Auth         string            `toml:"auth" json:"auth,omitempty"`
	ClientID     string            `toml:"client_id" json:"client_id,omitempty"`
	Scopes       []string          `toml:"scopes" json:"scopes,omitempty"`
	Required     bool              `toml:"required" json:"required,omitempty"`
	AllowedTools []string          `toml:"allowed_tools" json:"allowed_tools,omitempty"`
	DeniedTools  []string          `toml:"denied_tools" json:"denied_tools,omitempty"`
}

// Default is the configuration of an empty file. No provider is chosen.
func Default() Config {
	return Config{
		Agent:   Agent{MaxIter: 5, MaxToolTurns: 50, MaxTokens: 8192, MaxSeconds: 1800},
		Verify:  Verify{Mode: "writes_only", Temperature: 0.3},
		Sandbox: Sandbox{Tier: "auto", Timeout: 300, MemoryMB: 2048},
		Skills: Skills{
			Registry:  "https://raw.githubusercontent.com/Akash-nath29/coderrr-skills/main/registry.json",
			Ephemeral: true,
		},
		UI:      UI{Stream: true, ShowUsage: true},
		Session: Session{KeepDays: 30},
		MCP:     MCP{MaxResultBytes: 65536},
	}
}
