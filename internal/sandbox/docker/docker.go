// Package docker runs commands in containers of a Docker-compatible engine,
// which may be on another machine. Its one rule: the engine gets a copy of the
// workspace and nothing else of the user, so nothing of the user is mounted,
// and no container gets the engine's socket.
package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

// Options configure Open. Workspace and Dir are required.
type Options struct {
	Workspace string // absolute, with links resolved
	Dir       string // where sandboxes of this user mark that they live
	Image     string // empty means chosen by the workspace, see Choose
	Network   bool
	Timeout   time.Duration // zero means 300 s
	MemoryMB  int           // zero means 2048
	DiskMB    int           // of the workspace's copy, HOME and /tmp each; zero means 2048
	Env       []string      // names to pass on besides the allow-list
	Host      []string      // the environment to take from; nil means os.Environ
}

// Sandbox is the docker tier.
type Sandbox struct {
	o       Options
	image   Choice
	runtime string // the engine's name and version, for people
	api     *client.Client
	place   *tree.Place
	gate    *sandbox.Gate
	volume  string          // holds the workspace's copy, "" before the first command
	keeper  string          // the container that keeps the volume's memory
	user    string          // uid:gid
	sent    map[string]sent // what is in the volume
}

var (
	_ sandbox.Sandbox   = (*Sandbox)(nil)
	_ sandbox.Explainer = (*Sandbox)(nil)
)

// connectTimeout bounds how long an engine that is not there delays a start.
const connectTimeout = 3 * time.Second

// Open connects to the engine that DOCKER_HOST names, or to the local one, and
// sweeps what sandboxes that are gone left there. The image must be there:
// otherwise the error is a *sandbox.MissingImage.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	api, version, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{o: o, api: api, runtime: version, gate: sandbox.NewGate(), user: userAndGroup(), image: Choose(o.Workspace, o.Image)}
	if err := s.findImage(ctx); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	if s.place, err = tree.NewPlace(o.Dir); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	s.sweep(ctx)
	return s, nil
}

func (o *Options) fill() error {
	if !filepath.IsAbs(o.Workspace) || !filepath.IsAbs(o.Dir) {
		return errors.New("docker sandbox: Workspace and Dir must be absolute paths")
	}
	if o.Timeout <= 0 {
		o.Timeout = 300 * time.Second
	}
	if o.MemoryMB <= 0 {
		o.MemoryMB = 2048
	}
	if o.DiskMB <= 0 {
		o.DiskMB = 2048
	}
	if o.Host == nil {
		o.Host = os.Environ()
	}
	return nil
}

// connect returns a client and what it talks to.
func connect(ctx context.Context) (*client.Client, string, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, "", fmt.Errorf("%w: the Docker settings (DOCKER_HOST and such) are wrong: %w", sandbox.ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	v, err := api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%w: no Docker engine answers at %s (is it running, and may you use it?): %w",
			sandbox.ErrUnavailable, api.DaemonHost(), err), api.Close())
	}
	return api, fmt.Sprintf("%s %s at %s", engineName(v), v.Version, api.DaemonHost()), nil
}

func engineName(v client.ServerVersionResult) string {
	if v.Platform.Name != "" {
		return v.Platform.Name
	}
	return "Docker"
}

// userAndGroup is who commands are in a container: the user, never root.
func userAndGroup() string {
	uid, gid := os.Getuid(), os.Getgid()
	if uid <= 0 {
		return "65532:65532"
	}
	return fmt.Sprintf("%d:%d", uid, gid)
}

// homeInside is HOME for commands, a private directory in memory.
const homeInside = "/home/sandbox"

func (s *Sandbox) env() []string {
	env := sandbox.Env(sandbox.EnvOptions{
		Host: s.o.Host, Tier: sandbox.Docker, Home: homeInside, Temp: "/tmp", Extra: s.o.Env,
	})
	out := env[:0]
	for _, e := range env {
		if !strings.HasPrefix(e, "PATH=") { // the image knows where its programs are
			out = append(out, e)
		}
	}
	return out
}

// Info implements sandbox.Sandbox.
func (s *Sandbox) Info() sandbox.Info {
	i := sandbox.Info{
		Tier: sandbox.Docker, Network: s.o.Network,
		Isolation: sandbox.Isolation{WorkingTree: true, Files: true, Network: !s.o.Network, Processes: true, Secrets: true},
		Summary:   "docker: a container of " + s.image.Image + " on a copy of the workspace, no network",
		Limits: "Commands see what is in the image and in the workspace's copy; toolchains of this machine are not there. " +
			"Dependencies below the workspace are copied with it. A container shares the kernel of the machine that runs it.",
	}
	if s.o.Network {
		i.Summary = strings.Replace(i.Summary, "no network", "with network", 1)
	}
	return i
}

// Explain implements sandbox.Explainer.
func (s *Sandbox) Explain() sandbox.Explanation {
	return sandbox.Explanation{
		Info: s.Info(), Env: s.env(),
		Entries: []sandbox.Entry{
			{Path: s.o.Workspace, Access: sandbox.Private, Why: "a copy is uploaded; commands never see your files"},
			{Path: filepath.Join(s.o.Workspace, ".coderrr"), Access: sandbox.Hidden, Why: "Coderrr's own files are not uploaded"},
			{Path: "/", Access: sandbox.Read, Why: "the image " + s.image.Image + ": " + s.image.Why},
			{Path: homeInside, Access: sandbox.Private, Why: "HOME, in memory, for one command"},
			{Path: "/tmp", Access: sandbox.Private, Why: "in memory, for one command"},
			{Path: "everything else", Access: sandbox.Hidden, Why: "it is not in the container"},
		},
		Limits: []string{
			"engine: " + s.runtime,
			fmt.Sprintf("time: %s unless the command says otherwise", s.o.Timeout),
			fmt.Sprintf("memory: %d MB", s.o.MemoryMB),
			fmt.Sprintf("disk: %d MB for the copy, HOME and /tmp each, all in memory", s.o.DiskMB),
			fmt.Sprintf("processes and threads: %d; user %s, no capabilities, no new privileges, read-only root", maxProcesses, s.user),
		},
	}
}

// Close implements sandbox.Sandbox.
func (s *Sandbox) Close() error {
	return s.gate.Close(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return errors.Join(s.drop(ctx), s.place.Remove(), s.api.Close())
	})
}

// isRefused reports whether err says that nobody listens.
func isRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}
