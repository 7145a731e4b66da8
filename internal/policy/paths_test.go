package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func denied(t *testing.T, rel string) {
	t.Helper()
	flags, err := CheckWrite(rel)
	var d *Denied
	require.ErrorAs(t, err, &d, rel)
	require.ErrorIs(t, err, ErrDenied)
	require.Equal(t, rel, d.Path)
	require.NotEmpty(t, d.Reason)
	require.Contains(t, err.Error(), rel)
	require.Empty(t, flags)
}

func TestP08ProtectedNamesInEverySpelling(t *testing.T) {
	for _, name := range []string{
		".git", ".GIT", ".Git", ".hg", ".HG", ".svn", ".SVN", ".coderrr", ".CoDeRRR", ".jj", ".bzr",
		".g\u200cit", ".git\u200f", "\ufeff.git", ".gi\u202et", ".c\u206aoderrr", // HFS+ ignores these
		".git.", ".git ", ".git . .", ".coderrr...", // NTFS drops these
		".git::$INDEX_ALLOCATION", ".git:x", ".git .:stream", ".coderrr:$DATA",
		"git~1", "GIT~1", "git~2", "hg~1", "svn~1", "CODERR~1", "git~1.",
		".\u017fvn",              // long s
		`sub\.git`, `.git\hooks`, // one component on Unix, two on Windows
	} {
		t.Run(name, func(t *testing.T) {
			denied(t, name)
			denied(t, name+"/hooks/pre-commit")
			denied(t, "vendor/deep/"+name)
			denied(t, "vendor/deep/"+name+"/config")
		})
	}
}

func TestP08OrdinaryNamesPass(t *testing.T) {
	for _, rel := range []string{
		"a.go", "git", "git/config", ".github/CODEOWNERS", ".gitignore", "x.git", "my.git/x", ".gitkeep", "coderrr", ".coderrrignore",
		"git~", "git~x", "digit~1", "a b/c.", "dir./x", ".git2", "foo:.git", "ünï/çode", "\xff\xfe", ".codérrr",
	} {
		_, err := CheckWrite(rel)
		require.NoError(t, err, rel)
	}
}

func TestP09NestedRepositories(t *testing.T) {
	for _, rel := range []string{"vendor/sub/.git/hooks/pre-commit", "vendor/sub/.git", ".git/modules/x/config"} {
		denied(t, rel)
	}
}

func TestP12RootItself(t *testing.T) {
	for _, rel := range []string{"", ".", "..", "../x", "/etc/passwd", "a/../b", "a//b", "./a", "a/", "a\x00b"} {
		denied(t, rel)
	}
	_, err := CheckRead(".")
	require.NoError(t, err)
	_, err = CheckRead("../x")
	require.ErrorIs(t, err, ErrDenied)
}

func TestP13GitShaped(t *testing.T) {
	for _, names := range [][]string{
		{"HEAD", "config"},
		{"HEAD", "objects"},
		{"head", "Refs"},
		{"config", "objects", "refs"},
		{"HEAD", "config", "objects", "refs", "hooks"},
		{"CONFIG.", "Objects", "refs "},
	} {
		require.True(t, GitShaped(names), names)
	}
	for _, names := range [][]string{nil, {"HEAD"}, {"config"}, {"config", "objects"}, {"objects", "refs"}, {"a", "b", "config"}} {
		require.False(t, GitShaped(names), names)
	}
}

func TestP14RunsCode(t *testing.T) {
	for _, rel := range []string{
		".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc", ".mcp.json",
		".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", ".envrc", ".husky/pre-commit", ".github/workflows/x.yml",
		".claude/settings.json", ".cursor/mcp.json", ".VSCODE/tasks.json", "sub/.vscode/launch.json", "sub/deep/.Envrc",
		".GitHub/Workflows/ci.yaml", "x.code-workspace", ".cargo/config.toml", ".devcontainer/devcontainer.json", "Jenkinsfile",
		".vscode", ".bashrc.", ".gitattributes",
	} {
		flags, err := CheckWrite(rel)
		require.NoError(t, err, rel)
		require.Contains(t, flags, FlagRunsCode, rel)
	}
	for _, rel := range []string{"a.go", "Makefile", ".github/CODEOWNERS", "workflows/x.yml", "docs/bashrc", ".gitignore", ".editorconfig", "vscode/x"} {
		flags, err := CheckWrite(rel)
		require.NoError(t, err, rel)
		require.NotContains(t, flags, FlagRunsCode, rel)
	}
}

func TestP15OwnFiles(t *testing.T) {
	for _, rel := range []string{
		".coderrr/config.toml", ".coderrr/policy.toml", ".coderrr/state.json", ".coderrr/specs/001-x/approved",
		".coderrr/specs/001-x/tasks.md", ".coderrr", "sub/.coderrr/config.toml",
	} {
		denied(t, rel)
	}
}

func TestP15OwnFilesAreNotRead(t *testing.T) {
	for rel, ok := range map[string]bool{
		".coderrr":                      true,
		".coderrr/specs":                true,
		".coderrr/specs/001-x/tasks.md": true,
		".coderrr/skills/a/SKILL.md":    true,
		".coderrr/.gitignore":           true,
		".coderrr/.gitignore/x":         false,
		".coderrr/config.toml":          false,
		".coderrr/session/1.jsonl":      false,
		".coderrr/session":              false,
		".CODERRR/session/1.jsonl":      false,
		".CODERRR/Specs/x":              false, // only the plain spelling is ours
		"sub/.coderrr/config.toml":      false,
		".coderrr /approvals/x":         false,
	} {
		_, err := CheckRead(rel)
		require.Equal(t, ok, err == nil, rel)
	}
}

func TestC19Secrets(t *testing.T) {
	for _, rel := range []string{
		".env", ".env.local", ".env.production", "prod.env", "id_rsa", "deploy/id_ed25519", "server.pem", "a/b/tls.KEY", ".npmrc", ".netrc",
		".pypirc", ".aws/credentials", "x/.aws/config", "cert.p12", ".ENV", ".Env.Local", ".git-credentials", ".kube/config",
		".docker/config.json", ".ssh/anything", ".ssh/config", "terraform.tfstate", "prod.tfvars", "client_secret_1.json",
		"service-account-x.json", "service_account.json", ".gnupg/secring.gpg", ".git/config", ".git/credentials", ".git/modules/x/config",
		"sub/.git/config", ".hg/hgrc", ".svn/auth/svn.simple/1", ".git/FETCH_HEAD", ".m2/settings.xml", ".env ", "credentials.json",
		".cargo/credentials.toml", ".git/worktrees/w/config.worktree",
	} {
		flags, err := CheckRead(rel)
		require.NoError(t, err, rel)
		require.Equal(t, []Flag{FlagSecret}, flags, rel)
	}
	for _, rel := range []string{
		".", "", ".env.example", ".env.sample", ".env.template", "example.env", ".env.local.example", ".git/HEAD", ".git/logs/HEAD", "config", "id_rsa.pub",
		".ssh/known_hosts", ".ssh/id_rsa.pub", "src/config.json", ".env/lib/x.py", "keys.go", "monkey", "environment", ".svn/entries", "hgrc",
	} {
		flags, err := CheckRead(rel)
		require.NoError(t, err, rel)
		require.Empty(t, flags, rel)
	}
	flags, err := CheckWrite(".npmrc")
	require.NoError(t, err)
	require.Equal(t, []Flag{FlagRunsCode, FlagSecret}, flags)
}

func TestNames(t *testing.T) {
	for _, n := range ProtectedNames() {
		require.True(t, IsVCS(n) != IsOwn(n), n)
	}
	require.False(t, IsVCS("src"))
	denied := ReasonVCS() + ReasonOwn()
	require.Contains(t, denied, "version control")
}

// A path that some file system takes for a protected one stays denied whatever is
// put around it, and no input panics.
func TestP08FoldingHolds(t *testing.T) {
	spell := rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{".git", ".hg", ".svn", ".coderrr"}).Draw(t, "name")
		var out []rune
		for _, r := range name {
			if rapid.Bool().Draw(t, "upper") && r >= 'a' && r <= 'z' {
				r -= 'a' - 'A'
			}
			if rapid.Bool().Draw(t, "pad") {
				out = append(out, rapid.SampledFrom([]rune{0x200C, 0x200D, 0x202A, 0x206F, 0xFEFF}).Draw(t, "ignored"))
			}
			out = append(out, r)
		}
		return string(out) + rapid.SampledFrom([]string{"", ".", " ", "..", ". .", ":a", "::$DATA"}).Draw(t, "tail")
	})
	rapid.Check(t, func(t *rapid.T) {
		rel := rapid.SampledFrom([]string{"", "a/", "a/b/"}).Draw(t, "before") + spell.Draw(t, "spelling") +
			rapid.SampledFrom([]string{"", "/x", "/hooks/y"}).Draw(t, "after")
		if _, err := CheckWrite(rel); err == nil {
			t.Fatalf("%q passes", rel)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{".git", "a/b", "../x", "\xff", ".g\u200cit/x", "a\\.git"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		_, werr := CheckWrite(rel)
		_, rerr := CheckRead(rel)
		if rerr != nil && werr == nil {
			t.Fatalf("%q may be written but not read", rel)
		}
		if fold(fold(rel)) != fold(rel) {
			t.Fatalf("fold is not settled for %q: %q, %q", rel, fold(rel), fold(fold(rel)))
		}
	})
}
