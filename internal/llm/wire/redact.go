package wire

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// keyShape matches keys by their look, so that one that we do not hold (a
// provider's echo of another) is masked too.
var keyShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{12,}|AIza[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,})`)
})

const masked = "[key]"

// secretsOf collects what must not appear in any message.
func secretsOf(o Options, u *url.URL) []string {
	var out []string
	add := func(s string) {
		if len(s) >= 4 {
			out = append(out, s)
		}
	}
	add(o.Key)
	for name, value := range o.Headers {
		if SecretHeader(name) {
			add(value)
			add(strings.TrimPrefix(value, "Bearer "))
		}
	}
	if u.User != nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
	}
	return out
}

// SecretHeader reports whether a header usually carries a credential.
func SecretHeader(name string) bool {
	n := strings.ToLower(name)
	for _, part := range []string{"authorization", "key", "token", "secret", "cookie", "password"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

// Redact masks the client's secrets and anything that looks like a key.
func (c *Client) Redact(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, masked)
	}
	return keyShape().ReplaceAllString(s, masked)
}
