package workspace

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/inert"
)

// maxPath bounds a path in bytes.
const maxPath = 4096

// Quote returns a path as it is shown: as it is, or quoted like a Go string when
// it holds characters that do not show or could be taken for something else.
// Resolve reads either form, so what was shown can be used.
func Quote(p string) string {
	odd := !utf8.ValidString(p) || strings.Contains(p, `"`) || p != strings.TrimSpace(p) || inert.Hidden(p) > 0
	for i := 0; i < len(p) && !odd; i++ {
		odd = p[i] < 0x20 || p[i] == 0x7F
	}
	if !odd {
		return p
	}
	if q := strconv.QuoteToGraphic(p); inert.Hidden(q) == 0 {
		return q
	}
	return strconv.QuoteToASCII(p) // a letter that does not show
}

// Resolve turns a path from a person or a model into a relative, slash-separated,
// clean one, by its text alone: links are not looked at. It accepts a path
// relative to the workspace, an absolute one inside it, and either as Quote shows
// it. The error wraps ErrOutside or ErrName.
func (r *Root) Resolve(p string) (string, error) {
	asked := p
	p = unquote(p)
	switch {
	case p == "":
		return "", fail(asked, "the path is empty; use \".\" for the workspace itself", ErrName)
	case len(p) > maxPath:
		return "", fail(asked[:64]+"…", "the path is longer than 4096 bytes", ErrName)
	case strings.IndexByte(p, 0) >= 0:
		return "", fail(asked, "the path holds a NUL byte", ErrName)
	}
	if filepath.IsAbs(p) || path.IsAbs(p) {
		inside, ok := r.inside(p)
		if !ok {
			return "", fail(asked, "outside the workspace; paths are relative to "+r.dir, ErrOutside)
		}
		p = inside
	}
	p = filepath.ToSlash(p)
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", fail(asked, "\"..\" is not allowed in a path; paths are relative to the workspace "+r.dir, ErrOutside)
		}
	}
	if p = path.Clean(p); !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", fail(asked, "not a path inside the workspace", ErrOutside)
	}
	return p, nil
}

// unquote undoes Quote, of the whole path or of single names in it: a listing
// shows names, and they are put after the folder they are in.
func unquote(p string) string {
	if plain, ok := unquoted(p); ok || !strings.Contains(p, `"`) {
		return plain
	}
	parts := strings.Split(p, "/")
	for i := range parts {
		if plain, ok := unquoted(parts[i]); ok && !strings.Contains(plain, "/") {
			parts[i] = plain
		}
	}
	return strings.Join(parts, "/")
}

func unquoted(s string) (string, bool) {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		if plain, err := strconv.Unquote(s); err == nil {
			return plain, true
		}
	}
	return s, false
}

// inside cuts the workspace's directory off an absolute path, in either of its
// spellings.
func (r *Root) inside(p string) (string, bool) {
	for _, dir := range []string{r.dir, r.used} {
		if strings.TrimRight(p, `/\`) == dir {
			return ".", true
		}
		if under(p, dir) {
			rest := strings.TrimLeft(p[len(dir):], `/\`)
			if rest == "" {
				rest = "."
			}
			return rest, true
		}
	}
	return "", false
}
