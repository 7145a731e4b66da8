package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// Choice is an image and why it is that one.
type Choice struct {
	Image string
	Why   string
}

// Choose picks the image for a workspace: the configured one, the one of its
// development container, or one by language.
func Choose(workspace, configured string) Choice {
	if configured != "" {
		return Choice{configured, "sandbox.image names it"}
	}
	if image := devcontainer(workspace); image != "" {
		return Choice{image, ".devcontainer/devcontainer.json names it"}
	}
	for _, row := range []struct{ file, image, language string }{
		{"go.mod", "golang:1", "Go"},
		{"Cargo.toml", "rust:1", "Rust"},
		{"package.json", "node:lts", "JavaScript"},
		{"pyproject.toml", "python:3", "Python"},
		{"requirements.txt", "python:3", "Python"},
		{"setup.py", "python:3", "Python"},
		{"Gemfile", "ruby:3", "Ruby"},
		{"pom.xml", "maven:3", "Java"},
		{"build.gradle", "gradle:jdk21", "Java"},
		{"build.gradle.kts", "gradle:jdk21", "Java"},
		{"composer.json", "composer:2", "PHP"},
		{"mix.exs", "elixir:1", "Elixir"},
		{"CMakeLists.txt", "gcc:14", "C or C++"},
		{"Makefile", "gcc:14", "make"},
	} {
		if info, err := os.Lstat(filepath.Join(workspace, row.file)); err == nil && info.Mode().IsRegular() {
			return Choice{row.image, "the workspace has " + row.file + ", so it looks like " + row.language}
		}
	}
	return Choice{"debian:stable-slim", "nothing in the workspace says which language it is"}
}

// maxDevcontainer bounds how much of the file is read.
const maxDevcontainer = 1 << 20

// devcontainer returns the image that the workspace's own file asks for. It is
// the repository's word, so it counts only for an image that is there already
// or that a person agrees to pull.
func devcontainer(workspace string) string {
	for _, name := range []string{".devcontainer/devcontainer.json", ".devcontainer.json"} {
		path := filepath.Join(workspace, name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxDevcontainer {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var v struct {
			Image string `json:"image"`
		}
		if json.Unmarshal(plainJSON(b), &v) == nil && validImage(v.Image) {
			return v.Image
		}
	}
	return ""
}

// validImage keeps options and control characters out of what is shown and sent.
func validImage(s string) bool {
	return s != "" && len(s) < 256 && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./-_:@", r)
	}) < 0
}

// plainJSON takes comments and trailing commas out of JSON, keeping strings.
func plainJSON(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			end := i + 1
			for end < len(b) && b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(b))
			out = append(out, b[i:end]...)
			i = end - 1
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '/':
			for i < len(b) && b[i] != '\n' {
				i++
			}
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '*':
			i += 2
			for i+1 < len(b) && (b[i] != '*' || b[i+1] != '/') {
				i++
			}
			i++
		case b[i] == '}' || b[i] == ']':
			j := len(out)
			for j > 0 && strings.IndexByte(" \t\r\n", out[j-1]) >= 0 {
				j--
			}
			if j > 0 && out[j-1] == ',' {
				out = append(out[:j-1], out[j:]...)
			}
			out = append(out, b[i])
		default:
			out = append(out, b[i])
		}
	}
	return out
}

// findImage makes sure that the image is with the engine.
func (s *Sandbox) findImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err := s.api.ImageInspect(ctx, s.image.Image)
	switch {
	case err == nil:
		return nil
	case cerrdefs.IsNotFound(err):
		return &sandbox.MissingImage{Image: s.image.Image, Why: s.image.Why}
	}
	return fmt.Errorf("%w: looking for the image %s: %w", sandbox.ErrUnavailable, s.image.Image, err)
}

// Pull brings an image to the engine, after a person agreed. progress gets the
// bytes that are there and that are known of so far; it may be nil.
func Pull(ctx context.Context, image string, progress func(done, total int64)) error {
	if !validImage(image) {
		return fmt.Errorf("%q is not the name of an image", image)
	}
	api, _, err := connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	res, err := api.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return fmt.Errorf("pulling the image %s: %w", image, err)
	}
	defer func() { _ = res.Close() }()
	type layer struct{ done, total int64 }
	layers := map[string]layer{}
	for m, err := range res.JSONMessages(ctx) {
		if err == nil && m.Error != nil {
			err = errors.New(m.Error.Message)
		}
		if err != nil {
			return fmt.Errorf("pulling the image %s: %w", image, err)
		}
		if m.Progress == nil || m.ID == "" || progress == nil {
			continue
		}
		if m.Status == "Downloading" {
			layers[m.ID] = layer{m.Progress.Current, m.Progress.Total}
		}
		var sum layer
		for _, l := range layers {
			sum.done, sum.total = sum.done+l.done, sum.total+l.total
		}
		progress(sum.done, sum.total)
	}
	return nil
}
