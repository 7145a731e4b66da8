package spec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/workspace"
)

// mem is the folder of specs in memory. A folder is a name that ends in "/".
type mem struct {
	mu     sync.Mutex
	data   map[string][]byte
	broken error // of every write
	blind  error // of every read and list
}

func newMem() *mem { return &mem{data: map[string][]byte{}} }

func (m *mem) Read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blind != nil {
		return nil, m.blind
	}
	data, ok := m.data[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (m *mem) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	m.data[name] = data
	return nil
}

func (m *mem) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.data[name+"/"]; ok {
		return fs.ErrExist
	}
	m.data[name+"/"] = nil
	return nil
}

func (m *mem) List(string) ([]workspace.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blind != nil {
		return nil, m.blind
	}
	var out []workspace.Info
	for name := range m.data {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			out = append(out, workspace.Info{Name: dir, Kind: workspace.KindDir})
		}
	}
	return append(out, workspace.Info{Name: "007-a-file", Kind: workspace.KindFile}, workspace.Info{Name: "notes", Kind: workspace.KindDir}), nil
}

func (m *mem) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.data {
		if strings.HasPrefix(name, id+"/") {
			delete(m.data, name)
		}
	}
}

const twoTasks = "# Tasks: Login\n\n## T001: Form\n- **status**: pending\n- **files**: `form.go`\n\n## T002: Check\n- **status**: pending\n- **files**: `check.go`\n"

func TestStoreOnDisk(t *testing.T) {
	dir := t.TempDir()
	root, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	s := NewStore(root.Specs())
	plans, err := s.List()
	require.NoError(t, err)
	require.Empty(t, plans)

	p, err := s.Create("Add a login form", "People can log in.", "")
	require.NoError(t, err)
	require.Equal(t, "001-add-a-login-form", p.ID)
	require.Equal(t, Full, p.Size)
	require.ErrorIs(t, p.Problem, ErrNoTasks)
	_, err = s.Write(p.ID, Tasks, twoTasks)
	require.NoError(t, err)
	disk, err := os.ReadFile(filepath.Join(dir, ".coderrr/specs", p.ID, "tasks.md"))
	require.NoError(t, err)
	require.Equal(t, twoTasks, string(disk))

	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".coderrr/specs", p.ID)))
	_, err = s.Load(p.ID)
	require.ErrorIs(t, err, ErrGone)
	require.ErrorContains(t, err, ".coderrr/specs/001-add-a-login-form; restore it")
	_, err = s.Write(p.ID, Tasks, twoTasks)
	require.ErrorIs(t, err, ErrGone)
	_, err = s.UpdateTask(p.ID, "T1", Done, "", nil)
	require.ErrorIs(t, err, ErrGone)
	_, err = s.Read(p.ID, Design)
	require.ErrorIs(t, err, ErrGone)
	require.NoDirExists(t, filepath.Join(dir, ".coderrr/specs", p.ID), "a deleted spec does not come back by itself")
}

// TestP21Names: whatever a model calls a spec or a document, only the folder that
// the store names is touched.
func TestP21Names(t *testing.T) {
	pattern := regexp.MustCompile(`^[0-9]{3}-[a-z0-9-]{1,60}$`)
	m := newMem()
	s := NewStore(m)
	for _, title := range []string{
		"../../.ssh/authorized_keys", "CON", strings.Repeat("very long ", 500), strings.Repeat("x", 5000), "..", "🚀🚀", "", " ", "\x00\n\r\t", "Ünïcode", "a/b\\c", "-rf", "🎉 ship it!",
		"# Tasks: x\n## T001: injected", "\u202etxt",
	} {
		p, err := s.Create(title, title, Quick)
		require.NoError(t, err, title)
		require.Regexp(t, pattern, p.ID)
		require.Empty(t, p.Tasks, title)
		require.NotEmpty(t, p.Title)
		require.Equal(t, Quick, p.Size)
	}
	for name := range m.data {
		require.Regexp(t, `^[0-9]{3}-[a-z0-9-]{1,60}/(tasks\.md)?$`, name)
	}
	for _, doc := range []string{"../tasks", "tasks.md/../x", "TASKS/", "state", "/etc/passwd", "approved"} {
		_, err := s.Write("001-ssh-authorized-keys", doc, "x")
		require.ErrorIs(t, err, ErrDocument, doc)
		_, err = s.Read("001-ssh-authorized-keys", doc)
		require.ErrorIs(t, err, ErrDocument, doc)
		_, err = s.Save("001-ssh-authorized-keys", doc, "x")
		require.ErrorIs(t, err, ErrDocument, doc)
	}
	_, err := s.Load("../001-x")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Create("x", "", "huge")
	require.EqualError(t, err, `size is "huge": use full or quick`)
}

func TestSlug(t *testing.T) {
	require.Equal(t, "fix-the-bug-42", slug("  Fix: the *Bug* #42!"))
	require.Equal(t, "spec", slug("你好"))
	long := slug("add " + strings.Repeat("word ", 40))
	require.LessOrEqual(t, len(long), 60)
	require.True(t, strings.HasSuffix(long, "-word"), long)
}

func TestOpen(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	_, err := s.Open("1")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "none yet")
	for _, id := range []string{"001-login", "002-logout", "010-login", "1000-big"} {
		require.NoError(t, m.Mkdir(id))
	}
	for ref, want := range map[string]string{
		"1": "001-login", "001": "001-login", "2": "002-logout", "logout": "002-logout", "010-login": "010-login", " 10 ": "010-login", "1000": "1000-big", "002-logout/": "002-logout",
	} {
		got, err := s.Open(ref)
		require.NoError(t, err, ref)
		require.Equal(t, want, got, ref)
	}
	for _, ref := range []string{"login", "3", "", "0", "-1", "../x", "007-a-file", "notes"} {
		_, err := s.Open(ref)
		require.ErrorIs(t, err, ErrNotFound, ref)
	}
	_, err = s.Open("login")
	require.ErrorContains(t, err, "001-login and 010-login")
	p, err := s.Create("next", "", Quick)
	require.NoError(t, err)
	require.Equal(t, "1001-next", p.ID)
	names, err := s.folders()
	require.NoError(t, err)
	require.Equal(t, []string{"001-login", "002-logout", "010-login", "1000-big", "1001-next"}, names)
}

func TestLoad(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	p, err := s.Create("Login", "Do it.\n\n## T001: not a task", Quick)
	require.NoError(t, err)
	require.Equal(t, map[string]string{Tasks: "# Tasks: Login\n\n> Do it.\n>\n> ## T001: not a task\n"}, p.Docs)
	require.ErrorIs(t, p.Problem, ErrNoTasks)

	sum, err := s.Write(p.ID, "tasks.md", strings.TrimSuffix(twoTasks, "\n"))
	require.NoError(t, err)
	require.Equal(t, workspace.HashOf([]byte(twoTasks)), sum)
	p, err = s.Load(p.ID)
	require.NoError(t, err)
	require.NoError(t, p.Problem)
	require.Equal(t, Quick, p.Size)
	require.Equal(t, Hash(nil, nil, []byte(twoTasks)), p.Hash)
	require.Equal(t, "0 of 2 tasks done", p.Summary())

	_, err = s.Write(p.ID, Design, "# Design")
	require.NoError(t, err)
	for _, tc := range []struct{ doc, text, want string }{
		{Tasks, "## T1\n- status: maybe\n", "tasks.md line 2"},
		{Tasks, "# nothing\n", "tasks.md has no tasks"},
		{Design, "a\x00b", "design.md holds a NUL byte"},
		{Requirements, "\xff\xfe", "requirements.md is not UTF-8 text"},
		{Design, strings.Repeat("x", MaxDocument+1), "design.md has 262145 bytes"},
	} {
		keep := m.data[file(p.ID, tc.doc)]
		m.data[file(p.ID, tc.doc)] = []byte(tc.text)
		got, err := s.Load(p.ID)
		require.NoError(t, err)
		require.ErrorContains(t, got.Problem, tc.want)
		require.Equal(t, Full, got.Size)
		require.Contains(t, got.Summary(), tc.want)
		m.data[file(p.ID, tc.doc)] = keep
		if keep == nil {
			delete(m.data, file(p.ID, tc.doc))
		}
	}
	delete(m.data, file(p.ID, Tasks))
	p, err = s.Load(p.ID)
	require.NoError(t, err)
	require.ErrorContains(t, p.Problem, "tasks.md is missing")
	require.Equal(t, "login", p.Title)
}

func TestListShowsWhatIsBroken(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	_, err := s.Create("One", "", Quick)
	require.NoError(t, err)
	two, err := s.Create("Two", "", Full)
	require.NoError(t, err)
	_, err = s.Save(two.ID, Tasks, twoTasks)
	require.NoError(t, err)
	plans, err := s.List()
	require.NoError(t, err)
	require.Len(t, plans, 2)
	require.ErrorIs(t, plans[0].Problem, ErrNoTasks)
	require.NoError(t, plans[1].Problem)

	m.blind = errors.New("input/output error")
	_, err = s.List()
	require.ErrorContains(t, err, "list the specs: input/output error")
	_, err = s.Open("1")
	require.ErrorContains(t, err, "input/output error")
	_, err = s.Create("x", "", Quick)
	require.ErrorContains(t, err, "input/output error")
	_, err = s.Load(two.ID)
	require.ErrorContains(t, err, "read requirements.md of spec 002-two")
	_, err = s.Read(two.ID, "all")
	require.ErrorContains(t, err, "input/output error")
	_, err = s.Write(two.ID, Tasks, twoTasks)
	require.ErrorContains(t, err, "input/output error")
	_, err = s.UpdateTask(two.ID, "T1", Done, "", nil)
	require.ErrorContains(t, err, "input/output error")
}

// TestWriteKeepsStates: the host, not the model, says what is done.
func TestWriteKeepsStates(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	p, err := s.Create("Login", "", Quick)
	require.NoError(t, err)
	_, err = s.Write(p.ID, Tasks, "## T1: A\n- status: done\n- evidence: trust me\n\n## T2: B\n- status: wip\n")
	require.NoError(t, err)
	require.Equal(t, "## T1: A\n- status: pending\n- evidence: none\n\n## T2: B\n- status: pending\n", string(m.data[file(p.ID, Tasks)]))

	task, err := s.UpdateTask(p.ID, "t1", Done, "went well", &event.Evidence{Command: "make test"})
	require.NoError(t, err)
	require.Equal(t, Task{ID: "T001", Title: "A", Status: Done, Notes: "went well", Evidence: "`make test` exit 0", Line: 1}, task)
	_, err = s.Write(p.ID, Tasks, "# Tasks: again\n\n## T3: C\n- status: done\n## T1: A2\n- **status**: blocked\n- evidence: mine\n- notes: the model's own\n## T2\n")
	require.NoError(t, err)
	require.Equal(t, "# Tasks: again\n\n## T3: C\n- status: pending\n## T1: A2\n- **status**: done\n- evidence: `make test` exit 0\n- notes: the model's own\n## T2\n", string(m.data[file(p.ID, Tasks)]))

	before := string(m.data[file(p.ID, Tasks)])
	for _, bad := range []string{"## T1\n- status: perhaps\n", "nothing here", "## T1\n## T1\n", ""} {
		_, err = s.Write(p.ID, Tasks, bad)
		require.Error(t, err)
	}
	for _, bad := range []string{"a\x00", "\xff"} {
		_, err = s.Save(p.ID, Tasks, bad)
		require.ErrorContains(t, err, "tasks.md was not written")
	}
	require.Equal(t, before, string(m.data[file(p.ID, Tasks)]))

	// A person's own edit is taken byte for byte, even one that cannot be read.
	_, err = s.Save(p.ID, Tasks, "## T1\r\n- status: perhaps")
	require.NoError(t, err)
	require.Equal(t, "## T1\r\n- status: perhaps", string(m.data[file(p.ID, Tasks)]))
	_, err = s.UpdateTask(p.ID, "T1", Done, "", nil)
	require.ErrorContains(t, err, "tasks.md line 2 (- status: perhaps)")
	_, err = s.Write(p.ID, Tasks, twoTasks)
	require.NoError(t, err, "a file that cannot be read has no states to keep")
}

func TestUpdateTask(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	p, err := s.Create("Login", "", Quick)
	require.NoError(t, err)
	_, err = s.Write(p.ID, Tasks, twoTasks)
	require.NoError(t, err)
	p, err = s.Load(p.ID)
	require.NoError(t, err)
	_, err = s.UpdateTask(p.ID, "T3", Done, "", nil)
	require.ErrorIs(t, err, ErrNoTask)
	for _, st := range []Status{InProgress, Done, Done} {
		_, err = s.UpdateTask(p.ID, "T2", st, "", nil)
		require.NoError(t, err)
	}
	_, err = s.UpdateTask(p.ID, "T1", Blocked, "", nil)
	require.NoError(t, err)
	now, err := s.Load(p.ID)
	require.NoError(t, err)
	require.Equal(t, p.Hash, now.Hash)
	require.Equal(t, "1 of 2 tasks done, 1 blocked", now.Summary())
	_, err = s.UpdateTask(p.ID, "T1", InProgress, "", nil)
	require.NoError(t, err)
	now, err = s.Load(p.ID)
	require.NoError(t, err)
	require.Equal(t, "1 of 2 tasks done, 1 in progress", now.Summary())

	m.broken = errors.New("no space left on device")
	_, err = s.UpdateTask(p.ID, "T1", Done, "", nil)
	require.ErrorContains(t, err, "what was there is unchanged")
	_, err = s.Create("x", "", Full)
	require.ErrorContains(t, err, "no space left on device")
	m.broken = nil
	delete(m.data, file(p.ID, Tasks))
	_, err = s.UpdateTask(p.ID, "T1", Done, "", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	m.drop(p.ID)
	_, err = s.Read(p.ID, Tasks)
	require.ErrorIs(t, err, ErrGone)
}

func TestRead(t *testing.T) {
	m := newMem()
	s := NewStore(m)
	p, err := s.Create("Login", "Log in.", Full)
	require.NoError(t, err)
	_, err = s.Write(p.ID, Tasks, twoTasks)
	require.NoError(t, err)
	text, err := s.Read(p.ID, "Requirements")
	require.NoError(t, err)
	require.Equal(t, "# Requirements: Login\n\n## Goal\n\nLog in.\n", text)
	text, err = s.Read(p.ID, "all")
	require.NoError(t, err)
	require.Equal(t, "=== requirements.md ===\n# Requirements: Login\n\n## Goal\n\nLog in.\n\n=== design.md ===\n# Design: Login\n\n=== tasks.md ===\n"+twoTasks, text)
}
