package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:embed static
var static embed.FS

// Asset is one file the page loads.
type Asset struct {
	Name string // path below the asset directory
	Type string // media type
	Data []byte
}

// Assets are the files of the page under one hash of all of them, so that a name
// never means two contents.
type Assets struct {
	Hash  string
	Files map[string]Asset
}

// Load reads the embedded assets.
func Load() (Assets, error) {
	a := Assets{Files: map[string]Asset{}}
	sum := sha256.New()
	root, err := fs.Sub(static, "static")
	if err != nil {
		return a, fmt.Errorf("open the page's assets: %w", err)
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n", name, len(data)))
		sum.Write(data)
		a.Files[name] = Asset{Name: name, Type: mediaType(name), Data: data}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read the page's assets: %w", err)
	}
	a.Hash = hex.EncodeToString(sum.Sum(nil))[:16]
	return a, nil
}

// mediaType is fixed here: the system's table may say anything.
func mediaType(name string) string {
	switch {
	case has(name, ".js"):
		return "text/javascript; charset=utf-8"
	case has(name, ".css"):
		return "text/css; charset=utf-8"
	case has(name, ".svg"):
		return "image/svg+xml"
	case has(name, ".woff2"):
		return "font/woff2"
	default:
		return "text/plain; charset=utf-8"
	}
}

func has(s, suffix string) bool {
	return len(s) > len(suffix) && s[len(s)-len(suffix):] == suffix
}
