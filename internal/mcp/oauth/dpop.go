package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// newKey makes a key that a token is bound to (RFC 9449).
func newKey() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make a key for the token: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("make a key for the token: %w", err)
	}
	return base64.StdEncoding.EncodeToString(der), nil
}

func parseKey(der []byte) (*ecdsa.PrivateKey, error) {
	any8, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key cannot be read: it must be PKCS #8")
	}
	key, ok := any8.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the private key is not one for ES256")
	}
	return key, nil
}

func parsePEM(text string) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key cannot be read: it must be PEM")
	}
	return parseKey(block.Bytes)
}

// sign makes a JWT with ES256 (RFC 7515; RFC 7518, section 3.4).
func sign(key *ecdsa.PrivateKey, header, claims map[string]any) (string, error) {
	header["alg"] = "ES256"
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	c, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

// proofOf makes the proof for one request (RFC 9449, section 4.2). token is "" at
// a token endpoint.
func proofOf(stored, method string, u *url.URL, token, nonce string) (string, error) {
	der, err := base64.StdEncoding.DecodeString(stored)
	if err != nil {
		return "", errors.New("the stored key cannot be read: sign in again")
	}
	key, err := parseKey(der)
	if err != nil {
		return "", err
	}
	point, err := key.PublicKey.Bytes() // 0x04, X, Y
	if err != nil {
		return "", fmt.Errorf("read the key of the token: %w", err)
	}
	jwk := map[string]any{
		"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
	target := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	claims := map[string]any{"jti": random(), "htm": method, "htu": target.String(), "iat": time.Now().Unix()}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return sign(key, map[string]any{"typ": "dpop+jwt", "jwk": jwk}, claims)
}

func (s *Source) nonce(u *url.URL) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonces[u.Scheme+"://"+u.Host]
}

// setNonce keeps a nonce; false when there is none or it is the one that was used.
func (s *Source) setNonce(u *url.URL, nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := u.Scheme + "://" + u.Host
	if nonce == "" || s.nonces[at] == nonce {
		return false
	}
	s.nonces[at] = nonce
	return true
}
