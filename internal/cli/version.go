package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// Version is what the program was built as: the linker's word, else the module's.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func setting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func commit() (id string, modified bool) {
	return setting("vcs.revision"), setting("vcs.modified") == "true"
}

func stamp() string { return setting("vcs.time") }

// buildTime is when the source was committed, zero when that is not known.
func buildTime() time.Time {
	t, err := time.Parse(time.RFC3339, stamp())
	if err != nil {
		return time.Time{}
	}
	return t
}

func (r *runner) versionLine() string {
	text := "coderrr " + r.version
	if id, modified := commit(); id != "" {
		text += " (" + id[:min(12, len(id))]
		if modified {
			text += ", modified"
		}
		if day := stamp(); len(day) >= 10 {
			text += ", " + day[:10]
		}
		text += ")"
	}
	return text + fmt.Sprintf(" %s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
