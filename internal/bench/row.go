package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one measurement against its limit.
type row struct {
	what  string
	value float64
	unit  string
	note  string  // what it was made of
	limit float64 // 0: printed only, there is nothing to hold
	least bool    // the limit is a floor
}

func (r row) ok() bool {
	switch {
	case r.limit == 0:
		return true
	case r.least:
		return r.value >= r.limit
	default:
		return r.value <= r.limit
	}
}

// table writes the rows and reports whether all of them hold.
func table(out io.Writer, rows []row) bool {
	all := true
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "what\tmeasured\tlimit\tverdict\tmade of")
	for _, r := range rows {
		limit, verdict := "", ""
		if r.limit != 0 {
			sign := "<="
			if r.least {
				sign = ">="
			}
			limit, verdict = sign+" "+number(r.limit)+" "+r.unit, "ok"
		}
		if !r.ok() {
			verdict, all = "OVER", false
		}
		_, _ = fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", r.what, number(r.value), r.unit, limit, verdict, r.note)
	}
	return w.Flush() == nil && all
}

// benchstat writes the rows in the form of `go test -bench`, which benchstat reads.
func benchstat(out io.Writer, rows []row) {
	_, _ = fmt.Fprintln(out)
	for _, r := range rows {
		name := strings.Map(func(c rune) rune {
			if c == ' ' || c == ',' || c == ':' {
				return '_'
			}
			return c
		}, r.what)
		_, _ = fmt.Fprintf(out, "BenchmarkCoderrr/%s 1 %s %s\n", name, number(r.value), strings.ReplaceAll(r.unit, " ", "_"))
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func ms(d time.Duration) string {
	return strconv.FormatFloat(millis(d), 'g', 3, 64) + " ms"
}

// middle is the value that as many are below as above.
func middle[T float64 | time.Duration | int64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
