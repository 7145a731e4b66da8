package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"strings"
)

// guard is what every request passes first. It answers 403 to a wrong Host (DNS
// rebinding), a foreign Origin and a request that another site caused; 415 to a
// body that a plain form could send; 401 to all but the shell page and its assets
// without the token. The websocket presents the token in its first frame, before
// any event; until then it must name our origin.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := s.address()
		headers(w.Header(), host)
		if code := s.judge(r, host); code != 0 {
			http.Error(w, http.StatusText(code), code)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// judge is the status of a refusal, 0 for none.
func (s *Server) judge(r *http.Request, host string) int {
	origin, named := r.Header["Origin"]
	switch {
	case host == "" || r.Host != host:
		return http.StatusForbidden
	case named && (len(origin) != 1 || origin[0] != "http://"+host):
		return http.StatusForbidden
	case !sameSite(r):
		return http.StatusForbidden
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		switch kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
		case !named:
			return http.StatusForbidden
		case err != nil || kind != "application/json":
			return http.StatusUnsupportedMediaType
		case !s.bearer(r):
			return http.StatusUnauthorized
		default:
			return http.StatusMethodNotAllowed // no route changes anything
		}
	}
	switch {
	case r.URL.Path == "/" || s.isAsset(r.URL.Path):
		return 0
	case r.URL.Path == "/ws" && upgrade(r):
		if !named {
			return http.StatusForbidden
		}
		return 0
	case !s.bearer(r):
		return http.StatusUnauthorized
	default:
		return 0
	}
}

// sameSite reads what browsers say about who caused a request. A link or a file
// may open the shell page: it holds nothing.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	default:
		return r.Method == http.MethodGet && r.URL.Path == "/" &&
			r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
}

func upgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (s *Server) bearer(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && s.rightToken(token)
}

// rightToken compares digests, so that the time says nothing, not even a length.
func (s *Server) rightToken(token string) bool {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func (s *Server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// headers are on every answer, refusals too.
func headers(h http.Header, host string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws://"+host+
		"; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types coderrr")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}
