// Package doctor looks at everything a run needs and says what is wrong and what
// to do about it. Checks are data; its one rule is that a check changes nothing
// and never shows a secret.
package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Status is how a check went.
type Status string

// The statuses. Warn works with a drawback, Fail does not work, Skip could not be
// looked at because something before it failed.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Result is what one check found. Remedy is what a person can do, "" when there
// is nothing to do.
type Result struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Check looks at one thing. Run must end when the context does.
type Check struct {
	Name string
	Run  func(ctx context.Context) Result
}

// Report is all of it. OK means that nothing failed.
type Report struct {
	OK     bool     `json:"ok"`
	Checks []Result `json:"checks"`
	// Provider is what a session would use; nil when that is not known.
	Provider *About `json:"provider,omitempty"`
}

// limit is how long one check may take.
const limit = 15 * time.Second

// Run runs all checks at once and returns their results in order. A check that
// hangs is given up and reported.
func Run(ctx context.Context, checks []Check) Report {
	results := make([]Result, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { results[i] = one(ctx, c) })
	}
	wg.Wait()
	r := Report{OK: true, Checks: results}
	for _, res := range results {
		if res.Status == Fail {
			r.OK = false
		}
	}
	return r
}

func one(ctx context.Context, c Check) Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- Result{Status: Fail, Detail: fmt.Sprint("the check itself failed: ", p), Remedy: "please report this"}
			}
		}()
		done <- c.Run(ctx)
	}()
	select {
	case r := <-done:
		r.Name = c.Name
		return r
	case <-ctx.Done():
		return Result{Name: c.Name, Status: Fail, Detail: fmt.Sprintf("no answer within %s", limit), Remedy: "try again; if it stays, look at what this check reaches"}
	}
}
