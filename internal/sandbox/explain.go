package sandbox

// Access says what commands can do with a path.
type Access string

// The kinds of access.
const (
	Read    Access = "read"    // it is visible and cannot be changed
	Write   Access = "write"   // it can be changed
	Private Access = "private" // commands see their own instead of yours
	Hidden  Access = "hidden"  // it is not there
)

// Entry is one line of an explanation: a path, what commands can do with it,
// and why.
type Entry struct {
	Path   string `json:"path"`
	Access Access `json:"access"`
	Why    string `json:"why"`
}

// Explanation says as data what commands see and what they may do.
type Explanation struct {
	Info    Info     `json:"info"`
	Entries []Entry  `json:"entries"`
	Env     []string `json:"env"`    // NAME=value, all that a command gets
	Limits  []string `json:"limits"` // one line each
	// Passed are better tiers that were tried and why they cannot be had.
	Passed []string `json:"passed,omitempty"`
}

// Explainer is a sandbox that can say what its commands see. Every tier's is
// one.
type Explainer interface {
	Explain() Explanation
}

// MissingImage says that the docker tier's image is not with the engine. A
// person may be asked whether to pull it. It is an ErrUnavailable.
type MissingImage struct {
	Image string
	Why   string // it is this image
}

// Error implements error.
func (e *MissingImage) Error() string {
	return "the sandbox is not available: the image " + e.Image + " is not here (" + e.Why + "); pull it with `docker pull " +
		e.Image + "`, or name another in sandbox.image"
}

// Is makes the error an ErrUnavailable.
func (e *MissingImage) Is(target error) bool { return target == ErrUnavailable }
