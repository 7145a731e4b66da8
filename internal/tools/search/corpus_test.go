package search

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// The size of the corpus that is made.
const (
	corpusFiles = 64_000
	perDir      = 20
	corpusName  = "corpus-2" // changes with what is made
)

// corpus makes the corpus below dir, always the same one, unless it is there.
func corpus(dir string) (string, error) {
	root := filepath.Join(dir, corpusName)
	done := filepath.Join(root, ".done")
	if _, err := os.Stat(done); err == nil {
		return root, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(r)
	for i := range corpusFiles {
		folder := filepath.Join(root, fmt.Sprintf("team%02d", i/(perDir*perDir*8)), fmt.Sprintf("service%03d", i/(perDir*8)), fmt.Sprintf("part%d", i/perDir%8))
		if i%perDir == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return "", err
			}
		}
		ext := []string{".go", ".py", ".ts", ".md", ".json"}[r.IntN(5)]
		name := words[r.IntN(len(words))] + fmt.Sprintf("_%d%s", i, ext)
		if err := os.WriteFile(filepath.Join(folder, name), source(r, words), 0o644); err != nil {
			return "", err
		}
	}
	// fd honours ignore files in a repository only.
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o755); err != nil {
		return "", err
	}
	rules := "node_modules/\n*.log\n*.tmp\n/dist/\nbuild-*/\n!keep.log\n**/cache/**\n.env\n"
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(rules), 0o644); err != nil {
		return "", err
	}
	return root, os.WriteFile(done, nil, 0o644)
}

func vocabulary(r *rand.Rand) []string {
	syllables := strings.Fields("ba con der ele fin gra han in jo ker lu men nor op par qui re ser ta un ver wil ex yo zo ment tion able er ing port set get list data file user node")
	out := make([]string, 4000)
	for i := range out {
		for range 1 + r.IntN(4) {
			out[i] += syllables[r.IntN(len(syllables))]
		}
	}
	return out
}

// source is text in the shape of code: sizes are spread as in repositories, with
// most files small and a few large.
func source(r *rand.Rand, words []string) []byte {
	size := 500 + int(r.ExpFloat64()*7500)
	if r.IntN(400) == 0 {
		size *= 20
	}
	w := func() string { return words[min(len(words)-1, int(r.ExpFloat64()*400))] }
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		b.WriteString(strings.Repeat("\t", r.IntN(4)))
		switch k := r.IntN(1000); {
		case k < 150:
			fmt.Fprintf(&b, "%s := %s(%s, %d)\n", w(), w(), w(), r.IntN(1000))
		case k < 300:
			fmt.Fprintf(&b, "if %s != nil && %s.%s == \"%s\" {\n", w(), w(), w(), w())
		case k < 400:
			fmt.Fprintf(&b, "// %s the %s of %s and %s, because %s is not %s\n", w(), w(), w(), w(), w(), w())
		case k < 450:
			fmt.Fprintf(&b, "func %s%s(%s string) error {\n", strings.ToUpper(w()[:1]), w(), w())
		case k < 452:
			fmt.Fprintf(&b, "func %sHandler(w %s, r *%s) {\n", w(), w(), w())
		case k < 454:
			fmt.Fprintf(&b, "// %s: %s %s\n", []string{"TODO", "FIXME", "XXX"}[r.IntN(3)], w(), w())
		case k < 455:
			fmt.Fprintf(&b, "const MAX%s%03d = %d\n", strings.ToUpper(w()), r.IntN(1000), r.IntN(99))
		case k < 456:
			fmt.Fprintf(&b, "%s = \"größe %s — ok\"\n", w(), w())
		case k < 600:
			b.WriteString("}\n\n")
		case k < 700:
			fmt.Fprintf(&b, "return %s.%s(%s), nil\n", w(), w(), w())
		default:
			fmt.Fprintf(&b, "%s.%s(%s, %s.%s[%d])\n", w(), w(), w(), w(), w(), r.IntN(64))
		}
	}
	return b.Bytes()
}
