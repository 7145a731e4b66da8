// Package session turns one request into a plan, an approval and an execution. It
// is the only place that sets execution mode, and it does so after a person's
// answer, bound to a hash of what was shown.
package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/prompt"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

// Approvals is the store of what people approved, outside any workspace.
type Approvals interface {
	// Approved reports whether exactly this plan of this workspace was approved.
	Approved(spec, hash string) (bool, error)
	// Record stores an approval; it is on disk when Record returns.
	Record(spec, hash string, by ask.By) error
}

// Options of a Session. All fields without a note are required.
type Options struct {
	ID        string
	Root      *workspace.Root
	Specs     *spec.Store
	Log       *event.Log
	Approvals Approvals
	Asker     ask.Asker
	Files     tools.Files
	Sandbox   sandbox.Sandbox
	// History holds the pre-images that an undo brings back.
	History *history.Store
	Model   agent.Model
	// Summary is who sums up a conversation that got too long; nil is Model.
	Summary func() agent.Model
	// Sources builds the tools, given the session they act on.
	Sources func(*Session) []tools.Source
	// Past is the stored log of a session that is resumed; it is also in Log.
	Past []event.Event
	// Before are the logs of the sessions that Past goes on with, oldest first.
	Before []event.Event
	// Verify judges proposed writes; nil judges none. It may report what it used.
	Verify tools.Verifier
	// Guidance is what the project's files tell agents.
	Guidance []guidance.Doc
	// Trust decides, before anything that the workspace brings for agents is used,
	// whether it is; nil uses it. It asks through the asker that it is given.
	Trust func(ctx context.Context, asker ask.Asker) bool
	// Warnings are shown when the session begins.
	Warnings []string
	// Begin is called once the log has begun, before the model is asked: it starts
	// what only a running session needs. An *End it returns ends the session.
	Begin func(ctx context.Context) error
	// Bring finds what a person's words name outside the workspace: added is told to
	// the model with them, and rest is the words less those names. Nil finds nothing.
	Bring  func(ctx context.Context, text string) (added, rest string)
	Rules  policy.Rules
	Limits Limits
	// Budget counts what the session uses; the verifier may share it.
	Budget *agent.Budget
	// Version of the program, for the log's header.
	Version string
}

// Limits are the numbers of the configuration. Zero is no limit, but MaxIter 0
// means one round.
type Limits struct {
	MaxIter         int // rounds of execution while tasks are unmet
	MaxToolTurns    int // turns of one round
	MaxTokens       int // tokens of one answer
	Temperature     *float64
	RequireEvidence bool
}

// Request is what a session is asked to do.
type Request struct {
	Text string
	// Spec goes on with an existing spec instead of planning a new one.
	Spec string
	// Approve executes only a plan with this hash, by=flag.
	Approve string
	// Yes answers the first plan question, by=flag.
	Yes bool
	// PlanOnly ends when the plan is written.
	PlanOnly bool
	// ReadOnly talks without a spec: nothing but the log is written.
	ReadOnly bool
	// Resume goes on where Options.Past ended.
	Resume bool
	// Continues names the session whose conversation Prior comes from.
	Continues string
	Prior     []llm.Message
}

// Session is one request from plan to end. Run is called once; the other methods
// are safe for concurrent use.
type Session struct {
	o       Options
	talk    *agent.Talk
	budget  *agent.Budget
	asker   ask.Asker
	sources []tools.Source
	ledger  *spec.Ledger

	mu        sync.Mutex
	answers   agent.Model
	shorten   bool // the person wants a shorter conversation
	phase     event.Phase
	rules     policy.Rules
	accepted  map[string]bool // tasks whose writes are no longer asked for
	queue     []string
	specID    string
	shown     *spec.Plan // the plan last presented
	approved  string     // hash under which execution runs
	task      string     // in progress
	refused   []string   // calls that needed a person and found none
	finished  string     // summary given to finish
	changed   map[string]string
	flagUsed  bool
	asked     int // plan questions so far
	prompt    prompt.Data
	planned   bool          // the stored log ends with a finished planning
	sentBack  bool          // a plan was sent back: no older approval stands for the next
	kick      chan struct{} // wakes the gate: an edit or a message came
	stop      context.CancelFunc
	stopAsked bool
	undoing   sync.Mutex // held by an undo, and while execution begins
}

// New returns a session; it panics when a required option is missing, which is a
// mistake in wiring.
func New(o Options) *Session {
	if o.Root == nil || o.Specs == nil || o.Log == nil || o.Approvals == nil || o.Asker == nil || o.Sandbox == nil || o.History == nil || o.Sources == nil {
		panic("session: a required option is missing")
	}
	if o.Budget == nil {
		o.Budget = &agent.Budget{}
	}
	s := &Session{
		o: o, answers: o.Model, budget: o.Budget, rules: o.Rules, ledger: spec.NewLedger(),
		accepted: map[string]bool{}, changed: map[string]string{}, kick: make(chan struct{}, 1),
	}
	s.asker = &logged{asker: o.Asker, log: o.Log, budget: o.Budget}
	s.restore()
	s.sources = o.Sources(s)
	return s
}

// Log is the session's log.
func (s *Session) Log() *event.Log { return s.o.Log }

// ID is the session's id.
func (s *Session) ID() string { return s.o.ID }

// outcome carries a session's end through the phases.
type outcome struct {
	status  string
	code    int
	summary string
}

// End is an error that says how the session ends.
type End struct {
	Status  string // of session.finished
	Code    int    // exit code
	Summary string
}

// Error is the summary.
func (e *End) Error() string { return e.Summary }

// Run does the request and returns how it ended; the same is the log's last event.
// It never panics.
func (s *Session) Run(ctx context.Context, req Request) (fin event.SessionFinished) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.stop = cancel
	if s.stopAsked {
		cancel()
	}
	s.mu.Unlock()
	var out outcome
	defer func() {
		if p := recover(); p != nil {
			out = outcome{status: "error", code: exitFailure, summary: fmt.Sprintf("Coderrr failed inside: %v", p)}
		}
		fin = s.finish(ctx, out)
	}()
	if err := s.start(ctx, req); err != nil {
		out = failed("open the session", err)
		return fin
	}
	out = s.run(ctx, req)
	return fin
}

func (s *Session) run(ctx context.Context, req Request) outcome {
	if req.ReadOnly {
		return s.talkOnly(ctx, req)
	}
	plan, out, ok := s.begin(ctx, req)
	for ok {
		var next step
		next, out = s.gate(ctx, req, plan)
		switch next {
		case stepEnd:
			return out
		case stepPlan:
			plan, out, ok = s.plan(ctx, "")
			continue
		}
		next, out = s.execute(ctx)
		if next == stepEnd {
			return out
		}
		plan, out, ok = s.load() // the plan changed: present it again
	}
	return out
}

// step is what a phase leads to.
type step int

const (
	stepEnd step = iota
	stepPlan
	stepGate
	stepExecute
)

// Stop ends the session within a second. A stop before Run counts too.
func (s *Session) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopAsked = true
	if s.stop != nil {
		s.stop()
	}
}

// SetConfirmWrites changes whether each write is asked for. Turning it on takes
// back every "accept all".
func (s *Session) SetConfirmWrites(on bool) {
	s.mu.Lock()
	same := s.rules.ConfirmWrites == on
	s.rules.ConfirmWrites = on
	clear(s.accepted)
	s.mu.Unlock()
	if same {
		return
	}
	text := "Writes inside the approved plan are made without asking."
	if on {
		text = "Each write is shown before it is made."
	}
	s.o.Log.Append(event.Notice{Level: "info", Kind: "confirm_writes", Text: text, On: &on})
}

// Phase is where the session is.
func (s *Session) Phase() event.Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

func (s *Session) setPhase(p event.Phase) {
	s.mu.Lock()
	same := s.phase == p
	s.phase = p
	s.mu.Unlock()
	if !same {
		s.o.Log.Append(event.PhaseChanged{Phase: p})
	}
}

func (s *Session) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *Session) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	s.queue = nil
	return q
}

// queued reports whether the person said something that the model was not told.
func (s *Session) queued() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0
}

func (s *Session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.specID
}

func (s *Session) setSpec(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.specID = id
}

func (s *Session) wasShown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown != nil
}

// gateRules is what the tool sets ask at each call.
func (s *Session) gateRules() policy.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rules
	r.ConfirmWrites = r.ConfirmWrites && !s.accepted[s.task]
	return r
}
