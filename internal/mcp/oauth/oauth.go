// Package oauth keeps and refreshes the credentials of MCP servers (OAuth 2.1, as
// the MCP authorization specification of 2026-07-28 profiles it). It never opens a
// browser: where a person is needed it says so, and package login does the rest.
// Its one rule: a credential goes to the party it was made for and to nobody else,
// and what a document says of itself is compared before it is used.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// early is how long before its end a token is renewed.
const early = 30 * time.Second

// maxLogins bounds the authorizations that one Source starts in a row without
// getting through, the first one included.
const maxLogins = 3

// Vault stores secrets by name; package secret implements it.
type Vault interface {
	Get(account string) (value string, ok bool, err error)
	Set(account, value string) (where string, err error)
	Delete(account string) (found bool, err error)
}

// Options of a Source. Name, URL and Vault are required.
type Options struct {
	Name  string // of the server in the configuration
	URL   string // of the server
	Vault Vault
	// Home is where lock files lie; "" keeps no lock between processes.
	Home string
	// ClientID and ClientSecret are of a client that was registered beforehand.
	ClientID, ClientSecret string
	// MetadataURL is the https address of our client id metadata document, "" if
	// there is none.
	MetadataURL string
	// Scopes are asked for instead of what the server names.
	Scopes []string
	// Grant gets tokens without a person; nil means that a person signs in.
	Grant Grant
	// Login starts the interactive leg. It is nil in a run: then a LoginError says
	// what the person has to do.
	Login func(ctx context.Context, f *Flow) error
	// NoIssuer accepts a server that promises the iss parameter and leaves it out
	// (RFC 9207); NoPKCE one that does not say that it supports PKCE.
	NoIssuer, NoPKCE bool
}

// LoginError says that a person has to sign in.
type LoginError struct {
	Name   string
	Scopes []string // that are missing, nil if it is not about scopes
	Why    string
}

// Error names the command that helps.
func (e *LoginError) Error() string {
	cmd := "coderrr mcp login " + e.Name
	if len(e.Scopes) > 0 {
		cmd += " --scopes " + strings.Join(e.Scopes, ",")
	}
	return fmt.Sprintf("MCP server %s: %s: sign in with `%s`", e.Name, e.Why, cmd)
}

// Source is the credentials of one server; it implements wire.Auth. It is safe
// for concurrent use, and refreshing is done once for all goroutines and
// processes.
type Source struct {
	o    Options
	at   *url.URL
	http *guarded

	renewing sync.Mutex // one refresh or login at a time
	mu       sync.Mutex
	session  *session // nil until it was read
	read     bool
	logins   int
	nonces   map[string]string // DPoP nonces by origin
}

var _ wire.Auth = (*Source)(nil)

// New returns the credentials of a server; nothing is read or sent yet.
func New(o Options) (*Source, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s is not an address", o.Name)
	}
	if o.Vault == nil {
		return nil, errors.New("oauth: a Source needs a Vault")
	}
	u.Fragment = ""
	return &Source{o: o, at: u, http: newGuarded(u), nonces: map[string]string{}}, nil
}

// Sign implements wire.Auth: it adds the token of exactly this server, renewed if
// it is about to end.
func (s *Source) Sign(ctx context.Context, req *http.Request) error {
	if !sameOrigin(req.URL, s.at) {
		return fmt.Errorf("the credentials of %s are not sent to %s", s.o.Name, req.URL.Host)
	}
	cur, err := s.current()
	if err != nil || cur == nil || cur.Token == "" {
		return err
	}
	if req.URL.Scheme != "https" && !wire.Loopback(req.URL.Hostname()) {
		return fmt.Errorf("%w: the token of %s", wire.ErrPlainHTTP, s.o.Name)
	}
	if cur.stale(time.Now()) {
		if err := s.renew(ctx, cur.Token); err != nil {
			return err
		}
		if cur, err = s.current(); err != nil || cur == nil {
			return err
		}
	}
	return s.attach(req, cur)
}

// attach adds the token to a request. The scheme is ours, whatever token_type was
// spelled like.
func (s *Source) attach(req *http.Request, cur *session) error {
	if cur.Key == "" {
		req.Header.Set("Authorization", "Bearer "+cur.Token)
		return nil
	}
	proof, err := proofOf(cur.Key, req.Method, req.URL, cur.Token, s.nonce(req.URL))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "DPoP "+cur.Token)
	req.Header.Set("DPoP", proof)
	return nil
}

// Refused implements wire.Auth.
func (s *Source) Refused(ctx context.Context, r wire.Refusal) error {
	ch := parseChallenge(r.Header)
	if nonce := r.Header.Get("DPoP-Nonce"); nonce != "" && ch.Error == "use_dpop_nonce" {
		if s.setNonce(s.at, nonce) {
			return nil
		}
	}
	sent := tokenOf(r.Authorization)
	cur, err := s.reread()
	if err != nil {
		return err
	}
	if cur != nil && cur.Token != "" && sent != cur.Token && r.Status == http.StatusUnauthorized {
		return nil // another one got a new token meanwhile
	}
	if r.Status == http.StatusForbidden {
		return s.stepUp(ctx, ch, cur)
	}
	if cur != nil && cur.Refresh != "" && s.o.Grant == nil && ch.Error != "insufficient_scope" && s.stillTheirs(ctx, ch, cur) {
		err := s.renew(ctx, sent)
		var login *LoginError
		if !errors.As(err, &login) || s.o.Login == nil {
			return err
		}
	}
	why := "it wants you to sign in"
	if sent != "" {
		why = "it no longer accepts the sign-in"
	}
	return s.authorize(ctx, ch, cur, nil, why)
}

// stillTheirs reports whether the authorization server that the token is from is
// still the one of the resource. Where that cannot be found out it is.
func (s *Source) stillTheirs(ctx context.Context, ch challenge, cur *session) bool {
	t, err := s.discover(ctx, ch)
	return err != nil || t.as.Issuer == cur.Issuer
}

// stepUp is a 403: more scopes are needed, or it is final.
func (s *Source) stepUp(ctx context.Context, ch challenge, cur *session) error {
	if ch.Error != "insufficient_scope" {
		return fmt.Errorf("MCP server %s: HTTP 403 Forbidden%s", s.o.Name, ch.words())
	}
	scopes := ch.scopes()
	if cur != nil {
		// 2026-07-28, authorization, step-up: what was asked for before stays.
		for _, x := range cur.Scopes {
			if !slices.Contains(scopes, x) {
				scopes = append(scopes, x)
			}
		}
	}
	return s.authorize(ctx, ch, cur, scopes, "it needs more permissions")
}

// authorize gets a new token: with a grant, or with a person if one is there.
// scopes nil takes what the server names.
func (s *Source) authorize(ctx context.Context, ch challenge, cur *session, scopes []string, why string) error {
	if s.o.Grant == nil && s.o.Login == nil {
		return &LoginError{Name: s.o.Name, Scopes: scopes, Why: why}
	}
	s.renewing.Lock()
	defer s.renewing.Unlock()
	if now, err := s.reread(); err == nil && now != nil && (cur == nil || now.Token != cur.Token) {
		return nil
	}
	s.mu.Lock()
	s.logins++
	n := s.logins
	s.mu.Unlock()
	if n > maxLogins {
		return fmt.Errorf("MCP server %s still refuses after %d sign-ins%s", s.o.Name, maxLogins, ch.words())
	}
	t, err := s.discover(ctx, ch)
	if err != nil {
		return fmt.Errorf("sign in to the MCP server %s: %w", s.o.Name, err)
	}
	if scopes == nil {
		scopes = s.wanted(ch, t)
	}
	f := &Flow{s: s, t: t, scopes: scopes, old: cur}
	if s.o.Grant != nil {
		err = s.grant(ctx, f)
	} else {
		err = s.o.Login(ctx, f)
	}
	if err != nil {
		return fmt.Errorf("sign in to the MCP server %s: %w", s.o.Name, err)
	}
	return nil
}

// Login signs in now, without waiting to be refused: first it asks the server how.
func (s *Source) Login(ctx context.Context, scopes []string) error {
	ch, err := s.probe(ctx)
	if err != nil {
		return err
	}
	cur, err := s.reread()
	if err != nil {
		return err
	}
	if len(scopes) == 0 {
		scopes = nil
	}
	return s.authorize(ctx, ch, cur, scopes, "it wants you to sign in")
}

// wanted chooses scopes: the person's, else the challenge's, else the resource's,
// else none (2026-07-28, authorization, scope selection).
func (s *Source) wanted(ch challenge, t target) []string {
	var scopes []string
	switch {
	case len(s.o.Scopes) > 0:
		return s.o.Scopes
	case ch.Scope != "":
		scopes = ch.scopes()
	default:
		scopes = slices.Clone(t.resource.Scopes)
	}
	if slices.Contains(t.as.Scopes, offline) && !slices.Contains(scopes, offline) && len(scopes) > 0 {
		scopes = append(scopes, offline)
	}
	return scopes
}

// offline is the scope that stands for a refresh token.
const offline = "offline_access"

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}

func tokenOf(authorization string) string {
	_, token, _ := strings.Cut(authorization, " ")
	return token
}

// foreign makes text of a server fit for an error message.
func foreign(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	out, _ := inert.Visible(s)
	return out
}
