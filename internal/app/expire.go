package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/workspace"
)

// Limits of what one start clears away; the next start goes on.
const (
	maxExpired = 200
	maxExpire  = 500 * time.Millisecond
)

// expire removes the logs of this workspace's sessions that nobody wrote to for
// session.keep_days, and the pasted pictures and old contents of files that are as
// old. Only logs that
// this user's Coderrr wrote are touched: any other came with the folder. It is
// called with the workspace's lock held; a failure is said and stops nothing.
func (a *App) expire(ctx context.Context, o *session.Options, known *approval.Store, keep ...string) {
	days := a.env.Config.Session.KeepDays
	if days <= 0 {
		return
	}
	before := time.Now().AddDate(0, 0, -days)
	oldest, err := expireLogs(ctx, o.Root, known, before, append(keep, o.ID))
	if oldest.Before(before) {
		before = oldest // what a log that stays can undo, stays
	}
	if err == nil {
		err = session.ExpirePictures(o.Root.Sessions(), before)
	}
	if err == nil {
		_, err = o.History.Prune(before)
	}
	if err != nil {
		a.env.Notice(fmt.Sprintf("Sessions older than %d days could not all be cleared away (session.keep_days): %v", days, err))
	}
}

// expireLogs returns when the oldest session began whose log stays.
func expireLogs(ctx context.Context, root *workspace.Root, known *approval.Store, before time.Time, keep []string) (oldest time.Time, err error) {
	dir, oldest := root.Sessions(), time.Now()
	files, err := dir.List(".")
	if err != nil {
		return time.Time{}, err
	}
	var errs []error
	until, removed := time.Now().Add(maxExpire), 0
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name, suffix)
		if !ok || f.Kind != workspace.KindFile || !known.Known(id) {
			continue
		}
		old := false
		if !slices.Contains(keep, id) && ctx.Err() == nil && removed < maxExpired && time.Now().Before(until) {
			written, err := dir.Modified(f.Name)
			old = err == nil && written.Before(before)
			errs = append(errs, err)
		}
		if !old {
			if t := beganAt(id); t.Before(oldest) {
				oldest = t
			}
			continue
		}
		removed++
		if err := dir.Remove(f.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, known.Forget(id))
	}
	return oldest, errors.Join(errs...)
}

// beganAt is when a session began, from its id; now for an id that does not say.
func beganAt(id string) time.Time {
	t, err := time.Parse(idTime, id[:min(len(id), len(idTime))])
	if err != nil {
		return time.Now()
	}
	return t
}
