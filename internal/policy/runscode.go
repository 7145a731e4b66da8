package policy

import (
	"slices"
	"strings"
)

// runsCode reports files that editors, shells, git, package managers, agents or CI
// run by themselves, outside our sandbox: changing one is never an ordinary edit.
func runsCode(parts []string) bool {
	folded := make([]string, len(parts))
	for i, p := range parts {
		folded[i] = fold(p)
	}
	base := folded[len(folded)-1]
	return slices.Contains(runsByName(), base) || runsBySuffix(base) ||
		slices.ContainsFunc(folded, runsByFolder) || runsByPair(folded)
}

func runsByName() []string {
	return []string{
		// shells and what they load
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout",
		"config.fish", ".envrc", ".direnvrc", ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".tmux.conf", ".screenrc",
		// git
		".gitconfig", ".gitmodules", ".gitattributes", ".pre-commit-config.yaml", ".pre-commit-config.yml",
		"lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".huskyrc", ".huskyrc.json", ".huskyrc.js", ".lintstagedrc", ".lintstagedrc.json",
		// programs that read a start-up file from the folder they are in
		".ripgreprc", ".vimrc", ".nvimrc", ".exrc", ".nvim.lua", ".lvimrc", ".emacs", ".dir-locals.el", ".gdbinit", ".lldbinit",
		".pdbrc", ".irbrc", ".pryrc", ".rprofile", ".ghci", ".psqlrc", ".sqliterc", ".curlrc", ".wgetrc", ".mailcap",
		"sitecustomize.py", "usercustomize.py", ".mise.toml", "mise.toml", ".asdfrc",
		// package managers that take commands from their settings
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bazelrc",
		// agents
		".mcp.json", "mcp.json", ".aider.conf.yml", ".devcontainer.json",
		// CI
		".gitlab-ci.yml", ".travis.yml", "jenkinsfile", "azure-pipelines.yml", ".drone.yml", "bitbucket-pipelines.yml",
		"appveyor.yml", ".appveyor.yml", ".woodpecker.yml", "cloudbuild.yaml", "cloudbuild.yml", ".cirrus.yml",
		"autorun.inf", "desktop.ini",
	}
}

func runsBySuffix(base string) bool {
	for _, s := range []string{".code-workspace", ".desktop", ".pth", ".sublime-project"} {
		if strings.HasSuffix(base, s) {
			return true
		}
	}
	return false
}

func runsByFolder(name string) bool {
	switch name {
	case ".vscode", ".idea", ".vs", ".fleet", ".zed", ".husky", ".githooks", ".circleci", ".buildkite", ".woodpecker",
		".devcontainer", ".claude", ".cursor", ".windsurf", ".continue", ".codex", ".gemini", ".roo", ".kiro", ".qwen",
		".opencode", ".amp", ".junie", ".trae", ".direnv", ".mise", ".ssh", ".gnupg":
		return true
	}
	return false
}

// runsByPair lists files that are only telling by the folder they are in.
func runsByPair(folded []string) bool {
	for i := range len(folded) - 1 {
		pair := folded[i] + "/" + folded[i+1]
		switch pair {
		case ".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".config/fish", ".config/git",
			".config/autostart", ".config/systemd", ".config/nvim", ".cargo/config", ".cargo/config.toml", ".config/mise", ".yarn/releases", ".yarn/plugins":
			return true
		}
	}
	return false
}
