package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/term"
)

// asked is one request of the conversation, done by a session of its own.
type asked struct {
	session, before string // before is the session it went on with, "" for none
	text            string
	files           int // that it changed
}

// rewind goes back to before an earlier request: the conversation, and with "files"
// what was changed since, newest first, each shown and asked about as /undo does.
func (p *repl) rewind(ctx context.Context, args string) error {
	all, err := p.requests(ctx)
	if err != nil {
		return err
	}
	words := strings.Fields(args)
	if len(words) == 0 {
		p.out(requestTable(p.style, all))
		p.out("/rewind N goes back to before request N; /rewind N files takes back what was changed since, too")
		return nil
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > len(all) || len(words) > 2 || len(words) == 2 && words[1] != "files" {
		return fmt.Errorf("/rewind takes the number of a request, 1 to %d, and perhaps the word files", len(all))
	}
	if len(words) == 2 {
		if err := p.undoSince(ctx, all[n-1:]); err != nil {
			return fmt.Errorf("the conversation stays where it is: %w", err)
		}
	}
	to := all[n-1]
	p.last, p.fresh = to.before, to.before == ""
	p.mu.Lock()
	p.seen = meter{tier: p.seen.tier, network: p.seen.network}
	p.mu.Unlock()
	p.out(fmt.Sprintf("back to before request %d: %s", n, term.OneLine(to.text)))
	if len(words) == 1 {
		p.out("files stay as they are")
	}
	return nil
}

// undoSince takes the changes of sessions back, the newest first.
func (p *repl) undoSince(ctx context.Context, all []asked) error {
	return p.store(ctx, func(ws Workspace) error {
		for _, a := range slices.Backward(all) {
			if a.files == 0 {
				continue
			}
			if err := p.r.undo(ctx, ws, p.console, UndoOptions{Session: a.session}); err != nil {
				return err
			}
		}
		return nil
	})
}

// requests are those of the conversation, oldest first.
func (p *repl) requests(ctx context.Context) (out []asked, err error) {
	if p.last == "" || p.fresh {
		return nil, errors.New("this conversation has no request yet; /sessions lists the stored ones, and /resume ID goes on with one")
	}
	err = p.store(ctx, func(ws Workspace) error {
		for id := p.last; id != "" && !slices.ContainsFunc(out, func(a asked) bool { return a.session == id }); {
			events, err := ws.Sessions().Events(ctx, id)
			if errors.Is(err, ErrNoSession) && len(out) > 0 {
				return nil // it was removed: the conversation begins after it
			}
			if err != nil {
				return err
			}
			a := requestOf(id, events)
			out = append(out, a)
			id = a.before
		}
		return nil
	})
	slices.Reverse(out)
	return out, err
}

func requestOf(id string, events []event.Event) asked {
	a := asked{session: id}
	files := map[string]bool{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.SessionStarted:
			if a.text == "" {
				a.text, a.before = d.Request, d.Continues
			}
		case event.FileChanged:
			files[d.Path] = true
		}
	}
	a.files = len(files)
	return a
}

func requestTable(s term.Style, all []asked) string {
	rows := [][]string{{"N", "FILES", "REQUEST"}}
	for i, a := range all {
		rows = append(rows, []string{fmt.Sprint(i + 1), fmt.Sprint(a.files), term.OneLine(a.text)})
	}
	return s.Table(rows)
}
