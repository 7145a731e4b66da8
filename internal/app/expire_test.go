package app_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/workspace"
)

// leave puts a session log into the workspace as it was some days ago.
func (x *machine) leave(id, text string, days int) string {
	x.t.Helper()
	dir := filepath.Join(x.ws, ".coderrr", "session")
	require.NoError(x.t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, id+".jsonl")
	require.NoError(x.t, os.WriteFile(path, []byte(text), 0o600))
	then := time.Now().AddDate(0, 0, -days)
	require.NoError(x.t, os.Chtimes(path, then, then))
	return path
}

// Old logs of ours go, at the start of a session; a log that came with the folder,
// a young one and anything that is no log stay.
func TestKeepDays(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()[:4]...).URL)
	known := approval.Open(x.home, x.ws)
	started := `{"seq":1,"time":"2020-01-01T00:00:00Z","type":"session.started","version":1,"session_id":"x"}` + "\n"
	old, young, foreign := x.leave("old", started, 31), x.leave("young", started, 29), x.leave("foreign", started, 400)
	for _, id := range []string{"old", "young", "linked"} {
		require.NoError(t, known.Register(id))
	}
	note := filepath.Join(filepath.Dir(old), "old.txt")
	require.NoError(t, os.Rename(x.leave("tmp", "mine", 400), note))
	outside := filepath.Join(x.home, "outside.jsonl")
	require.NoError(t, os.WriteFile(outside, []byte(started), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(filepath.Dir(old), "linked.jsonl")))
	contents := history.Open(x.home, x.ws)
	sum, err := contents.Put([]byte("long ago"))
	require.NoError(t, err)
	fresh, err := contents.Put([]byte("lately"))
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(filepath.Join(x.home, "history"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, sum[2:]) {
			then := time.Now().AddDate(0, 0, -31)
			return os.Chtimes(path, then, then)
		}
		return err
	}))
	pixels, err := base64.StdEncoding.DecodeString(pixel)
	require.NoError(t, err)
	root, err := workspace.Open(x.ws, workspace.Options{})
	require.NoError(t, err)
	pasted, err := session.KeepPicture(root.Sessions(), pixels)
	require.NoError(t, errors.Join(err, root.Close()))
	pasted = filepath.Join(x.ws, pasted)
	theirs := filepath.Join(filepath.Dir(pasted), "theirs.png")
	require.NoError(t, os.WriteFile(theirs, pixels, 0o600))
	for _, path := range []string{pasted, theirs} {
		then := time.Now().AddDate(0, 0, -31)
		require.NoError(t, os.Chtimes(path, then, then))
	}

	require.Equal(t, 4, x.run("run", "--plan-only", "greet"), x)
	require.NoFileExists(t, old)
	require.NoFileExists(t, pasted)
	require.FileExists(t, theirs)
	require.False(t, known.Known("old"))
	for _, path := range []string{young, foreign, note, outside} {
		require.FileExists(t, path)
	}
	require.True(t, known.Known("young"))
	require.False(t, contents.Has(sum))
	require.True(t, contents.Has(fresh))
}

// The session that is gone on with is kept, however old, and 0 keeps all.
func TestKeepDaysSpares(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()[:4]...).URL)
	require.Equal(t, 4, x.run("run", "--plan-only", "greet"), x)
	logs, err := filepath.Glob(filepath.Join(x.ws, ".coderrr", "session", "*.jsonl"))
	require.NoError(t, err)
	then := time.Now().AddDate(0, 0, -90)
	require.NoError(t, os.Chtimes(logs[0], then, then))
	require.Equal(t, 4, x.run("run", "--continue"), x)
	require.FileExists(t, logs[0])

	require.NoError(t, os.Chtimes(logs[0], then, then))
	data, err := os.ReadFile(filepath.Join(x.home, "config.toml"))
	require.NoError(t, err)
	x.config(string(data) + "[session]\nkeep_days = 0\n")
	require.Equal(t, 4, x.run("run", "--spec", "1"), x)
	require.FileExists(t, logs[0])
}

// What a log that stays can undo stays too, however old it is.
func TestKeepDaysKeepsWhatCanBeUndone(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()[:4]...).URL)
	id := time.Now().UTC().AddDate(0, 0, -90).Format("20060102-150405") + "-abcdef"
	x.leave(id, `{"seq":1,"time":"2020-01-01T00:00:00Z","type":"session.started","version":1,"session_id":"x"}`+"\n", 5)
	require.NoError(t, approval.Open(x.home, x.ws).Register(id))
	contents := history.Open(x.home, x.ws)
	for text, days := range map[string]int{"of the session": 60, "before it": 120} {
		sum, err := contents.Put([]byte(text))
		require.NoError(t, err)
		then := time.Now().AddDate(0, 0, -days)
		found, err := filepath.Glob(filepath.Join(x.home, "history", "*", sum[:2], sum[2:]))
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NoError(t, os.Chtimes(found[0], then, then))
	}
	require.Equal(t, 4, x.run("run", "--plan-only", "greet"), x)
	left, err := filepath.Glob(filepath.Join(x.home, "history", "*", "*", "*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(left[0])
	require.NoError(t, err)
	require.Equal(t, "of the session", string(data))
}

// TestC16ACopiedLog: a log that was copied or restored so that others can read it is
// closed to them before more is written.
func TestC16ACopiedLog(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()[:4]...).URL)
	require.Equal(t, 4, x.run("run", "--plan-only", "greet"), x)
	logs, err := filepath.Glob(filepath.Join(x.ws, ".coderrr", "session", "*.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(logs[0], 0o644))
	require.Equal(t, 4, x.run("run", "--continue"), x)
	info, err := os.Stat(logs[0])
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

// TestC16Modes: what a session leaves is for its user alone, whatever the umask.
func TestC16Modes(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	require.Zero(t, x.run("run", "--yes", "greet"), x)
	_, err := history.Open(x.home, x.ws).Put([]byte("before"))
	require.NoError(t, err)
	for _, top := range []string{filepath.Join(x.ws, ".coderrr", "session"), filepath.Join(x.home, "approvals"), filepath.Join(x.home, "history")} {
		seen := 0
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&0o077, "%s has the mode %v", path, info.Mode())
			seen++
			return nil
		})
		require.NoError(t, err)
		require.Greater(t, seen, 1, top)
	}
}
