package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways a client shows who it is at a token endpoint (RFC 7591, section 2).
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodJWT   = "private_key_jwt"
)

// tokenError is an error of a token or registration endpoint (RFC 6749, section
// 5.2). Servers have shapes of their own, which are shown too.
type tokenError struct {
	Status int
	Code   string
	Text   string
}

// Error shows status, code and text.
func (e *tokenError) Error() string {
	out := fmt.Sprintf("HTTP %d", e.Status)
	if e.Code != "" {
		out += " " + foreign(e.Code)
	}
	if e.Text != "" {
		out += ": " + foreign(e.Text)
	}
	return out
}

func errorOf(status int, body []byte) *tokenError {
	e := &tokenError{Status: status}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		if form, err := url.ParseQuery(string(body)); err == nil && form.Has("error") {
			e.Code, e.Text = form.Get("error"), form.Get("error_description")
		}
		return e
	}
	e.Code, _ = fields["error"].(string)
	for _, key := range []string{"error_description", "message", "detail", "title"} {
		if text, ok := fields[key].(string); ok && e.Text == "" {
			e.Text = text
		}
	}
	return e
}

// tokens is a token endpoint's answer.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Scope   string `json:"scope"`
	Expires any    `json:"expires_in"` // a number, or one as a text
}

func (t tokens) expiry(now time.Time) time.Time {
	var seconds float64
	switch v := t.Expires.(type) {
	case float64:
		seconds = v
	case string:
		seconds, _ = strconv.ParseFloat(v, 64) // what is no number is no limit
	}
	if seconds <= 0 || seconds > 10*365*24*3600 {
		return time.Time{}
	}
	return now.Add(time.Duration(seconds * float64(time.Second)))
}

// client is who asks at a token endpoint.
type client struct {
	id, secret, method string
	assertion          func() (string, error) // for private_key_jwt
}

// ask sends a token request. key binds the token (DPoP), "" does not.
func (s *Source) ask(ctx context.Context, endpoint string, who client, form url.Values, key string) (tokens, error) {
	u, err := s.http.allow(endpoint)
	if err != nil {
		return tokens{}, fmt.Errorf("the token endpoint: %w", err)
	}
	for range 2 {
		status, header, body, err := s.post(ctx, u, who, form, key)
		if err != nil {
			return tokens{}, err
		}
		if status/100 == 2 {
			return parseTokens(header, body)
		}
		e := errorOf(status, body)
		if nonce := header.Get("DPoP-Nonce"); key != "" && e.Code == "use_dpop_nonce" && s.setNonce(u, nonce) {
			continue // RFC 9449, section 8
		}
		return tokens{}, e
	}
	return tokens{}, errors.New("the token endpoint keeps asking for another nonce")
}

func (s *Source) post(ctx context.Context, u *url.URL, who client, form url.Values, key string) (int, http.Header, []byte, error) {
	body := url.Values{}
	for k, v := range form {
		body[k] = v
	}
	switch who.method {
	case methodBasic:
	case methodPost:
		body.Set("client_id", who.id)
		body.Set("client_secret", who.secret)
	case methodJWT:
		jwt, err := who.assertion()
		if err != nil {
			return 0, nil, nil, err
		}
		body.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		body.Set("client_assertion", jwt)
	default:
		if who.id != "" {
			body.Set("client_id", who.id)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(body.Encode()))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if who.method == methodBasic {
		// RFC 6749, section 2.3.1: both parts are form-encoded first.
		req.SetBasicAuth(url.QueryEscape(who.id), url.QueryEscape(who.secret))
	}
	if key != "" {
		proof, err := proofOf(key, http.MethodPost, u, "", s.nonce(u))
		if err != nil {
			return 0, nil, nil, err
		}
		req.Header.Set("DPoP", proof)
	}
	return s.http.do(req)
}

// parseTokens reads JSON, or the form that some servers answer.
func parseTokens(header http.Header, body []byte) (tokens, error) {
	var t tokens
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return t, errors.New("the token endpoint's answer cannot be read")
		}
		t = tokens{Access: form.Get("access_token"), Refresh: form.Get("refresh_token"), Type: form.Get("token_type"), Scope: form.Get("scope")}
		if v := form.Get("expires_in"); v != "" {
			t.Expires = v
		}
	} else if json.Unmarshal(body, &t) != nil {
		return t, errors.New("the token endpoint's answer cannot be read")
	}
	if t.Access == "" {
		e := errorOf(http.StatusOK, body)
		return t, fmt.Errorf("the token endpoint sent no token (%w)", e)
	}
	if strings.ContainsAny(t.Access, " \r\n\t") {
		return t, errors.New("the token endpoint's token cannot be used")
	}
	if t.Type != "" && !strings.EqualFold(t.Type, "bearer") && !strings.EqualFold(t.Type, "dpop") {
		return t, fmt.Errorf("the token endpoint sent a token of the unknown type %q", foreign(t.Type))
	}
	return t, nil
}

// apply puts new tokens into a sign-in.
func (cur *session) apply(t tokens, asked []string) {
	cur.Token, cur.Expiry = t.Access, t.expiry(time.Now())
	if t.Refresh != "" {
		cur.Refresh = t.Refresh // rotated: the old one is dead
	}
	cur.Scopes = asked
	if t.Scope != "" {
		// What was asked for stays in the list, so that it is asked for again.
		for _, x := range strings.Fields(t.Scope) {
			if !slices.Contains(cur.Scopes, x) {
				cur.Scopes = append(slices.Clone(cur.Scopes), x)
			}
		}
	}
	if !strings.EqualFold(t.Type, "dpop") {
		cur.Key = "" // the server did not bind it
	}
}

func (cur *session) client() client {
	return client{id: cur.ClientID, secret: cur.ClientSecret, method: cur.Method}
}

// refresh gets new tokens for a sign-in.
func (s *Source) refresh(ctx context.Context, cur *session) (*session, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {cur.Refresh}}
	if cur.Resource != "" {
		form.Set("resource", cur.Resource)
	}
	key := cur.Key
	t, err := s.ask(ctx, cur.Endpoint, cur.client(), form, key)
	var refused *tokenError
	if errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
		why := "the sign-in has ended"
		if refused.Code != "" && refused.Code != "invalid_grant" {
			why += " (" + foreign(refused.Code) + ")"
		}
		return nil, &LoginError{Name: s.o.Name, Why: why}
	}
	if err != nil {
		return nil, fmt.Errorf("renew the sign-in to %s: %w", s.o.Name, err)
	}
	next := *cur
	next.apply(t, cur.Scopes)
	if strings.EqualFold(t.Type, "dpop") {
		next.Key = key
	}
	return &next, nil
}

// revoke asks the issuer to forget a sign-in (RFC 7009).
func (s *Source) revoke(ctx context.Context, cur *session) error {
	if cur.Revocation == "" {
		return nil
	}
	u, err := s.http.allow(cur.Revocation)
	if err != nil {
		return fmt.Errorf("revoke the sign-in to %s: %w", s.o.Name, err)
	}
	for _, token := range [][2]string{{cur.Refresh, "refresh_token"}, {cur.Token, "access_token"}} {
		if token[0] == "" {
			continue
		}
		status, _, body, err := s.post(ctx, u, cur.client(), url.Values{"token": {token[0]}, "token_type_hint": {token[1]}}, "")
		if err != nil {
			return fmt.Errorf("revoke the sign-in to %s: %w", s.o.Name, err)
		}
		if status/100 != 2 {
			return fmt.Errorf("revoke the sign-in to %s: %w", s.o.Name, errorOf(status, body))
		}
	}
	return nil
}
