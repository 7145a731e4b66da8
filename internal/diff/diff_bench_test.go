package diff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/diff"
)

// source looks like code: most lines are distinct, some repeat everywhere.
func source(n int, r *rand.Rand) []string {
	lines := make([]string, n)
	for i := range lines {
		switch r.IntN(6) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] = "\t}"
		case 2:
			lines[i] = "\t\treturn nil, err"
		default:
			lines[i] = fmt.Sprintf("\tvalue%d := compute(%d)", i, r.IntN(1000))
		}
	}
	return lines
}

func text(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// edited changes, inserts or deletes the given share of lines.
func edited(lines []string, share float64, r *rand.Rand) []string {
	out := make([]string, 0, len(lines))
	for i, l := range lines {
		if r.Float64() >= share {
			out = append(out, l)
			continue
		}
		switch r.IntN(3) {
		case 0:
			out = append(out, fmt.Sprintf("\tchanged%d()", i))
		case 1:
			out = append(out, l, fmt.Sprintf("\tinserted%d()", i))
		}
	}
	return out
}

func BenchmarkCompute(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 2))
		lines := source(n, r)
		one := append([]string{}, lines...)
		one[n/2] = "changed"
		for _, c := range []struct {
			name  string
			after []string
		}{{"1line", one}, {"1%", edited(lines, 0.01, r)}, {"30%", edited(lines, 0.3, r)}} {
			before, after := text(lines), text(c.after)
			b.Run(fmt.Sprintf("%dk/%s", n/1000, c.name), func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					out, _ := diff.Unified("a", "b", diff.Compute(before, after), 0)
					size = len(out)
				}
				b.ReportMetric(float64(size)/1024, "KB-out")
			})
		}
	}
}

func BenchmarkWords(b *testing.B) {
	for b.Loop() {
		diff.Words("\treturn fmt.Errorf(\"read %s: %w\", path, err)", "\treturn nil, fmt.Errorf(\"open %s: %w\", name, err)")
	}
}

// TestBound: the worst inputs for a line diff stay within a time a person does
// not notice much, and stay correct. The limit is generous, for busy machines.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	few := func(n, kinds int) []byte {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprint(r.IntN(kinds))
		}
		return text(lines)
	}
	big := source(100_000, r)
	shuffled := append([]string{}, big...)
	shuffled = shuffled[:15_000]
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for name, pair := range map[string][2][]byte{
		"30% of 100k lines":       {text(big), text(edited(big, 0.3, r))},
		"two kinds of lines":      {few(10_000, 2), few(10_000, 2)},
		"thirty kinds of lines":   {few(10_000, 30), few(10_000, 30)},
		"nothing in common":       {[]byte(numbered(20_000)), []byte(strings.ReplaceAll(numbered(20_000), "line", "row"))},
		"shuffled":                {text(big[:15_000]), text(shuffled)},
		"one kind, many fewer":    {few(50_000, 1), few(10, 1)},
		"repeated block, shifted": {[]byte(strings.Repeat("a\nb\nc\n", 20_000)), []byte(strings.Repeat("b\nc\na\n", 20_000))},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			hunks := diff.Compute(pair[0], pair[1])
			took := time.Since(began)
			require.Equal(t, string(pair[1]), string(diff.Apply(pair[0], hunks, all)))
			t.Logf("%v", took)
			require.Less(t, took, time.Minute)
		})
	}
}
