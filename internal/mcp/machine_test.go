package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that machines sign in to by themselves: nobody is asked, and the secret
// comes from the vault.
func TestClientCredentials(t *testing.T) {
	f := newFake(t, oneTool)
	f.auth = "Bearer machine"
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": s.URL, "authorization_servers": []string{s.URL}})
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": s.URL, "token_endpoint": s.URL + "/token"})
		case r.URL.Path == "/token":
			id, secret, _ := r.BasicAuth()
			if id != "c" || secret != "CANARY" || r.FormValue("grant_type") != "client_credentials" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "machine", "expires_in": 60})
		default:
			f.handle(w, r)
		}
	}))
	t.Cleanup(s.Close)
	v := &vault{}
	_, err := v.Set(ClientSecretAccount("srv"), "CANARY")
	require.NoError(t, err)
	r := start(t, map[string]Server{"srv": {URL: s.URL, Auth: "client_credentials", ClientID: "c"}}, func(o *Options) { o.Vault = v })
	require.Contains(t, r.tool(t, "look").Run(t.Context(), nil).Content, "did look")
	require.NotContains(t, r.notices(), "CANARY")
}
