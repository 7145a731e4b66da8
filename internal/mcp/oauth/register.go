package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// ErrNoClient: the authorization server knows no way to let this program in.
var ErrNoClient = errors.New("its authorization server registers no clients by itself: register Coderrr there and set client_id")

// client finds out who we are at this issuer (2026-07-28, client registration):
// registered beforehand, by a metadata document, as we were before, or registered
// now. What one issuer gave is never shown to another.
func (f *Flow) client(ctx context.Context) (client, error) {
	o, as := f.s.o, f.t.as
	switch {
	case o.ClientID != "":
		return client{id: o.ClientID, secret: o.ClientSecret, method: methodFor(as, o.ClientSecret, "")}, nil
	case as.CIMD && o.MetadataURL != "":
		return client{id: o.MetadataURL, method: methodNone}, nil
	case as.Registration == "":
		return client{}, ErrNoClient
	}
	return f.register(ctx)
}

// methodFor chooses how to show a secret: what the registration said, else what
// the server supports.
func methodFor(as authServer, secret, said string) string {
	switch {
	case slices.Contains([]string{methodNone, methodBasic, methodPost}, said) && (secret != "" || said == methodNone):
		return said
	case secret == "":
		return methodNone
	case slices.Contains(as.AuthMethods, methodPost) && !slices.Contains(as.AuthMethods, methodBasic):
		return methodPost
	}
	return methodBasic
}

// register registers the client (RFC 7591).
func (f *Flow) register(ctx context.Context) (client, error) {
	as := f.t.as
	u, err := f.s.http.allow(as.Registration)
	if err != nil {
		return client{}, fmt.Errorf("the registration endpoint: %w", err)
	}
	wish := methodNone
	if len(as.AuthMethods) > 0 && !slices.Contains(as.AuthMethods, methodNone) {
		for _, m := range []string{methodBasic, methodPost} {
			if slices.Contains(as.AuthMethods, m) {
				wish = m
				break
			}
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "Coderrr", "application_type": "native",
		"redirect_uris":              []string{f.redirect},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
		"token_endpoint_auth_method": wish,
	})
	if err != nil {
		return client{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return client{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	status, _, answer, err := f.s.http.do(req)
	if err != nil {
		return client{}, fmt.Errorf("register: %w", err)
	}
	if status/100 != 2 {
		return client{}, fmt.Errorf("register: %w; if this server wants clients registered by hand, set client_id", errorOf(status, answer))
	}
	var r struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if json.Unmarshal(answer, &r) != nil || r.ID == "" {
		return client{}, errors.New("register: the answer names no client")
	}
	return client{id: r.ID, secret: r.Secret, method: methodFor(as, r.Secret, r.Method)}, nil
}
