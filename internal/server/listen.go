package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
)

// ErrNotLoopback is wrapped when an address could be reached from elsewhere.
var ErrNotLoopback = errors.New("the browser UI listens on this machine only")

// Listen opens addr, which must be a literal loopback address with a port
// (127.0.0.0/8 or ::1; localhost stands for 127.0.0.1).
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if port, ok := strings.CutPrefix(addr, "localhost:"); ok {
		addr = "127.0.0.1:" + port
	}
	if err := onLoopback(addr); err != nil {
		return nil, err
	}
	var cfg net.ListenConfig
	ln, err := cfg.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ln, nil
}

// onLoopback refuses names: what they stand for can change.
func onLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port, such as 127.0.0.1:0: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		if port == "" || port == "0" {
			port = "8080"
		}
		return fmt.Errorf("%w: %s could be reached from elsewhere. Use --addr 127.0.0.1:%s here, and from the other machine: ssh -L %s:127.0.0.1:%s THIS-HOST",
			ErrNotLoopback, addr, port, port, port)
	}
	return nil
}

// quiet drops what net/http would print on stderr: a client that breaks off is
// not a message for a person.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
