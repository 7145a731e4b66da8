package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrState: an answer is not to the request that was made.
var ErrState = errors.New("the answer is not to this sign-in")

// Flow is one sign-in with a person: Begin makes the address to open, Finish takes
// what came back. It is used once.
type Flow struct {
	s      *Source
	t      target
	scopes []string
	old    *session

	next     session
	redirect string
	verifier string
	state    string
}

// Name is the server's name.
func (f *Flow) Name() string { return f.s.o.Name }

// Issuer is who will ask the person.
func (f *Flow) Issuer() string { return f.t.as.Issuer }

// Scopes are what will be asked for.
func (f *Flow) Scopes() []string { return f.scopes }

// Begin registers the client where that is needed and returns the address for the
// person's browser. redirect is where the answer will be waited for.
func (f *Flow) Begin(ctx context.Context, redirect string) (string, error) {
	if err := f.s.pkce(f.t.as); err != nil {
		return "", err
	}
	at, err := f.s.http.allow(f.t.as.Authorization)
	if err != nil {
		return "", fmt.Errorf("the authorization endpoint: %w", err)
	}
	f.redirect = redirect
	who, err := f.client(ctx)
	if err != nil {
		return "", err
	}
	f.verifier, f.state = random(), random()
	f.next = session{
		Server: f.s.at.String(), Issuer: f.t.as.Issuer, Resource: f.t.resource.Resource,
		Endpoint: f.t.as.Token, Revocation: f.t.as.Revocation,
		ClientID: who.id, ClientSecret: who.secret, Method: who.method,
	}
	sum := sha256.Sum256([]byte(f.verifier))
	q := at.Query()
	q.Set("response_type", "code")
	q.Set("client_id", who.id)
	q.Set("redirect_uri", redirect)
	q.Set("state", f.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	if f.next.Resource != "" {
		q.Set("resource", f.next.Resource)
	}
	if len(f.scopes) > 0 {
		q.Set("scope", strings.Join(f.scopes, " "))
	}
	at.RawQuery, at.Fragment = q.Encode(), ""
	return at.String(), nil
}

// Finish checks the answer and trades its code for tokens, which are stored. An
// answer whose state or issuer is not the expected one is not read further: its
// words are somebody else's.
func (f *Flow) Finish(ctx context.Context, q url.Values) error {
	if f.state == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(f.state)) != 1 {
		return ErrState
	}
	f.state = ""
	if err := f.issuer(q); err != nil {
		return err
	}
	if q.Get("error") != "" {
		return fmt.Errorf("the sign-in was refused: %s %s", foreign(q.Get("error")), foreign(q.Get("error_description")))
	}
	if q.Get("code") == "" {
		return fmt.Errorf("%w: it carries no code", ErrState)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {q.Get("code")},
		"redirect_uri": {f.redirect}, "code_verifier": {f.verifier},
	}
	return f.redeem(ctx, form, f.next.client())
}

// issuer applies the table of RFC 9207, section 2.4, as the MCP specification of
// 2026-07-28 has it: texts are compared as they are.
func (f *Flow) issuer(q url.Values) error {
	iss, present := q.Get("iss"), q.Has("iss")
	switch {
	case present && iss != f.t.as.Issuer:
		return fmt.Errorf("%w: the answer comes from another one than was asked", ErrIssuer)
	case !present && f.t.as.Iss && !f.s.o.NoIssuer:
		return fmt.Errorf("%w: %s promises to name itself in its answers and did not; that is a fault of that server", ErrIssuer, foreign(f.t.as.Issuer))
	}
	return nil
}

// redeem asks for tokens and stores them.
func (f *Flow) redeem(ctx context.Context, form url.Values, who client) error {
	if f.next.Resource != "" {
		form.Set("resource", f.next.Resource)
	}
	key := ""
	if f.t.bound() {
		var err error
		if key, err = newKey(); err != nil {
			return err
		}
	}
	t, err := f.s.ask(ctx, f.t.as.Token, who, form, key)
	if err != nil {
		return fmt.Errorf("get a token: %w", err)
	}
	f.next.Key = key
	f.next.apply(t, f.scopes)
	if err := f.s.save(&f.next); err != nil {
		return err
	}
	return nil
}

func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
