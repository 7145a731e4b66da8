package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/workspace"
)

// shelves is a workspace and a person's folder, each with the skills given: path
// below the folder to text.
func shelves(t *testing.T, ws, user map[string]string) Local {
	t.Helper()
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), ".agents", "skills")
	for base, files := range map[string]map[string]string{dir: ws, home: user} {
		for name, text := range files {
			path := filepath.Join(base, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	root, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return Local{Root: root, User: home}
}

func named(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n# %s\n", name, description, name)
}

func TestLocal(t *testing.T) {
	l := shelves(t, map[string]string{
		".agents/skills/release/SKILL.md":  named("release", "How this project is released"),
		".agents/skills/both/SKILL.md":     named("both", "the project's"),
		".claude/skills/both/SKILL.md":     named("both", "another"),
		".claude/skills/folded/SKILL.md":   "---\r\nname: \"folded\"\r\ndescription: >\r\n  How to\r\n  fold\r\nother: [x]\r\n---\r\nText\r\n",
		".claude/skills/bare/SKILL.md":     "no front matter",
		".claude/skills/empty/README.md":   "no skill",
		".claude/skills/Bad Name/SKILL.md": "---\nname: Also Bad\n---\n",
		".claude/skills/large/SKILL.md":    strings.Repeat("x", MaxSkill+1),
		".claude/skills/binary/SKILL.md":   "\xff\xfe",
		".claude/skills/file":              "no folder",
	}, map[string]string{"both/SKILL.md": named("both", "mine")})
	infos, warnings := l.List(t.Context())
	var got []string
	for _, i := range infos {
		got = append(got, strings.TrimPrefix(i.Source, filepath.ToSlash(filepath.Dir(filepath.Dir(l.User))))+" "+i.Name+" "+i.Description)
	}
	require.Equal(t, []string{"/.agents/skills both mine", ".agents/skills release How this project is released", ".claude/skills bare ", ".claude/skills binary ", ".claude/skills folded How to fold"}, got)
	require.Len(t, warnings, 2, warnings)
	require.Contains(t, warnings[0], "Bad Name")
	require.Contains(t, warnings[1], "larger than 256 KiB")

	s, err := l.Load(t.Context(), "both")
	require.NoError(t, err)
	require.Equal(t, "# both", s.Text)
	require.Equal(t, filepath.ToSlash(l.User)+"/both/SKILL.md", s.URL)
	require.Len(t, s.SHA256, 64)
	s, err = l.Load(t.Context(), "folded")
	require.NoError(t, err)
	require.Equal(t, "Text", s.Text)
	for name, want := range map[string]error{"binary": ErrRefused, "large": ErrNoSkill, "../release": ErrNoSkill, "": ErrNoSkill} {
		_, err = l.Load(t.Context(), name)
		require.ErrorIs(t, err, want, name)
	}
	infos, warnings = Local{}.List(t.Context())
	require.Empty(t, infos)
	require.Empty(t, warnings)
}

// TestC18Local: a local skill cannot show another file, hide text, or block.
func TestC18Local(t *testing.T) {
	l := shelves(t, map[string]string{".agents/skills/hidden/SKILL.md": "---\nname: hidden\ndescription: a\U000E0041b\n---\n\x1b[2Jtext"}, map[string]string{"mine/SKILL.md": named("mine", "")})
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("SECRET"), 0o600))
	for _, base := range []string{filepath.Join(l.Root.Dir(), ".agents/skills"), l.User} {
		require.NoError(t, os.Mkdir(filepath.Join(base, "linked"), 0o755))
		require.NoError(t, os.Symlink(secret, filepath.Join(base, "linked", "SKILL.md")))
		require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(base, "folder")))
		require.NoError(t, os.MkdirAll(filepath.Join(base, "dir", "SKILL.md"), 0o755))
	}
	infos, warnings := l.List(t.Context())
	require.Len(t, infos, 2)
	require.Equal(t, "a⟨U+E0041⟩b", infos[1].Description)
	require.Len(t, warnings, 4, warnings)
	require.NotContains(t, fmt.Sprint(warnings), "SECRET")
	s, err := l.Load(t.Context(), "hidden")
	require.NoError(t, err)
	require.Equal(t, "⟨U+001B⟩[2Jtext", s.Text)
	require.Equal(t, 1, s.Hidden)
	_, err = l.Load(t.Context(), "linked")
	require.ErrorIs(t, err, ErrNoSkill)
}

func TestShelf(t *testing.T) {
	l := shelves(t, map[string]string{".agents/skills/pdf/SKILL.md": named("pdf", "the project's way with PDF")}, nil)
	reg, calls := registry(t, `{"skills":{"pdf":{"url":"pdf.md"},"docx":{"url":"docx.md","description":"pdf too"}}}`, map[string]string{"docx.md": "words", "pdf.md": "theirs"})
	s := Shelf{Local: l, Registry: reg}
	found, err := s.Search(t.Context(), "pdf", 5)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []string{".agents/skills", FromRegistry}, []string{found[0].Source, found[1].Source})
	before := calls.Load()
	k, err := s.Load(t.Context(), "pdf")
	require.NoError(t, err)
	require.Equal(t, "# pdf", k.Text)
	require.Equal(t, before, calls.Load(), "a local skill asks nobody")
	k, err = s.Load(t.Context(), "docx")
	require.NoError(t, err)
	require.Equal(t, "words", k.Text)
	_, err = s.Load(t.Context(), "none")
	require.ErrorIs(t, err, ErrNoSkill)

	s = Shelf{Local: l, Problem: ErrUnavailable}
	found, err = s.Search(t.Context(), "pdf", 5)
	require.NoError(t, err, "local skills are found without a registry")
	require.Len(t, found, 1)
	_, err = s.Search(t.Context(), "quantum", 5)
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = s.Load(t.Context(), "docx")
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = Shelf{Local: l}.Load(t.Context(), "docx")
	require.ErrorIs(t, err, ErrNoSkill)
}

// FuzzFront: no front matter crashes, and what it yields is fit for one line.
func FuzzFront(f *testing.F) {
	f.Add("---\nname: a\ndescription: |\n  b\n c\n---\n")
	f.Add("---\n:\n x\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range front(text) {
			if strings.ContainsAny(plain(v, 400), "\n\x1b") {
				t.Fatal(v)
			}
		}
	})
}
