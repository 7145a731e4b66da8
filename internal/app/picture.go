package app

import (
	"context"

	"github.com/coderrr/coderrr/internal/session"
)

// Picture implements server.Backend.
func (b *backend) Picture(_ context.Context, data []byte) (string, error) {
	ws, err := b.app.openStore()
	if err != nil {
		return "", err
	}
	defer func() { _ = ws.Close() }()
	return session.KeepPicture(ws.root.Sessions(), data)
}
