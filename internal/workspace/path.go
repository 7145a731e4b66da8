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
	odd := !utf8.ValidString(p) || strings.HasPrefix(p, `"`) || p != strings.TrimSpace(p) || inert.Hidden(p) > 0
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
// relative to the workspace, an absolute one inside it, and either in the quoted
// form of Quote. The error wraps ErrOutside or ErrName.
func (r *Root) Resolve(p string) (string, error) {
	asked := p
	if len(p) >= 2 && p[0] == '"' && p[len(p)-1] == '"' {
		if plain, err := strconv.Unquote(p); err == nil {
			p = plain
		}
	}
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
