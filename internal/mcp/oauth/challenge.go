package oauth

import (
	"net/http"
	"strings"
)

// challenge is what a 401 or 403 says in WWW-Authenticate (RFC 6750, section 3;
// RFC 9728, section 5.1; RFC 9449, section 7.1).
type challenge struct {
	Metadata string // resource_metadata
	Scope    string
	Error    string
	text     string // error_description
}

func (c challenge) scopes() []string { return strings.Fields(c.Scope) }

// words are what the server says about the refusal.
func (c challenge) words() string {
	switch {
	case c.text != "":
		return ": " + foreign(c.text)
	case c.Error != "":
		return ": " + foreign(c.Error)
	}
	return ""
}

// parseChallenge reads the parameters of the Bearer and DPoP challenges; those of
// other schemes are left alone.
func parseChallenge(h http.Header) challenge {
	var c challenge
	for _, line := range h.Values("WWW-Authenticate") {
		scheme := ""
		for line != "" {
			line = strings.TrimLeft(line, " ,\t")
			end := strings.IndexAny(line, " =,")
			if end < 0 {
				break
			}
			word, sep := line[:end], line[end]
			line = line[end+1:]
			if sep != '=' { // a scheme; its parameters follow
				scheme = strings.ToLower(word)
				continue
			}
			var value string
			value, line = paramValue(line)
			if scheme == "bearer" || scheme == "dpop" {
				c.set(strings.ToLower(word), value)
			}
		}
	}
	return c
}

func (c *challenge) set(name, value string) {
	at := map[string]*string{"resource_metadata": &c.Metadata, "scope": &c.Scope, "error": &c.Error, "error_description": &c.text}[name]
	if at != nil && *at == "" {
		*at = value
	}
}

// paramValue reads a token or a quoted string (RFC 9110, section 5.6).
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		case '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
