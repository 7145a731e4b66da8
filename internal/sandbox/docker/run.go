package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// maxProcesses bounds a fork bomb.
const maxProcesses = 1024

// guardScript is process 1 of a container. Its standard input stays open as
// long as Coderrr lives; when that ends, so does all that runs here.
const guardScript = `exec 3<&0 </dev/null
{ read x <&3; kill -9 -1; } >/dev/null 2>&1 &
exec 3<&-
/bin/sh -c "$0"
exit $?`

// Run implements sandbox.Sandbox.
func (s *Sandbox) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	ctx, done, err := s.gate.Enter(ctx, cmd)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer done()
	if cmd.Timeout <= 0 {
		cmd.Timeout = s.o.Timeout
	}
	notes, err := s.upload(ctx, cmd.Refresh)
	if err != nil {
		return sandbox.Result{}, err
	}
	network := s.o.Network || cmd.Network
	res, err := sandbox.Execute(ctx, cmd, network, func(ctx context.Context, stdout, stderr *os.File) (sandbox.Exit, error) {
		return s.runContainer(ctx, cmd.Line, network, stdout, stderr)
	})
	res.Notes = notes
	return res, err
}

// hostConfig is what every container of ours is held to.
func (s *Sandbox) hostConfig(network bool) *container.HostConfig {
	pids := int64(maxProcesses)
	memory := int64(s.o.MemoryMB) << 20
	uid, gid, _ := strings.Cut(s.user, ":")
	tmpfs := "rw,exec,nosuid,nodev,size=" + strconv.Itoa(s.o.DiskMB) + "m"
	mode := container.NetworkMode("none")
	if network {
		mode = "default"
	}
	return &container.HostConfig{
		NetworkMode: mode, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		LogConfig: container.LogConfig{Type: "none"}, // output must not fill the engine's disk
		IpcMode:   "private",
		Tmpfs: map[string]string{
			"/tmp": tmpfs + ",mode=1777", "/var/tmp": tmpfs + ",mode=1777",
			homeInside: tmpfs + ",mode=700,uid=" + uid + ",gid=" + gid,
		},
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: s.volume, Target: s.o.Workspace}},
		Resources: container.Resources{
			Memory: memory, MemorySwap: memory, PidsLimit: &pids, NanoCPUs: int64(max(1, runtime.NumCPU())) * 1e9,
			Ulimits: []*container.Ulimit{{Name: "core"}, {Name: "fsize", Soft: int64(s.o.DiskMB) << 20, Hard: int64(s.o.DiskMB) << 20}},
		},
	}
}

func (s *Sandbox) create(ctx context.Context, c *container.Config, h *container.HostConfig) (string, error) {
	c.Image, c.User, c.WorkingDir, c.Labels = s.image.Image, s.user, s.o.Workspace, s.labels()
	c.Env = append(s.env(), c.Env...)
	res, err := s.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: c, HostConfig: h})
	if err != nil && h.NanoCPUs > 0 && strings.Contains(err.Error(), "CPU") {
		h.NanoCPUs = 0 // the engine's machine has fewer processors, or no way to limit them
		res, err = s.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: c, HostConfig: h})
	}
	if err != nil {
		return "", fmt.Errorf("%w: making a container: %w", sandbox.ErrUnavailable, err)
	}
	return res.ID, nil
}

// runContainer runs one command in a container of its own, which is gone when
// it returns.
func (s *Sandbox) runContainer(ctx context.Context, line string, network bool, stdout, stderr *os.File) (sandbox.Exit, error) {
	killed := sandbox.Exit{Code: -1}
	id, err := s.create(ctx, &container.Config{
		Entrypoint: []string{"/bin/sh", "-c", guardScript}, Cmd: []string{line},
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}, s.hostConfig(network))
	if err != nil {
		return killed, err
	}
	defer s.remove(id)
	att, err := s.api.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return killed, fmt.Errorf("attaching to the container: %w", err)
	}
	defer att.Close()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = stdcopy.StdCopy(stdout, stderr, att.Reader) // ends with the container
	}()
	wait := s.api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := s.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return killed, fmt.Errorf("%w: starting a container of %s: %w", sandbox.ErrUnavailable, s.image.Image, err)
	}
	select {
	case w := <-wait.Result:
		<-copied
		return s.ended(ctx, id, int(w.StatusCode))
	case err = <-wait.Error:
	case <-ctx.Done():
	}
	s.remove(id)
	<-copied
	if ctx.Err() != nil {
		return killed, nil
	}
	return killed, fmt.Errorf("waiting for the container: %w", err)
}

func (s *Sandbox) ended(ctx context.Context, id string, code int) (sandbox.Exit, error) {
	i, err := s.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err == nil && i.Container.State != nil && i.Container.State.OOMKilled && code != 0 {
		return sandbox.Exit{Code: -1, Reason: sandbox.MemoryReason(strconv.Itoa(s.o.MemoryMB))}, nil
	}
	return sandbox.Exit{Code: code}, nil
}

// remove kills a container and takes it away, also when the command's context
// has ended.
func (s *Sandbox) remove(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = s.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true}) // what is left is swept
}

// label marks what is ours; its value is the directory whose lock its owner
// holds.
const label = "dev.coderrr.sandbox"

// labelHost tells machines apart that share an engine.
const labelHost = "dev.coderrr.host"

func (s *Sandbox) labels() map[string]string {
	host, _ := os.Hostname()
	return map[string]string{label: s.place.Dir(), labelHost: host}
}

// sweep removes containers and volumes of sandboxes on this machine that are
// gone: their directories were removed, by them or by the sweep before.
func (s *Sandbox) sweep(ctx context.Context) {
	host, _ := os.Hostname()
	ours := make(client.Filters).Add("label", label).Add("label", labelHost+"="+host)
	gone := func(labels map[string]string) bool {
		dir := labels[label]
		_, err := os.Stat(dir)
		return strings.HasPrefix(dir, s.o.Dir+string(os.PathSeparator)) && errors.Is(err, os.ErrNotExist)
	}
	if list, err := s.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours}); err == nil {
		for _, c := range list.Items {
			if gone(c.Labels) {
				s.remove(c.ID)
			}
		}
	}
	if list, err := s.api.VolumeList(ctx, client.VolumeListOptions{Filters: ours}); err == nil {
		for _, v := range list.Items {
			if gone(v.Labels) {
				_, _ = s.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true})
			}
		}
	}
}
