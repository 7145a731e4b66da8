package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/workspace"
)

// Limits of the pictures in one message: providers refuse larger ones.
const (
	maxImage  = 5 << 20 // bytes
	maxImages = 8
)

// pictures is the folder beside the logs for those that a person pasted.
const pictures = "pictures"

// imageRef is a picture that a message names: @shot.png, or @"my shot.png".
var imageRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[\s(])@(?:"([^"\n]+\.(?:png|jpe?g|gif|webp))"|([^\s"'<>|]+\.(?:png|jpe?g|gif|webp)))`)
})

// attach lets a person's message bring what it names: pictures of the workspace, and
// what is found outside of it.
func (s *Session) attach(ctx context.Context) {
	s.talk.Attach(func(text string) llm.Blocks {
		var out llm.Blocks
		if s.o.Bring != nil {
			var added string
			if added, text = s.o.Bring(ctx, text); added != "" {
				out = append(out, llm.Text{Text: added})
			}
		}
		return append(out, s.images(ctx, text)...)
	})
}

// images reads the pictures that a text names, inside the workspace only. One that
// cannot be used is told and left out.
func (s *Session) images(ctx context.Context, text string) llm.Blocks {
	var out llm.Blocks
	for _, m := range imageRef().FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2]
		img, err := s.image(ctx, name)
		switch {
		case err != nil:
			s.warn("The picture @" + name + " is left out: " + err.Error())
		case len(out) == maxImages:
			s.warn(fmt.Sprintf("The picture @%s is left out: a message holds at most %d.", name, maxImages))
		default:
			out = append(out, img)
		}
	}
	return out
}

func (s *Session) image(ctx context.Context, name string) (llm.Image, error) {
	own := s.o.Root.Sessions()
	if kept, ok := strings.CutPrefix(name, own.Path(pictures)+"/"); ok {
		data, err := own.Read(pictures + "/" + kept)
		if err != nil {
			return llm.Image{}, err
		}
		return picture(name, data)
	}
	f, err := s.o.Root.Read(ctx, name, maxImage)
	if err != nil {
		return llm.Image{}, err
	}
	return picture(name, f.Data)
}

func picture(name string, data []byte) (llm.Image, error) {
	kind := llm.ImageType(data)
	switch {
	case kind == "":
		return llm.Image{}, fmt.Errorf("%s is not a PNG, JPEG, GIF or WebP picture", name)
	case len(data) > maxImage:
		return llm.Image{}, fmt.Errorf("%s is too large: %d bytes, at most %d", name, len(data), maxImage)
	}
	return llm.Image{MediaType: kind, Data: data}, nil
}

// KeepPicture keeps a picture that has no file, beside the logs in dir, and returns
// the path by which a message names it. The same picture is kept once.
func KeepPicture(dir *workspace.Dir, data []byte) (string, error) {
	if _, err := picture("it", data); err != nil {
		return "", err
	}
	name := pictureName(data)
	if err := dir.Write(name, data); err != nil {
		return "", fmt.Errorf("keep the picture: %w", err)
	}
	return dir.Path(name), nil
}

func pictureName(data []byte) string {
	return pictures + "/" + workspace.HashOf(data)[:16] + "." + strings.TrimPrefix(llm.ImageType(data), "image/")
}

// ExpirePictures removes what KeepPicture kept in dir before a time. A file with a
// name that KeepPicture would not give it came with the folder, and stays.
func ExpirePictures(dir *workspace.Dir, before time.Time) error {
	files, err := dir.List(pictures)
	if err != nil {
		return fmt.Errorf("list the kept pictures: %w", err)
	}
	var errs []error
	for _, f := range files {
		if f.Kind != workspace.KindFile || f.Size > maxImage {
			continue
		}
		name := pictures + "/" + f.Name
		written, err := dir.Modified(name)
		if err == nil && written.Before(before) {
			var data []byte
			if data, err = dir.Read(name); err == nil && pictureName(data) == name {
				err = dir.Remove(name)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
