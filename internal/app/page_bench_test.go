package app

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkFileKeystroke types a query over 64,000 paths and reports the 95th
// percentile of a key.
func BenchmarkFileKeystroke(b *testing.B) {
	var list []string
	for i := range 64_000 {
		list = append(list, fmt.Sprintf("team%02d/service%03d/part%d/Handler_%d.go", i/3200, i/160, i/20%8, i))
	}
	paths := index(list)
	var took []time.Duration
	for b.Loop() {
		for _, q := range []string{"", "h", "ha", "han", "hand", "s12p3h", "service300/part", "zzz"} {
			begin := time.Now()
			match(paths, q, maxShown)
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)*95/100].Seconds()*1000, "p95-ms")
}
