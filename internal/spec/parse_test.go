package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseTasks(t *testing.T) {
	one := func(task Task) []Task { return []Task{task} }
	for _, tc := range []struct {
		name, text, title string
		want              []Task
	}{
		{
			name:  "canonical",
			text:  "# Tasks: Add login\n\n## T001: Add the form\n- **status**: done\n- **files**: `a.go`, `b/c.go`\n- **depends**: none\n- **acceptance**: `go test ./...` passes\n- **notes**: see design\n- **evidence**: `go test ./...` exit 0, tree 3f2a…\n",
			title: "Add login",
			want: one(Task{
				ID: "T001", Title: "Add the form", Status: Done, Files: []string{"a.go", "b/c.go"},
				Acceptance: "`go test ./...` passes", Notes: "see design", Evidence: "`go test ./...` exit 0, tree 3f2a…", Line: 3,
			}),
		},
		{
			name:  "CRLF, short id, em dash, no bold, other order, words for a status",
			text:  "# Tasks\r\n\r\n### T1 — Form\r\n* files: a.go, ./b.go (new)\r\n* Status: WIP\r\n",
			title: "",
			want:  one(Task{ID: "T001", Title: "Form", Status: InProgress, Files: []string{"a.go", "b.go"}, Line: 3}),
		},
		{
			name:  "bold around the colon, bold around all, BOM, closing hashes, no list marks",
			text:  "\ufeff# Login\n## **T12** - **Form** ##\n**status:** ✅\n**files: a.go**\ndepends on: nothing\n",
			title: "Login",
			want:  one(Task{ID: "T012", Title: "Form", Status: Done, Files: []string{"a.go"}, Line: 2}),
		},
		{
			name: "lists below a field, unknown fields, depends with words",
			text: "## Task 1: A\n- owner: me\n- files:\n  - `a.go`\n  - b.go (tests)\n- acceptance criteria:\n  - it builds\n  - status: 200 is returned\n\n## T2. B\n- depends: T1 and `T001`\n",
			want: []Task{
				{ID: "T001", Title: "A", Status: Pending, Files: []string{"a.go", "b.go"}, Acceptance: "it builds; status: 200 is returned", Line: 1},
				{ID: "T002", Title: "B", Status: Pending, Depends: []string{"T001"}, Line: 10},
			},
		},
		{
			name: "code blocks hold no tasks, prose with a colon is prose",
			text: "## T001\n```\n## T002: not a task\n- status: done\n```\nstatus: of the union\nNote: nothing\n## Rest\n- status: done\n",
			want: one(Task{ID: "T001", Title: "T001", Status: Pending, Line: 1}),
		},
		{
			name: "a comma inside backticks is part of the name, a heading below stays in the task",
			text: "## [ ] t7: A\n### Detail\n- files: `a,b.go` and `c d.go`; e.go\n- state: x\n- status: [x]\n",
			want: one(Task{ID: "T007", Title: "A", Status: Done, Files: []string{"a,b.go", "and", "c d.go", "e.go"}, Line: 1}),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := ParseTasks([]byte(tc.text))
			require.NoError(t, err)
			require.Equal(t, tc.title, d.Title)
			require.Empty(t, cmp.Diff(tc.want, d.Tasks))
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown status", "## T001: A\n- **status**: maybe\n", "tasks.md line 2 (- **status**: maybe): unknown status \"maybe\": use pending, in_progress, done or blocked"},
		{"duplicate id", "## T001: A\n## T1: B\n", "tasks.md line 2 (## T1: B): the id T001 is used twice, first in line 1: give each task its own"},
		{"two status lines", "## T001: A\n- status: done\n- status: todo\n", "tasks.md line 3 (- status: todo): this task has two status lines: keep one"},
		{"two evidence lines", "## T001: A\n- evidence: a\n- evidence: b\n", "tasks.md line 3 (- evidence: b): this task has two evidence lines: keep one"},
		{"open code block", "## T001: A\n```sh\nls\n", "tasks.md line 2 (```sh): the code block that begins here is never closed"},
		{"unknown dependency", "## T001: A\n- depends: T9\n", "tasks.md line 2 (- depends: T9): it depends on T009, which is not a task of this plan"},
		{"depends on itself", "## T001: A\n- depends: T1\n", "tasks.md line 2 (- depends: T1): it depends on itself"},
		{"heading at the end", "## T001: A", "tasks.md line 1 (## T001: A): the file ends in a task's heading: end the line"},
		{"hidden characters are shown", "## T001: A\n- status: do\U000E0041ne\n", "tasks.md line 2 (- status: do⟨U+E0041⟩ne): unknown status \"do\\U000e0041ne\": use pending, in_progress, done or blocked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseTasks([]byte(tc.text))
			var p *ParseError
			require.ErrorAs(t, err, &p)
			require.Equal(t, tc.want, err.Error())
		})
	}
}

func TestNoTasksSaysWhatLooksLikeOne(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ErrNoTasks.Error()},
		{"# Tasks: x\n\nnothing yet\n```\n- [ ] T1 a\n```\n", ErrNoTasks.Error()},
		{"# Tasks\n- [ ] T1 Do it\n", "tasks.md line 2 (- [ ] T1 Do it): it looks like a task and is not written as one: write `## T001: Do it`"},
		{"#### T3: Deep\n", "tasks.md line 1 (#### T3: Deep): it looks like a task and is not written as one: write `## T003: Deep`"},
	} {
		d, err := ParseTasks([]byte(tc.text))
		require.NoError(t, err)
		require.EqualError(t, d.missing(), tc.want)
	}
}

func TestParseStatus(t *testing.T) {
	for want, words := range map[Status][]string{
		Pending:    {"", "pending", "TODO", "to do", "to-do", "open", "Not started", "[ ]", "`pending`", "☐"},
		InProgress: {"in_progress", "In Progress", "in-progress", "wip", "doing", "**started**", "[~]", "🚧"},
		Done:       {"done", "Done.", "completed", "finished", "✓", "✔️", "✅", "[x]", "[X]", "✅ done", "done ✓", "x"},
		Blocked:    {"blocked", "stuck", "on hold", "failed", "❌"},
	} {
		for _, w := range words {
			got, err := ParseStatus(w)
			require.NoError(t, err, w)
			require.Equal(t, want, got, w)
		}
	}
	for _, w := range []string{"maybe", "done (by me)", "200", "!!", "_"} {
		_, err := ParseStatus(w)
		require.Error(t, err, w)
	}
	_, err := ParseStatus(strings.Repeat("x", 5000))
	require.Less(t, len(err.Error()), 200)
}

func TestTaskID(t *testing.T) {
	for in, want := range map[string]string{
		"T001": "T001", "t1": "T001", "1": "T001", " `T12` ": "T012", "Task 3": "T003", "T1234567": "T1234567", "x": "x", "": "",
	} {
		require.Equal(t, want, TaskID(in), in)
	}
}

func TestRenderIsReadBack(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,6}( [a-z0-9]{1,6}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		var want []Task
		for i := range n {
			task := Task{
				ID: canonical(string(rune('1' + i))), Title: word.Draw(t, "title"),
				Status: rapid.SampledFrom([]Status{Pending, InProgress, Done, Blocked}).Draw(t, "status"),
			}
			task.Files = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}/[a-z]{1,5}\.go`), 0, 3, rapid.ID).Draw(t, "files")
			if i > 0 && rapid.Bool().Draw(t, "depends") {
				task.Depends = []string{want[i-1].ID}
			}
			if rapid.Bool().Draw(t, "texts") {
				task.Acceptance, task.Notes, task.Evidence = word.Draw(t, "a"), word.Draw(t, "n"), "ran "+word.Draw(t, "e")
			}
			want = append(want, task)
		}
		title := "x" + word.Draw(t, "doc")
		d, err := ParseTasks(Render(title, want))
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Tasks {
			d.Tasks[i].Line = 0
			if len(want[i].Files) == 0 {
				want[i].Files = nil
			}
		}
		if diff := cmp.Diff(want, d.Tasks); diff != "" || d.Title != title {
			t.Fatalf("title %q, want %q\n%s", d.Title, title, diff)
		}
	})
}

// FuzzParseTasks: nothing crashes the parser, and what it reads it can update
// without touching anything else.
func FuzzParseTasks(f *testing.F) {
	f.Add([]byte("# Tasks: x\n## T001: A\n- **status**: pending\n_Progress: 0/1_\n"), byte(0))
	f.Add([]byte("## T1 — A\r\n* status: wip\r\n  - notes: deep\r\n```\r\n"), byte(1))
	f.Add([]byte("\ufeffProgress: 1/2\n### t2\n   - evidence: x\n- status: done"), byte(2))
	f.Fuzz(func(t *testing.T, data []byte, pick byte) {
		d, err := ParseTasks(data)
		if err != nil {
			var p *ParseError
			if !errors.As(err, &p) || p.Line < 1 || p.Why == "" {
				t.Fatalf("not a useful error: %v", err)
			}
			return
		}
		if len(d.Tasks) == 0 {
			_ = d.missing().Error()
			return
		}
		checkSet(t, d, data, d.Tasks[int(pick)%len(d.Tasks)].ID, Update{
			Status: []Status{Pending, InProgress, Done, Blocked}[pick%4], Notes: "a\nb", Evidence: []string{"", "`x` exit 0"}[pick%2],
		})
	})
}
