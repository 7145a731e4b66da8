package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Exit is how a tier saw a command end.
type Exit struct {
	Code    int      // -1 when it was killed
	Reason  string   // why it was killed, if not for the context's end
	Changed []string // Result.Changed where the tier knows it
}

// Execute is what all tiers do alike around one command: output, time limit,
// and what to say about a failure. start runs the command until it and all it
// started are gone; when its context ends it kills them and returns.
func Execute(ctx context.Context, cmd Command, network bool,
	start func(ctx context.Context, stdout, stderr *os.File) (Exit, error),
) (Result, error) {
	out := NewCapture(0, cmd.Output)
	pipes, err := NewPipes(out)
	if err != nil {
		return Result{}, err
	}
	defer pipes.Close()
	limited, cancel := context.WithTimeout(ctx, cmd.Timeout)
	defer cancel()
	begun := time.Now()
	exit, err := start(limited, pipes.Stdout, pipes.Stderr)
	pipes.Drain()
	r := Result{ExitCode: exit.Code, Duration: time.Since(begun), Reason: exit.Reason, Changed: exit.Changed}
	out.Finish(&r)
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("running the command: %w", ctx.Err())
	case err != nil:
		return r, err
	case limited.Err() != nil && exit.Code == -1:
		r.TimedOut = true
		r.Reason = TimeoutReason(cmd.Timeout)
	case r.ExitCode != 0 && r.Reason == "":
		r.Reason, r.NetworkDenied = ExplainFailure(r.Output, network)
	}
	return r, nil
}

// Gate lets commands through one at a time and none after Close.
type Gate struct {
	one    chan struct{} // holds a token while a command runs
	closed chan struct{}
	once   sync.Once
}

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{one: make(chan struct{}, 1), closed: make(chan struct{})} }

// Enter waits for its turn. The context it returns also ends when the gate is
// closed; done must be called when the command has ended.
func (g *Gate) Enter(ctx context.Context, cmd Command) (_ context.Context, done func(), _ error) {
	if strings.IndexByte(cmd.Line, 0) >= 0 || strings.TrimSpace(cmd.Line) == "" {
		return nil, nil, errors.New("the command is empty or holds a NUL byte")
	}
	select {
	case g.one <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("waiting for the sandbox: %w", ctx.Err())
	}
	select {
	case <-g.closed:
		<-g.one
		return nil, nil, fmt.Errorf("%w: it was closed", ErrUnavailable)
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-g.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-g.one }, nil
}

// Close stops the command that runs, waits for it and calls release, once.
func (g *Gate) Close(release func() error) error {
	var err error
	g.once.Do(func() {
		close(g.closed)
		g.one <- struct{}{}
		defer func() { <-g.one }()
		err = release()
	})
	return err
}
