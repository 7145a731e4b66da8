package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

var (
	// ErrResource: the metadata is of another resource than the server.
	ErrResource = errors.New("its metadata is for another resource")
	// ErrIssuer: a document or an answer names another issuer than expected.
	ErrIssuer = errors.New("the issuer is not the expected one")
	// ErrPKCE: the authorization server does not say that it protects codes.
	ErrPKCE = errors.New("its authorization server does not support PKCE with S256")
)

// resource is a protected resource's metadata (RFC 9728, section 2).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Bound    bool     `json:"dpop_bound_access_tokens_required"`
}

// authServer is an authorization server's metadata (RFC 8414, section 2).
type authServer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Grants        []string `json:"grant_types_supported"`
	Iss           bool     `json:"authorization_response_iss_parameter_supported"`
	CIMD          bool     `json:"client_id_metadata_document_supported"`
	DPoP          []string `json:"dpop_signing_alg_values_supported"`

	// assumed: there was no metadata, the endpoints are those of 2025-03-26.
	assumed bool
}

// target is where a sign-in goes: the resource, and the server that guards it.
type target struct {
	resource resource // zero where there is no such metadata
	as       authServer
}

// probe asks the server without credentials and returns its challenge.
func (s *Source) probe(ctx context.Context) (challenge, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at.String(), strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return challenge{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	_, header, _, err := s.http.do(req)
	if err != nil {
		return challenge{}, err
	}
	return parseChallenge(header), nil
}

// discover finds out where to sign in (2026-07-28, authorization server
// discovery): the document that the challenge names, else the well-known ones;
// without any, the endpoints of 2025-03-26 on the server's own origin.
func (s *Source) discover(ctx context.Context, ch challenge) (target, error) {
	res, found, err := s.resource(ctx, ch)
	if err != nil {
		return target{}, err
	}
	origin := s.at.Scheme + "://" + s.at.Host
	if !found || len(res.Servers) == 0 {
		as, ok, err := s.metadata(ctx, origin)
		if err != nil {
			return target{}, err
		}
		if !ok {
			as = authServer{Issuer: origin, Authorization: origin + "/authorize", Token: origin + "/token", Registration: origin + "/register", assumed: true}
		}
		return target{resource: res, as: as}, nil
	}
	as, ok, err := s.metadata(ctx, res.Servers[0])
	if err != nil {
		return target{}, err
	}
	if !ok {
		return target{}, fmt.Errorf("its authorization server %s publishes no metadata", foreign(res.Servers[0]))
	}
	return target{resource: res, as: as}, nil
}

func (s *Source) resource(ctx context.Context, ch challenge) (resource, bool, error) {
	origin := s.at.Scheme + "://" + s.at.Host
	path := strings.TrimSuffix(s.at.EscapedPath(), "/")
	candidates := []string{origin + "/.well-known/oauth-protected-resource" + path}
	if path != "" {
		candidates = append(candidates, origin+"/.well-known/oauth-protected-resource")
	}
	if ch.Metadata != "" {
		candidates = []string{ch.Metadata}
	}
	for _, c := range candidates {
		var r resource
		ok, err := s.document(ctx, c, &r)
		if err != nil {
			return resource{}, false, fmt.Errorf("read its metadata: %w", err)
		}
		if !ok || r.Resource == "" && len(r.Servers) == 0 {
			continue
		}
		if !covers(r.Resource, s.at) {
			return resource{}, false, fmt.Errorf("%w: %s", ErrResource, foreign(r.Resource))
		}
		return r, true, nil
	}
	if ch.Metadata != "" {
		return resource{}, false, fmt.Errorf("the metadata it names is not at %s", foreign(ch.Metadata))
	}
	return resource{}, false, nil
}

// covers reports whether a resource identifier is the server's address, or a path
// above it on the same origin (RFC 9728, section 3.3; RFC 8707).
func covers(id string, at *url.URL) bool {
	u, err := url.Parse(id)
	if err != nil || u.Fragment != "" || !sameOrigin(u, at) {
		return false
	}
	have, want := strings.TrimSuffix(at.EscapedPath(), "/")+"/", strings.TrimSuffix(u.EscapedPath(), "/")+"/"
	return strings.HasPrefix(have, want)
}

// metadata reads an authorization server's metadata. The issuer must be the very
// text that was asked for (RFC 8414, section 3.3): a document of another issuer
// is not used, and nothing else is tried then.
func (s *Source) metadata(ctx context.Context, issuer string) (authServer, bool, error) {
	u, err := s.http.allow(issuer)
	if err != nil {
		return authServer{}, false, fmt.Errorf("its authorization server: %w", err)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	candidates := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		candidates = append(candidates, origin+path+"/.well-known/openid-configuration")
	}
	for _, c := range candidates {
		var as authServer
		ok, err := s.document(ctx, c, &as)
		if err != nil {
			return authServer{}, false, fmt.Errorf("read the metadata of its authorization server: %w", err)
		}
		if !ok || as.Issuer == "" && as.Token == "" {
			continue
		}
		if as.Issuer != issuer {
			return authServer{}, false, fmt.Errorf("%w: the metadata of %s is by %s", ErrIssuer, foreign(issuer), foreign(as.Issuer))
		}
		return as, true, nil
	}
	return authServer{}, false, nil
}

// document fetches a JSON object; false when there is none. An address that must
// not be used is an error.
func (s *Source) document(ctx context.Context, at string, into any) (bool, error) {
	status, body, err := s.http.get(ctx, at)
	if err != nil {
		return false, err
	}
	if status != http.StatusOK || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return false, nil
	}
	return json.Unmarshal(body, into) == nil, nil
}

// pkce reports whether codes are protected.
func (s *Source) pkce(as authServer) error {
	if as.assumed || s.o.NoPKCE && len(as.Challenges) == 0 || slices.Contains(as.Challenges, "S256") {
		return nil
	}
	return fmt.Errorf("%w (%s)", ErrPKCE, foreign(as.Issuer))
}

// bound reports whether tokens are to be bound to a key (RFC 9449).
func (t target) bound() bool {
	return t.resource.Bound || slices.Contains(t.as.DPoP, "ES256")
}
