package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/lock"
)

// lockWait bounds the waiting for another process that refreshes.
const lockWait = 60 * time.Second

// session is what is stored of one sign-in: tokens, and the client they were
// given to. It belongs to one server address and one issuer.
type session struct {
	Server       string    `json:"server"` // its address
	Issuer       string    `json:"issuer"`
	Resource     string    `json:"resource,omitempty"`
	Endpoint     string    `json:"token_endpoint"`
	Revocation   string    `json:"revocation_endpoint,omitempty"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Method       string    `json:"auth_method"`
	Token        string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
	Scopes       []string  `json:"scopes,omitempty"`
	Key          string    `json:"dpop_key,omitempty"` // PKCS #8, base64
}

func (s *session) stale(now time.Time) bool {
	return !s.Expiry.IsZero() && now.Add(early).After(s.Expiry)
}

// Account is the name under which the credentials of a server address are stored.
// Another address, even under the same name in the configuration, has others.
func Account(server string) string {
	u, err := url.Parse(server)
	host := ""
	if err == nil {
		u.Fragment = ""
		server, host = u.String(), u.Hostname()
	}
	sum := sha256.Sum256([]byte(server))
	return "mcp:" + host + ":" + hex.EncodeToString(sum[:8])
}

func (s *Source) account() string { return Account(s.at.String()) }

// current is the stored sign-in, read once; nil is none.
func (s *Source) current() (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read {
		return s.session, nil
	}
	return s.load()
}

// reread looks at the store again: another process may have changed it.
func (s *Source) reread() (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load()
}

func (s *Source) load() (*session, error) {
	raw, ok, err := s.o.Vault.Get(s.account())
	if err != nil {
		return nil, fmt.Errorf("read the sign-in to %s: %w", s.o.Name, err)
	}
	s.read, s.session = true, nil
	if !ok {
		return nil, nil
	}
	var cur session
	if json.Unmarshal([]byte(raw), &cur) != nil || cur.Server != s.at.String() {
		return nil, nil // damaged, or of another server: as good as none
	}
	s.session = &cur
	return s.session, nil
}

// save stores a sign-in; only then is it used.
func (s *Source) save(cur *session) error {
	raw, err := json.Marshal(cur)
	if err != nil {
		return fmt.Errorf("store the sign-in to %s: %w", s.o.Name, err)
	}
	if _, err := s.o.Vault.Set(s.account(), string(raw)); err != nil {
		return fmt.Errorf("store the sign-in to %s: %w", s.o.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.read = cur, true
	return nil
}

// exclusive takes the lock that processes share for this server.
func (s *Source) exclusive(ctx context.Context) (release func(), err error) {
	if s.o.Home == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	sum := sha256.Sum256([]byte(s.account()))
	held, err := lock.File(ctx, filepath.Join(s.o.Home, "locks", "mcp-"+hex.EncodeToString(sum[:8])+".lock"))
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}

// renew refreshes the token that was used, once for everyone: whoever comes later,
// in this process or another, takes what the first one got. A failed refresh
// deletes nothing.
func (s *Source) renew(ctx context.Context, used string) error {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	release, err := s.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	cur, err := s.reread()
	switch {
	case err != nil:
		return err
	case cur == nil:
		return &LoginError{Name: s.o.Name, Why: "nobody is signed in"}
	case cur.Token != used && !cur.stale(time.Now()):
		return nil // someone else did it
	case cur.Refresh == "" && s.o.Grant != nil:
		return s.regrant(ctx, cur)
	case cur.Refresh == "":
		return &LoginError{Name: s.o.Name, Why: "the sign-in has ended"}
	}
	next, err := s.refresh(ctx, cur)
	if err != nil {
		return err
	}
	return s.save(next)
}

// Status says whether someone is signed in, and until when the token is good.
func (s *Source) Status() (signedIn bool, until time.Time, err error) {
	cur, err := s.reread()
	if err != nil || cur == nil {
		return false, time.Time{}, err
	}
	return cur.Token != "", cur.Expiry, nil
}

// Logout forgets the credentials and asks their issuer to revoke them. They are
// gone here in any case; the error says that the issuer may still honour them.
func (s *Source) Logout(ctx context.Context) (found bool, err error) {
	cur, err := s.reread()
	if err != nil {
		return false, err
	}
	if cur != nil {
		err = s.revoke(ctx, cur)
	}
	found, delErr := s.o.Vault.Delete(s.account())
	s.mu.Lock()
	s.session, s.read = nil, true
	s.mu.Unlock()
	if delErr != nil {
		return found, fmt.Errorf("forget the sign-in to %s: %w", s.o.Name, delErr)
	}
	return found, err
}
