package sandbox

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// EnvOptions say what a command's environment is built from.
type EnvOptions struct {
	Host []string // the environment of Coderrr, as os.Environ gives it
	Tier Tier     // put into CODERRR_SANDBOX
	Home string   // put into HOME
	Temp string   // put into TMPDIR
	// Extra names more variables of Host to pass on, from the user's own
	// configuration. A name that holds a provider's key is not passed even so.
	Extra []string
}

// Env builds a command's whole environment from an allow-list: nothing that is
// not named reaches a command, so a variable nobody thought of cannot leak.
func Env(o EnvOptions) []string {
	path := Lookup(o.Host, "PATH")
	lang := Lookup(o.Host, "LANG")
	if lang == "" {
		lang = "C.UTF-8"
	}
	env := []string{
		"PATH=" + cleanPath(path),
		"HOME=" + o.Home,
		"LANG=" + lang,
		"TERM=dumb",
		"TMPDIR=" + o.Temp,
		"CI=true",
		"CODERRR_SANDBOX=" + string(o.Tier),
		"AGENT=coderrr",
	}
	if runtime.GOOS == "windows" {
		// A process cannot start there without these.
		for _, name := range []string{"SystemRoot", "ComSpec", "PATHEXT"} {
			env = append(env, name+"="+Lookup(o.Host, name))
		}
		env = append(env, "USERPROFILE="+o.Home, "TEMP="+o.Temp, "TMP="+o.Temp)
	}
	for _, name := range o.Extra {
		if Withheld(name) || slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			continue
		}
		if i := index(o.Host, name); i >= 0 {
			env = append(env, o.Host[i])
		}
	}
	return env
}

// Withheld reports whether the variable name is one that commands never get,
// not even when the user's configuration names it: it holds a key that Coderrr
// itself uses, or it is not a name at all.
func Withheld(name string) bool {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return true
	}
	switch strings.ToUpper(name) {
	case "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY",
		"OPENROUTER_API_KEY", "OLLAMA_API_KEY", "CODERRR_API_KEY", "CODERRR_HOME":
		return true
	}
	return false
}

// cleanPath drops the entries of a PATH that depend on the current directory:
// that is the workspace, and its files must not shadow system commands.
func cleanPath(path string) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !slices.Contains(keep, dir) {
			keep = append(keep, dir)
		}
	}
	if len(keep) == 0 && runtime.GOOS != "windows" {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

func index(env []string, name string) int {
	return slices.IndexFunc(env, func(e string) bool {
		key, _, ok := strings.Cut(e, "=")
		return ok && (key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name))
	})
}

// Lookup returns the value of a variable in an environment, "" if it is unset.
func Lookup(env []string, name string) string {
	if i := index(env, name); i >= 0 {
		return env[i][strings.IndexByte(env[i], '=')+1:]
	}
	return ""
}
