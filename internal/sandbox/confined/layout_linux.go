package confined

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// toolchains are directories below HOME that hold programs and nothing secret.
func toolchains() []string {
	return []string{
		".cargo/bin", ".rustup", ".nvm", ".fnm", ".local/share/fnm", ".volta", ".bun/bin", ".deno/bin", ".npm-global",
		".yarn/bin", ".local/share/pnpm", ".pyenv", ".local/share/uv", ".local/pipx", ".local/share/pipx", ".local/lib",
		".local/bin", ".rbenv", ".asdf", ".local/share/mise", ".sdkman/candidates", ".dotnet", ".ghcup", ".opam",
		".juliaup", ".elan", ".swiftly", "sdk", "go/bin", ".cache/ms-playwright", ".cache/puppeteer",
	}
}

// caches are directories below HOME of downloaded dependencies. Commands may
// add to their view of one.
func caches() []string {
	return []string{
		".cargo/registry", ".cargo/git", ".npm/_cacache", ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/pnpm",
		".cache/composer", ".m2/repository", ".gradle/caches", ".gradle/wrapper", ".ivy2", ".cache/coursier",
		".cache/ccache", ".ccache", ".nuget/packages", ".gem", ".bundle/cache", ".hex", ".mix", ".pub-cache",
	}
}

// layout finds what commands are shown besides the system and the workspace.
func layout(o *Options) []bind {
	home := sandbox.Lookup(o.Host, "HOME")
	var out []bind
	add := func(path, source string, kind bindKind, why string) {
		info, err := os.Stat(source)
		if err != nil || !info.IsDir() || o.shown(path, out) {
			return
		}
		out = append(out, bind{Path: path, Source: source, Kind: kind, Why: why})
	}
	if filepath.IsAbs(home) && home != "/" {
		for _, dir := range toolchains() {
			add(filepath.Join(home, dir), filepath.Join(home, dir), bindRead, "a toolchain")
		}
		for _, dir := range caches() {
			add(filepath.Join(home, dir), filepath.Join(home, dir), bindCache, "downloaded dependencies")
		}
		add(filepath.Join(home, "go/pkg/mod"), modCache(o.Host, home), bindCache, "downloaded Go modules")
		build := sandbox.Lookup(o.Host, "GOCACHE")
		if !filepath.IsAbs(build) {
			build = filepath.Join(home, ".cache/go-build")
		}
		add(filepath.Join(home, ".cache/go-build"), build, bindCache, "Go's build cache")
	}
	if root := sandbox.Lookup(o.Host, "GOROOT"); filepath.IsAbs(root) {
		add(root, root, bindRead, "GOROOT")
	}
	for _, dir := range filepath.SplitList(sandbox.Lookup(o.Host, "PATH")) {
		if filepath.IsAbs(dir) && !within(home, filepath.Clean(dir)) {
			add(filepath.Clean(dir), dir, bindRead, "in PATH")
		}
	}
	if dir := commonGitDir(o.Workspace); dir != "" {
		add(dir, dir, bindCache, "the repository that this working tree belongs to")
	}
	return out
}

// shown reports whether commands see path already.
func (o *Options) shown(path string, binds []bind) bool {
	if within(path, o.Workspace) || within(o.Workspace, path) || path == "/" ||
		within(path, "/proc") || within(path, "/dev") {
		return true
	}
	for _, dir := range systemDirs() {
		if within(path, dir) {
			return true
		}
	}
	return slices.ContainsFunc(binds, func(b bind) bool { return within(path, b.Path) })
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// modCache is where the user's Go modules are; inside they are where a go
// command with no variables looks.
func modCache(env []string, home string) string {
	if dir := sandbox.Lookup(env, "GOMODCACHE"); filepath.IsAbs(dir) {
		return dir
	}
	if list := filepath.SplitList(sandbox.Lookup(env, "GOPATH")); len(list) > 0 && filepath.IsAbs(list[0]) {
		return filepath.Join(list[0], "pkg/mod")
	}
	return filepath.Join(home, "go/pkg/mod")
}

// commonGitDir is the repository of a linked working tree, "" if the workspace
// is none. The workspace's own .git file is not believed: only a repository
// that names this working tree itself is shown.
func commonGitDir(workspace string) string {
	link := filepath.Join(workspace, ".git")
	info, err := os.Lstat(link)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(link)
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok || !filepath.IsAbs(dir) || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return ""
	}
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil || strings.TrimSpace(string(back)) != link {
		return ""
	}
	return filepath.Dir(filepath.Dir(dir))
}

// Explain implements sandbox.Explainer.
func (s *Sandbox) Explain() sandbox.Explanation {
	o := &s.o
	e := sandbox.Explanation{Info: s.Info(), Env: s.env()}
	put := func(path string, a sandbox.Access, why string) {
		e.Entries = append(e.Entries, sandbox.Entry{Path: path, Access: a, Why: why})
	}
	put(o.Workspace, sandbox.Write, "the working tree as it is now; changes go to memory and never to your files")
	for _, rel := range s.cfg.Hide {
		put(filepath.Join(o.Workspace, rel), sandbox.Hidden, "Coderrr's own files")
	}
	for _, dir := range systemDirs() {
		if _, err := os.Lstat(dir); err == nil {
			put(dir, sandbox.Read, "the system")
		}
	}
	put(s.cfg.Home, sandbox.Private, "HOME: kept between sessions of this workspace in "+o.HomeCache+
		"; nothing of your own but the entries below")
	for _, b := range s.cfg.Binds {
		access := sandbox.Read
		if b.Kind == bindCache {
			access = sandbox.Write
			b.Why += "; what commands add to it is kept apart"
		}
		put(b.Path, access, b.Why)
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev", "/proc", "/run"} {
		put(dir, sandbox.Private, "its own, empty at first")
	}
	put("everything else", sandbox.Hidden, "it is not there for commands: other homes, /var, /srv, /sys, sockets of the system")
	e.Limits = s.limits()
	return e
}
