package wire

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// absurd is a wait that no server means; such a header is taken as absent.
const absurd = 24 * time.Hour

var waitText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+|\d+(?:\.\d+)? ?(?:seconds|second|minutes|minute))`)
})

// retryAfter is the wait a failed answer asks for, zero if it asks for none.
// Order: retry-after-ms, retry-after (RFC 9110 section 10.2.3: seconds or a date),
// google.rpc.RetryInfo, the text, then the reset of an exhausted limit.
func retryAfter(status int, h http.Header, s said) time.Duration {
	if status/100 == 2 {
		return 0 // some servers send the header with good answers
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		if wait := sane(time.Duration(ms * float64(time.Millisecond))); wait > 0 {
			return wait
		}
	}
	if wait := headerWait(h); wait > 0 {
		return wait
	}
	if wait := sane(s.wait); wait > 0 {
		return wait
	}
	if wait := waitInText(s.message); wait > 0 {
		return wait
	}
	if status == http.StatusTooManyRequests {
		return resetWait(h)
	}
	return 0
}

func sane(d time.Duration) time.Duration {
	if d < 0 || d > absurd {
		return 0
	}
	return d
}

func headerWait(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if secs, err := strconv.ParseFloat(v, 64); err == nil {
		if secs > absurd.Seconds() {
			return 0
		}
		return sane(time.Duration(secs * float64(time.Second)))
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the server's own clock, so that skew does not count
	}
	return sane(at.Sub(now))
}

func waitInText(message string) time.Duration {
	m := waitText().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	v := strings.ReplaceAll(m[1], " ", "")
	for long, short := range map[string]string{"seconds": "s", "second": "s", "minutes": "m", "minute": "m"} {
		if rest, ok := strings.CutSuffix(v, long); ok {
			v = rest + short
			break
		}
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0
	}
	return sane(d)
}

// resetWait reads the reset time of a limit that has nothing left:
// anthropic-ratelimit-*-reset is RFC 3339, x-ratelimit-reset-* a duration.
func resetWait(h http.Header) time.Duration {
	var wait time.Duration
	for name := range h {
		low := strings.ToLower(name)
		switch {
		case strings.HasPrefix(low, "anthropic-ratelimit-") && strings.HasSuffix(low, "-reset"):
			if h.Get(strings.TrimSuffix(low, "reset")+"remaining") != "0" {
				continue
			}
			if at, err := time.Parse(time.RFC3339, h.Get(name)); err == nil {
				wait = max(wait, sane(time.Until(at)))
			}
		case strings.HasPrefix(low, "x-ratelimit-reset-"):
			if h.Get("x-ratelimit-remaining-"+strings.TrimPrefix(low, "x-ratelimit-reset-")) != "0" {
				continue
			}
			if d, err := time.ParseDuration(h.Get(name)); err == nil {
				wait = max(wait, sane(d))
			}
		}
	}
	return wait
}
