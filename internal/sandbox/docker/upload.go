package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// upload gives the next command its copy of the workspace: a new one, or the
// last one with the files that were edited since.
func (s *Sandbox) upload(ctx context.Context, refresh bool) ([]string, error) {
	if refresh || s.volume == "" {
		if err := s.drop(ctx); err != nil {
			return nil, err
		}
		if err := s.makeVolume(ctx); err != nil {
			return nil, errors.Join(err, s.drop(context.WithoutCancel(ctx)))
		}
		s.sent = map[string]sent{}
	}
	notes, err := s.send(ctx)
	if err != nil {
		return nil, errors.Join(err, s.drop(context.WithoutCancel(ctx)))
	}
	return notes, nil
}

// makeVolume makes the copy's place, in the engine's memory so that it is
// bounded, and the container that keeps it there between commands.
func (s *Sandbox) makeVolume(ctx context.Context) error {
	uid, gid, _ := strings.Cut(s.user, ":")
	v, err := s.api.VolumeCreate(ctx, client.VolumeCreateOptions{
		Driver: "local", Labels: s.labels(), DriverOpts: map[string]string{
			"type": "tmpfs", "device": "tmpfs",
			"o": fmt.Sprintf("size=%dm,uid=%s,gid=%s,mode=755,nosuid,nodev", s.o.DiskMB, uid, gid),
		},
	})
	if err != nil {
		return fmt.Errorf("%w: making a volume for the copy: %w", sandbox.ErrUnavailable, err)
	}
	s.volume = v.Volume.Name
	s.keeper, err = s.create(ctx, &container.Config{
		Entrypoint: []string{"/bin/sh", "-c", "while :; do sleep 3600; done"}, StopSignal: "SIGKILL",
	}, s.hostConfig(false))
	if err != nil {
		return err
	}
	if _, err := s.api.ContainerStart(ctx, s.keeper, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("%w: starting a container of %s (it needs /bin/sh): %w", sandbox.ErrUnavailable, s.image.Image, err)
	}
	return nil
}

// drop removes the copy.
func (s *Sandbox) drop(ctx context.Context) error {
	if s.keeper != "" {
		s.remove(s.keeper)
		s.keeper = ""
	}
	if s.volume == "" {
		return nil
	}
	_, err := s.api.VolumeRemove(ctx, s.volume, client.VolumeRemoveOptions{Force: true})
	s.volume = ""
	if err != nil && !isRefused(err) {
		return fmt.Errorf("removing the workspace's copy: %w", err)
	}
	return nil
}

// sent is a file of the workspace as it was uploaded.
type sent struct {
	size    int64
	changed int64 // time of modification, in ns
	mode    fs.FileMode
}

// send uploads what is not there yet as it is now.
func (s *Sandbox) send(ctx context.Context) ([]string, error) {
	r, w := io.Pipe()
	p := &packer{s: s, ctx: ctx, tar: tar.NewWriter(w), now: map[string]sent{}}
	go func() { w.CloseWithError(errors.Join(p.all(), p.tar.Close())) }()
	_, err := s.api.CopyToContainer(ctx, s.keeper, client.CopyToContainerOptions{DestinationPath: s.o.Workspace, Content: r})
	_ = r.CloseWithError(errors.New("the engine took no more"))
	if err != nil {
		return nil, fmt.Errorf("uploading the workspace: %w", err)
	}
	gone := 0
	for name := range s.sent {
		if _, ok := p.now[name]; !ok {
			gone++
		}
	}
	if gone > 0 {
		if err := s.removeGone(ctx, p.now); err != nil {
			return nil, err
		}
	}
	s.sent = p.now
	return p.notes, nil
}

// removeGone takes out of a kept copy what was removed from the workspace.
func (s *Sandbox) removeGone(ctx context.Context, now map[string]sent) error {
	var names []string
	for name := range s.sent {
		if _, ok := now[name]; !ok {
			names = append(names, "./"+name)
		}
	}
	for len(names) > 0 {
		some := names[:min(len(names), 500)]
		names = names[len(some):]
		res, err := s.api.ExecCreate(ctx, s.keeper, client.ExecCreateOptions{
			Cmd: append([]string{"/bin/sh", "-c", `rm -rf -- "$@"`, "rm"}, some...), User: s.user, WorkingDir: s.o.Workspace,
			AttachStdout: true, AttachStderr: true,
		})
		if err != nil {
			return fmt.Errorf("updating the workspace's copy: %w", err)
		}
		att, err := s.api.ExecAttach(ctx, res.ID, client.ExecAttachOptions{})
		if err != nil {
			return fmt.Errorf("updating the workspace's copy: %w", err)
		}
		_, _ = io.Copy(io.Discard, att.Reader) // ends when rm has
		att.Close()
	}
	return nil
}

// packer writes the workspace into a tar archive.
type packer struct {
	s     *Sandbox
	ctx   context.Context // one archive lives for one call
	tar   *tar.Writer
	now   map[string]sent
	notes []string
}

func (p *packer) note(rel, why string) {
	if len(p.notes) < 50 {
		p.notes = append(p.notes, rel+" is not in the sandbox's copy: "+why)
	}
}

func (p *packer) all() error {
	root, err := os.OpenRoot(p.s.o.Workspace)
	if err != nil {
		return fmt.Errorf("reading the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case p.ctx.Err() != nil:
			return p.ctx.Err()
		case err != nil:
			p.note(rel, "it cannot be read")
			return nil
		case rel == ".coderrr":
			return fs.SkipDir
		case rel == ".":
			return nil
		}
		return p.entry(root, rel, d)
	})
}

func (p *packer) entry(root *os.Root, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return nil // gone meanwhile
	}
	link := ""
	switch {
	case info.Mode().IsRegular() || info.IsDir():
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = root.Readlink(rel); err != nil {
			return nil
		}
	default:
		p.note(rel, "it is not a file, a directory or a link")
		return nil
	}
	is := sent{info.Size(), info.ModTime().UnixNano(), info.Mode()}
	if info.IsDir() {
		is.size, is.changed = 0, 0
	}
	if was, ok := p.s.sent[rel]; ok && was == is {
		p.now[rel] = is
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return fmt.Errorf("packing %s: %w", rel, err)
	}
	uid, gid, _ := strings.Cut(p.s.user, ":")
	h.Uid, _ = strconv.Atoi(uid)
	h.Gid, _ = strconv.Atoi(gid)
	h.Name, h.Uname, h.Gname, h.Mode = filepath.ToSlash(rel), "", "", int64(info.Mode().Perm())
	if !info.Mode().IsRegular() {
		p.now[rel] = is
		return p.write(h, nil)
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		p.note(rel, "it cannot be read")
		return nil
	}
	defer func() { _ = f.Close() }()
	p.now[rel] = is
	return p.write(h, f)
}

// write adds one entry. A file that became shorter meanwhile is filled up, and
// one that became longer is cut: the next upload sends it again.
func (p *packer) write(h *tar.Header, f io.Reader) error {
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("packing %s: %w", h.Name, err)
	}
	if f == nil {
		return nil
	}
	n, err := io.Copy(p.tar, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		_, err = io.Copy(p.tar, io.LimitReader(zeros{}, h.Size-n))
	}
	if err != nil {
		return fmt.Errorf("packing %s: %w", h.Name, err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
