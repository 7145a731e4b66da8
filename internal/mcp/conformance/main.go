// Command conformance is the client that the official MCP conformance suite
// drives (make conformance). It is built from the packages of the product; only
// the browser is its own, for there is nobody to click. Its one rule: it knows
// what a scenario wants a person to do, never what a server is expected to say.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/mcp/login"
	"github.com/coderrr/coderrr/internal/mcp/oauth"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// limit is below the suite's own, which kills only the shell around us.
const limit = 25 * time.Second

// metadataURL is the client id metadata document that the suite knows.
const metadataURL = "https://conformance-test.local/client-metadata.json"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if len(args) != 1 || name == "" {
		return errors.New("usage: MCP_CONFORMANCE_SCENARIO=NAME conformance URL (the suite sets both)")
	}
	s := &scenario{name: name, url: args[0]}
	if raw := os.Getenv("MCP_CONFORMANCE_CONTEXT"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &s.given); err != nil {
			return fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	return s.run(ctx)
}

// given is what the suite hands to a scenario.
type given struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	IDPClientID      string `json:"idp_client_id"`
	IDToken          string `json:"idp_id_token"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
	ValidJWT         string `json:"valid_jwt"`
	ToolCalls        []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

type scenario struct {
	name  string
	url   string
	given given
}

// connect reaches the server with the credentials that the scenario calls for.
func (s *scenario) connect(ctx context.Context) (*wire.Client, error) {
	auth, err := oauth.New(oauth.Options{
		Name: "conformance", URL: s.url, Vault: &memory{}, MetadataURL: metadataURL,
		ClientID: s.given.ClientID, ClientSecret: s.given.ClientSecret, Grant: s.grant(),
		Login: func(ctx context.Context, f *oauth.Flow) error {
			return login.Run(ctx, f, login.Options{Open: browse, Timeout: limit})
		},
	})
	if err != nil {
		return nil, err
	}
	return wire.Connect(ctx, wire.Options{
		URL: s.url, Auth: auth, Client: wire.Implementation{Name: "coderrr-conformance", Version: "1.0.0"},
		Elicit: accept, Handshake: limit,
	})
}

// browse is a person's browser whose person agrees to everything: it opens the
// page and goes where that leads.
func browse(ctx context.Context, address string) error {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		to, err := resp.Location()
		if err != nil {
			return nil // it ended here: at our own page
		}
		address = to.String()
	}
	return nil
}

// memory is a vault for one run.
type memory struct {
	mu  sync.Mutex
	all map[string]string
}

// Get implements oauth.Vault.
func (m *memory) Get(account string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.all[account]
	return v, ok, nil
}

// Set implements oauth.Vault.
func (m *memory) Set(account, value string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]string{}
	}
	m.all[account] = value
	return "memory", nil
}

// Delete implements oauth.Vault.
func (m *memory) Delete(account string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.all[account]
	delete(m.all, account)
	return ok, nil
}
