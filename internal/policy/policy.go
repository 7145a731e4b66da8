// Package policy holds the rules: which tool classes a mode exposes, what
// happens to a call, and which paths may be touched. It is pure: no I/O, no
// clock, no asking. Everything it cannot decide is denied.
package policy

// Mode is what a session may do.
type Mode int

// The modes. The zero Mode exposes nothing.
const (
	None Mode = iota
	Planning
	Execution
)

// String is the mode's name in events, prompts and files.
func (m Mode) String() string {
	switch m {
	case Planning:
		return "planning"
	case Execution:
		return "execution"
	default:
		return "none"
	}
}

// Modes lists the modes that expose anything, for showing what each one does.
func Modes() []Mode { return []Mode{Planning, Execution} }

// Class is what a tool can do, decided by us and never by a server.
type Class int

// The classes. The zero Class is exposed by no mode.
const (
	Unclassified Class = iota
	Read
	System
	External
	Write
)

// String is the class's name in events and schemas.
func (c Class) String() string {
	switch c {
	case Read:
		return "read"
	case System:
		return "system"
	case External:
		return "external"
	case Write:
		return "write"
	default:
		return "unclassified"
	}
}

// Exposes reports whether tools of class c exist in mode m.
func Exposes(m Mode, c Class) bool {
	switch m {
	case Planning:
		return c == Read || c == System || c == External
	case Execution:
		return c == Read || c == System || c == External || c == Write
	default:
		return false
	}
}

// Decision is the gate's verdict on one call.
type Decision int

// The decisions. The zero Decision is Deny.
const (
	Deny Decision = iota
	Ask
	Allow
)

// String names the decision.
func (d Decision) String() string {
	switch d {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	default:
		return "deny"
	}
}

// Flag marks something about a call that a person should see, or must be asked.
type Flag string

// The flags.
const (
	// FlagRunsCode: the file is run by an editor, a shell, git or CI outside
	// the sandbox.
	FlagRunsCode Flag = "runs_code"
	// FlagSecret: the file usually holds credentials.
	FlagSecret Flag = "secret"
	// FlagHardLink: the file has further names, perhaps outside the workspace.
	FlagHardLink Flag = "hard_link"
	// FlagHidden: the text holds characters that do not show.
	FlagHidden Flag = "hidden_characters"
	// FlagDelete: something is removed.
	FlagDelete Flag = "delete"
)

// Call is what the gate is told of a tool call.
type Call struct {
	Mode  Mode
	Class Class
	Name  string
	Flags []Flag
	// Approved is true for an EXTERNAL tool whose stored approval matches what
	// the server shows now.
	Approved bool
}

// Rules are the person's choices that the gate applies.
type Rules struct {
	// ConfirmWrites asks before every write.
	ConfirmWrites bool
	// Denied names tools that are refused whatever else is said.
	Denied map[string]bool
}

// Decide returns what happens to a call and why. Deny beats ask beats allow.
func (r Rules) Decide(c Call) (Decision, string) {
	switch {
	case c.Name == "":
		return Deny, "a call without a name"
	case r.Denied[c.Name]:
		return Deny, "denied in the configuration"
	case !Exposes(c.Mode, c.Class):
		return Deny, "no " + c.Class.String() + " tools exist in " + c.Mode.String() + " mode"
	}
	switch c.Class {
	case Read:
		if has(c.Flags, FlagSecret) {
			return Ask, "the file usually holds credentials"
		}
		return Allow, "reading inside the workspace"
	case System:
		return Allow, "Coderrr's own tool"
	case External:
		if c.Approved {
			return Allow, "approved for exactly this tool"
		}
		return Ask, "an MCP tool without a stored answer"
	case Write:
		switch {
		case has(c.Flags, FlagRunsCode):
			return Ask, "the file runs code outside the sandbox"
		case has(c.Flags, FlagSecret):
			return Ask, "the file usually holds credentials"
		case r.ConfirmWrites:
			return Ask, "each write is confirmed"
		}
		return Allow, "inside the approved plan"
	default:
		return Deny, "no rule for its class"
	}
}

func has(flags []Flag, f Flag) bool {
	for _, x := range flags {
		if x == f {
			return true
		}
	}
	return false
}
