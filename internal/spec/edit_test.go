package spec

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/event"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSet updates a task and holds the promise: the hash and every byte outside
// host lines stay, and the update is read back.
func checkSet(t failer, d Doc, data []byte, id string, u Update) []byte {
	t.Helper()
	next, err := d.Set(id, u)
	if err != nil {
		t.Fatalf("set %s: %v", id, err)
	}
	if a, b := Hash(nil, nil, data), Hash(nil, nil, next); a != b {
		t.Fatalf("the hash changed\nbefore %q\nafter  %q", data, next)
	}
	if a, b := plain(data), plain(next); !bytes.Equal(a, b) {
		t.Fatalf("other bytes changed\nbefore %q\nafter  %q", data, next)
	}
	again, err := ParseTasks(next)
	if err != nil {
		t.Fatalf("not read back: %v\nbefore %q\nafter  %q", err, data, next)
	}
	i := slices.IndexFunc(again.Tasks, func(t Task) bool { return t.ID == TaskID(id) })
	if got := again.Tasks[i]; got.Status != u.Status || got.Evidence != u.Evidence {
		t.Fatalf("read back %q %q, want %q %q\nbefore %q\nafter  %q", got.Status, got.Evidence, u.Status, u.Evidence, data, next)
	}
	for j, task := range again.Tasks {
		if j != i && (task.Status != d.Tasks[j].Status || task.Notes != d.Tasks[j].Notes || task.Evidence != d.Tasks[j].Evidence) {
			t.Fatalf("another task changed: %s\nbefore %q\nafter  %q", task.ID, data, next)
		}
	}
	return next
}

// plain is a document without its host lines.
func plain(data []byte) []byte {
	var out []byte
	for _, l := range scan(data) {
		if !l.host() {
			out = append(out, data[l.start:l.end]...)
		}
	}
	return out
}

func TestSet(t *testing.T) {
	proved := Update{Status: Done, Evidence: "`make test` exit 0"}
	for _, tc := range []struct {
		name, text string
		u          Update
		want       string
	}{
		{
			"canonical, in place", "# Tasks: x\n_Progress: 0/1 complete._\n\n## T001: A\n- **status**: pending\n- **files**: `a`\n- **evidence**: old\n", proved,
			"# Tasks: x\n_Progress: 1/1 complete._\n\n## T001: A\n- **status**: done\n- **files**: `a`\n- **evidence**: `make test` exit 0\n",
		},
		{
			"CRLF and hand-written forms stay", "## T1 — A\r\n* Status:todo\r\n  more\r\n", proved,
			"## T1 — A\r\n* Status: done\r\n- **evidence**: `make test` exit 0\r\n  more\r\n",
		},
		{
			"bold around it all", "## T1\n**status: pending**\n",
			Update{Status: Blocked, Notes: "no\nnetwork"},
			"## T1\n**status: blocked**\n- **notes**: no network\n",
		},
		{
			"missing lines go below the heading, as deep as the others", "## T1\n  - files: a\n", proved,
			"## T1\n  - **status**: done\n  - **evidence**: `make test` exit 0\n  - files: a\n",
		},
		{
			"status ends the file", "## T1\n- status: x",
			Update{Status: Pending, Notes: "n"},
			"## T1\n- **notes**: n\n- status: pending",
		},
		{
			"evidence goes, notes stay", "## T1\n- status: done\n- evidence: e\n- notes: keep\n",
			Update{Status: InProgress},
			"## T1\n- status: in_progress\n- evidence: none\n- notes: keep\n",
		},
		{
			"percentages are people's own", "Progress: 50%\n## T1\n",
			Update{Status: Done},
			"Progress: 50%\n## T1\n- **status**: done\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := ParseTasks([]byte(tc.text))
			require.NoError(t, err)
			require.Equal(t, tc.want, string(checkSet(t, d, []byte(tc.text), d.Tasks[0].ID, tc.u)))
		})
	}
}

func TestSetUnknownTask(t *testing.T) {
	d, err := ParseTasks([]byte("## T1\n## T2\n"))
	require.NoError(t, err)
	_, err = d.Set("T9", Update{Status: Done})
	require.ErrorIs(t, err, ErrNoTask)
	require.ErrorContains(t, err, "T001, T002")
	_, err = Doc{}.Set("T9", Update{Status: Done})
	require.ErrorContains(t, err, "no tasks")
}

// drawTasks draws what people and models write, and what nobody would.
func drawTasks(t *rapid.T) []byte {
	line := rapid.OneOf(
		rapid.SampledFrom([]string{
			"# Tasks: x", "## T001: A", "### T2 — B", "## T3", "## Other", "### Detail", "#### T4",
			"- **status**: pending", "* Status: done", "status: wip", "**status:** [x]", "  - status: ✓", "status: strange",
			"- **notes**: n", "      - notes: deep", "notes: prose\r- acceptance: hidden", "notes: a\u2028b", "- **evidence**: e", "\t- evidence: tab",
			"- **files**: `a.go`, b.go", "- files:", "  - c.go", "- **depends**: none", "- acceptance: it works", "  goes on",
			"- owner: me", "_Progress: 1/2 complete._", "Progress: 50%", "progress: soon", "", " ", "> quote", "text", "\ufeff", "\x00", "\xff\xfe",
		}),
		rapid.StringN(0, 12, 30),
	)
	eol := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"})
	var b strings.Builder
	for range rapid.IntRange(0, 25).Draw(t, "lines") {
		b.WriteString(line.Draw(t, "line"))
		b.WriteString(eol.Draw(t, "eol"))
	}
	if rapid.Bool().Draw(t, "unterminated") {
		b.WriteString(line.Draw(t, "last"))
	}
	return []byte(b.String())
}

// TestTickingKeepsTheHash: whatever the document, updating any task changes
// nothing but host lines, again and again.
func TestTickingKeepsTheHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawTasks(t)
		for range rapid.IntRange(1, 4).Draw(t, "updates") {
			d, err := ParseTasks(data)
			if err != nil || len(d.Tasks) == 0 {
				return
			}
			id := rapid.SampledFrom(d.Tasks).Draw(t, "task").ID
			data = checkSet(t, d, data, id, Update{
				Status:   rapid.SampledFrom([]Status{Pending, InProgress, Done, Blocked}).Draw(t, "status"),
				Notes:    rapid.SampledFrom([]string{"", "a note", "two\nlines\r\u2028", "## T9: x"}).Draw(t, "notes"),
				Evidence: rapid.SampledFrom([]string{"", "`x` exit 0, tree abc…"}).Draw(t, "evidence"),
			})
		}
	})
}

// TestAnyOtherByteChangesTheHash: one byte of anything else is another plan.
func TestAnyOtherByteChangesTheHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := [][]byte{rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "requirements"), rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "design"), drawTasks(t)}
		before := Hash(docs[0], docs[1], docs[2])
		which := rapid.IntRange(0, 2).Draw(t, "which")
		var at []int
		if which < 2 {
			at = []int{rapid.IntRange(0, len(docs[which])-1).Draw(t, "at")}
		} else {
			for _, l := range scan(docs[2]) {
				for i := l.start; i < l.end && !l.host(); i++ {
					at = append(at, i)
				}
			}
		}
		if len(at) == 0 {
			return
		}
		i := rapid.SampledFrom(at).Draw(t, "byte")
		changed := slices.Clone(docs[which])
		changed[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		docs[which] = changed
		if which < 2 && (bytes.IndexByte(docs[0], 0) >= 0 || bytes.IndexByte(docs[1], 0) >= 0) {
			return // no document may hold a NUL
		}
		if Hash(docs[0], docs[1], docs[2]) == before {
			t.Fatalf("byte %d of document %d is not part of the hash", i, which)
		}
	})
}

// TestHashIsTheContract computes the hash as CONTRACT §Approval says it, from a
// document in the canonical form.
func TestHashIsTheContract(t *testing.T) {
	tasks := "# Tasks: x\n\n## T001: A\n- **status**: done\n- **files**: `a`\n- **notes**: n\n- **evidence**: e\n"
	rest := "# Tasks: x\n\n## T001: A\n- **files**: `a`\n"
	require.Equal(t, Hash([]byte("r"), []byte("d"), []byte(rest)), Hash([]byte("r"), []byte("d"), []byte(tasks)))
	// printf 'r\0d\0# Tasks: x\n\n## T001: A\n- **files**: `a`\n' | sha256sum
	require.Equal(t, "20283f2e6e88b0005a69c4a53207818b6a87ba33e83dff04f59a4f684f001619", Hash([]byte("r"), []byte("d"), []byte(tasks)))
	require.NotEqual(t, Hash(nil, []byte("ab"), nil), Hash([]byte("a"), []byte("b"), nil))
}

// TestC21HiddenTextIsHashed: what a viewer shows as a line of its own is not hidden
// in a line that the hash leaves out.
func TestC21HiddenTextIsHashed(t *testing.T) {
	for _, brk := range []string{"\r", "\v", "\f", "\u0085", "\u2028", "\u2029"} {
		a := "## T1\n- notes: ok" + brk + "- acceptance: run the tests\n"
		b := "## T1\n- notes: ok" + brk + "- acceptance: delete them\n"
		require.NotEqual(t, Hash(nil, nil, []byte(a)), Hash(nil, nil, []byte(b)), "%q", brk)
	}
}

func TestEvidenceText(t *testing.T) {
	require.Empty(t, EvidenceText(nil))
	require.Equal(t, "`go test ./...` exit 0, tree 3f2a3f2a3f2a…", EvidenceText(&event.Evidence{Command: "go test ./...", Tree: strings.Repeat("3f2a", 16)}))
	require.Equal(t, "`` echo `date` x `` exit 0", EvidenceText(&event.Evidence{Command: "echo `date`\n x"}))
	require.Less(t, len(EvidenceText(&event.Evidence{Command: strings.Repeat("é", 4000)})), 250)
}
