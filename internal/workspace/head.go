package workspace

import (
	"bytes"
	"context"
	"path"
	"strings"
)

// ref reads one ref: an id, or the name of the ref it points to.
func (r *Root) ref(ctx context.Context, dir, common, name string) (id, next string) {
	if name != "HEAD" && !strings.HasPrefix(name, "refs/") {
		return "", ""
	}
	text, err := r.small(ctx, path.Join(dir, name))
	if err != nil && common != dir {
		text, err = r.small(ctx, path.Join(common, name))
	}
	if err != nil {
		return r.packed(ctx, common, name), ""
	}
	line := string(trimmed(text))
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return "", strings.TrimSpace(target)
	}
	if !isID(line) {
		return "", ""
	}
	return line, ""
}

// packed looks a ref up in packed-refs (git-pack-refs(1)).
func (r *Root) packed(ctx context.Context, common, name string) string {
	text, err := r.small(ctx, path.Join(common, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		id, ref, ok := strings.Cut(string(trimmed(line)), " ")
		if ok && ref == name && isID(id) {
			return id
		}
	}
	return ""
}

func trimmed(b []byte) []byte { return bytes.TrimSpace(b) }

// isID reports a hex object id, SHA-1 or SHA-256.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
