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
// session.keep_days, and the old contents of files that are as old. Only logs that
// this user's Coderrr wrote are touched: any other came with the folder. It is
// called with the workspace's lock held; a failure is said and stops nothing.
func (a *App) expire(ctx context.Context, o *session.Options, known *approval.Store, keep ...string) {
	days := a.env.Config.Session.KeepDays
	if days <= 0 {
		return
	}
	before := time.Now().AddDate(0, 0, -days)
	err := expireLogs(ctx, o.Root, known, before, append(keep, o.ID))
	if _, pruned := o.History.Prune(before); pruned != nil {
		err = errors.Join(err, pruned)
	}
	if err != nil {
		a.env.Notice(fmt.Sprintf("Sessions older than %d days could not all be cleared away (session.keep_days): %v", days, err))
	}
}

func expireLogs(ctx context.Context, root *workspace.Root, known *approval.Store, before time.Time, keep []string) error {
	dir := root.Sessions()
	files, err := dir.List(".")
	if err != nil {
		return err
	}
	var errs []error
	began, removed := time.Now(), 0
	for _, f := range files {
		if ctx.Err() != nil || removed == maxExpired || time.Since(began) > maxExpire {
			break
		}
		id, ok := strings.CutSuffix(f.Name, suffix)
		if !ok || f.Kind != workspace.KindFile || slices.Contains(keep, id) || !known.Known(id) {
			continue
		}
		if old, err := unwritten(dir, f.Name, before); err != nil || !old {
			errs = append(errs, err)
			continue
		}
		removed++
		if err := dir.Remove(f.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, known.Forget(id))
	}
	return errors.Join(errs...)
}

// unwritten reports whether a log was last written before a time.
func unwritten(dir *workspace.Dir, name string, before time.Time) (bool, error) {
	f, err := dir.Open(name)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	return info.ModTime().Before(before), nil
}
