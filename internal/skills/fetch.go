package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// errMissing: the server has nothing there.
var errMissing = errors.New("the server has no such file")

// client follows redirects only where the registry itself is.
func client(base *url.URL) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSHandshakeTimeout:   timeout,
			ResponseHeaderTimeout: timeout,
			DisableCompression:    true, // what is counted is what was sent
			DisableKeepAlives:     true, // a request an hour: nothing is left open
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			const most = 5
			if len(via) >= most {
				return fmt.Errorf("it redirects more than %d times", most)
			}
			if req.URL.Scheme != base.Scheme || !strings.EqualFold(req.URL.Host, base.Host) {
				return fmt.Errorf("%w: it redirects to another host (%s)", ErrRefused, req.URL.Host)
			}
			return nil
		},
	}
}

// get fetches at most limit bytes; more is an error, found while it streams.
func (r *Registry) get(ctx context.Context, address string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", quote(address), err)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("no answer: %w", cause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, errMissing
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case resp.Header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("%w: it is compressed (%s) though that was not asked for", ErrRefused, quote(resp.Header.Get("Content-Encoding")))
	case resp.ContentLength > limit:
		return nil, tooLarge(limit)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the answer broke off: %w", cause(err))
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: it is larger than %d KiB", ErrRefused, limit>>10)
}

// cause is an error of the client without the method and address it begins with.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
