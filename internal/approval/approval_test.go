package approval_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
)

const ws = "/home/someone/project"

var (
	one = strings.Repeat("1", 64)
	two = strings.Repeat("2", 64)
)

// folder is where CONTRACT.md says the records of ws are.
func folder(home string) string {
	sum := sha256.Sum256([]byte(ws))
	return filepath.Join(home, "approvals", hex.EncodeToString(sum[:]))
}

func approved(t *testing.T, s *approval.Store, spec, hash string) bool {
	t.Helper()
	ok, err := s.Approved(spec, hash)
	require.NoError(t, err)
	return ok
}

func TestRecord(t *testing.T) {
	home := t.TempDir()
	s := approval.Open(home, ws)
	require.False(t, approved(t, s, "001", one))
	require.NoError(t, s.Record("001-add-flag", one, ask.ByBrowser))
	require.True(t, approved(t, s, "001", one))
	require.True(t, approved(t, s, "001-renamed", one), "the number decides, the hash names the bytes")

	// W20: another hash, another spec, another workspace, another home.
	require.False(t, approved(t, s, "001", two))
	require.False(t, approved(t, s, "001", ""))
	require.False(t, approved(t, s, "001", strings.ToUpper(strings.Repeat("a", 64))))
	require.False(t, approved(t, s, "002", one))
	require.False(t, approved(t, approval.Open(home, ws+"/sub"), "001", one))
	require.False(t, approved(t, approval.Open(t.TempDir(), ws), "001", one))

	require.NoError(t, s.Record("001", two, ask.ByFlag))
	require.True(t, approved(t, s, "001", two))
	require.False(t, approved(t, s, "001", one), "an older plan is no longer approved")

	rec, ok, err := s.Last("001")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, ask.ByFlag, rec.By)
	require.WithinDuration(t, time.Now(), rec.Time, time.Minute)

	data, err := os.ReadFile(filepath.Join(folder(home), "001.json"))
	require.NoError(t, err)
	var fields map[string]string
	require.NoError(t, json.Unmarshal(data, &fields))
	require.Equal(t, two, fields["hash"])
	require.Equal(t, "flag", fields["by"])
}

func TestPrivate(t *testing.T) {
	home := t.TempDir()
	s := approval.Open(home, ws)
	require.NoError(t, s.Record("001", one, ask.ByFlag))
	require.NoError(t, s.Register("s1"))
	require.NoError(t, filepath.WalkDir(filepath.Join(home, "approvals"), func(p string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		require.Equal(t, want, info.Mode().Perm(), p)
		return nil
	}))
}

// TestDamaged: what cannot be understood approves nothing.
func TestDamaged(t *testing.T) {
	good, err := json.Marshal(approval.Record{Hash: one, By: ask.ByBrowser})
	require.NoError(t, err)
	for name, content := range map[string]string{
		"empty":         "",
		"cut":           string(good[:len(good)/2]),
		"not an object": `"` + one + `"`,
		"a list":        "[" + string(good) + "]",
		"no hash":       `{"by":"browser"}`,
		"short hash":    `{"hash":"1111"}`,
		"a pattern":     `{"hash":"*"}`,
		"two values":    string(good) + string(good),
		"huge":          string(good) + strings.Repeat(" ", 2<<20),
		"binary":        "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			require.NoError(t, os.MkdirAll(folder(home), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder(home), "001.json"), []byte(content), 0o600))
			s := approval.Open(home, ws)
			require.False(t, approved(t, s, "001", one))
			require.False(t, approved(t, s, "001", ""))
			require.NoError(t, s.Record("001", one, ask.ByFlag), "and it can be replaced")
			require.True(t, approved(t, s, "001", one))
		})
	}
}

func TestNotAFile(t *testing.T) {
	home, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "planted.json")
	good, err := json.Marshal(approval.Record{Hash: one, By: ask.ByBrowser})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(elsewhere, good, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(folder(home), "002.json"), 0o700))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(folder(home), "001.json")))
	s := approval.Open(home, ws)
	require.False(t, approved(t, s, "001", one), "a link is not followed")
	require.False(t, approved(t, s, "002", one))
}

func TestNames(t *testing.T) {
	s := approval.Open(t.TempDir(), ws)
	for _, spec := range []string{"", "1", "x", "../001", "001/../../x", "001.json", "001-", "001-Ü", "001\n"} {
		require.ErrorIs(t, s.Record(spec, one, ask.ByFlag), approval.ErrName, "%q", spec)
		ok, err := s.Approved(spec, one)
		require.Error(t, err)
		require.False(t, ok)
	}
	for _, hash := range []string{"", "x", one + "1", strings.Repeat("G", 64)} {
		require.ErrorIs(t, s.Record("001", hash, ask.ByFlag), approval.ErrName, "%q", hash)
	}
}

// TestC21KnownSessions: only a session that was registered here is ours.
func TestC21KnownSessions(t *testing.T) {
	home := t.TempDir()
	s := approval.Open(home, ws)
	require.False(t, s.Known("20261130-abc"))
	require.NoError(t, s.Register("20261130-abc"))
	require.True(t, s.Known("20261130-abc"))
	require.False(t, s.Known("20261130-abd"))
	require.False(t, approval.Open(home, "/other").Known("20261130-abc"), "a copy of the log in another workspace")
	for _, id := range []string{"", "..", "../001", "a/b", "a.b", strings.Repeat("a", 129)} {
		require.ErrorIs(t, s.Register(id), approval.ErrName, "%q", id)
		require.False(t, s.Known(id))
	}
	require.NoError(t, s.Forget("20261130-abc"))
	require.NoError(t, s.Forget("20261130-abc"))
	require.False(t, s.Known("20261130-abc"))
	require.ErrorIs(t, s.Forget("../x"), approval.ErrName)
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := approval.Open(file, ws)
	require.ErrorContains(t, s.Record("001", one, ask.ByFlag), "record the approval of 001")
	require.ErrorContains(t, s.Register("s1"), "register the session s1")
	ok, err := s.Approved("001", one)
	require.Error(t, err)
	require.False(t, ok)
	require.Error(t, approval.OpenToolAnswers(file).Set(t.Context(), "s", "t", approval.ToolAnswer{Hash: "h"}))
}

// TestC14ToolAnswers: twenty answers at once are all kept.
func TestC14ToolAnswers(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a := approval.OpenToolAnswers(home)
			if err := a.Set(t.Context(), "server", fmt.Sprint("tool", i), approval.ToolAnswer{Hash: "h", Always: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	a := approval.OpenToolAnswers(home)
	for i := range 20 {
		got, ok, err := a.Answer("server", fmt.Sprint("tool", i))
		require.NoError(t, err)
		require.True(t, ok)
		require.True(t, got.Always)
		require.Equal(t, "h", got.Hash)
	}
	require.NoError(t, a.Reset(t.Context(), "server", "tool3"))
	_, ok, err := a.Answer("server", "tool3")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, a.Reset(t.Context(), "server", ""))
	_, ok, _ = a.Answer("server", "tool4")
	require.False(t, ok)

	require.NoError(t, os.WriteFile(filepath.Join(home, "approvals", "mcp.json"), []byte("{"), 0o600))
	_, ok, err = a.Answer("server", "tool4")
	require.NoError(t, err)
	require.False(t, ok, "a damaged file answers nothing")
}
