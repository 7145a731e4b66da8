package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// Grant gets tokens without a person, for machines.
type Grant interface {
	request(ctx context.Context, s *Source, t target) (url.Values, client, error)
}

// ClientCredentials is the grant of RFC 6749, section 4.4: with a secret, or with
// a key in PEM (RFC 7523, section 2.2).
type ClientCredentials struct {
	ClientID, ClientSecret, PrivateKey string
}

func (g ClientCredentials) request(_ context.Context, _ *Source, t target) (url.Values, client, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if g.PrivateKey == "" {
		return form, client{id: g.ClientID, secret: g.ClientSecret, method: methodFor(t.as, g.ClientSecret, "")}, nil
	}
	key, err := parsePEM(g.PrivateKey)
	if err != nil {
		return nil, client{}, err
	}
	return form, client{id: g.ClientID, method: methodJWT, assertion: func() (string, error) {
		now := time.Now()
		return sign(key, map[string]any{"typ": "JWT"}, map[string]any{
			"iss": g.ClientID, "sub": g.ClientID, "aud": t.as.Issuer, "jti": random(),
			"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		})
	}}, nil
}

// Workload trades a token of the platform that a program runs on (RFC 7523,
// section 2.1). A refusal is final: another token has to be put there.
type Workload struct {
	ClientID, JWT string
}

func (g Workload) request(_ context.Context, _ *Source, t target) (url.Values, client, error) {
	if len(t.as.Grants) > 0 && !slices.Contains(t.as.Grants, grantJWT) {
		return nil, client{}, errors.New("its authorization server takes no tokens of workloads")
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {g.JWT}}, client{id: g.ClientID, method: methodNone}, nil
}

// Enterprise signs in through a company's identity provider (MCP extension
// enterprise-managed authorization): the person's ID token is traded there for an
// assertion, and that one for a token.
type Enterprise struct {
	ClientID, ClientSecret string // at the server's authorization server
	IDPClientID, IDToken   string
	IDPTokenEndpoint       string
}

func (g Enterprise) request(ctx context.Context, s *Source, t target) (url.Values, client, error) {
	form := url.Values{
		"grant_type":           {grantExchange},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"},
		"audience":             {t.as.Issuer},
		"resource":             {t.resource.Resource},
		"subject_token":        {g.IDToken},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
	}
	u, err := s.http.allow(g.IDPTokenEndpoint)
	if err != nil {
		return nil, client{}, fmt.Errorf("the identity provider: %w", err)
	}
	status, _, body, err := s.post(ctx, u, client{id: g.IDPClientID, method: methodNone}, form, "")
	if err != nil {
		return nil, client{}, err
	}
	if status/100 != 2 {
		return nil, client{}, fmt.Errorf("the identity provider: %w", errorOf(status, body))
	}
	answer, err := parseAssertion(body)
	if err != nil {
		return nil, client{}, err
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {answer}},
		client{id: g.ClientID, secret: g.ClientSecret, method: methodFor(t.as, g.ClientSecret, "")}, nil
}

// parseAssertion reads a token exchange's answer (RFC 8693, section 2.2.1). Its
// token_type is N_A: it is no access token.
func parseAssertion(body []byte) (string, error) {
	var a struct {
		Token string `json:"access_token"`
	}
	if json.Unmarshal(body, &a) != nil || a.Token == "" {
		return "", errors.New("the identity provider sent no assertion")
	}
	return a.Token, nil
}

// grant gets the first token.
func (s *Source) grant(ctx context.Context, f *Flow) error {
	form, who, err := s.o.Grant.request(ctx, s, f.t)
	if err != nil {
		return err
	}
	f.next = session{
		Server: s.at.String(), Issuer: f.t.as.Issuer, Resource: f.t.resource.Resource, Endpoint: f.t.as.Token,
		Revocation: f.t.as.Revocation, ClientID: who.id, ClientSecret: who.secret, Method: who.method,
	}
	if len(f.scopes) > 0 {
		form.Set("scope", strings.Join(f.scopes, " "))
	}
	return f.redeem(ctx, form, who)
}

// regrant gets the next one; the lock is held.
func (s *Source) regrant(ctx context.Context, cur *session) error {
	t, err := s.discover(ctx, challenge{})
	if err != nil {
		return err
	}
	return s.grant(ctx, &Flow{s: s, t: t, scopes: cur.Scopes, old: cur})
}
