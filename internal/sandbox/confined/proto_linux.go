package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// maxMessage bounds one message; a sequenced packet must fit the socket's
// buffer, which is about 200 kB by default.
const maxMessage = 160 << 10

// errTooLong says that a command line and its environment do not fit.
var errTooLong = errors.New("the command is longer than 150 kB: put it into a file and run that")

// config is the first message to the broker.
type config struct {
	Stage     string // an empty directory of the host, for the broker's mounts
	Workspace string
	Copy      string // a copy of it to use in its place, "" for an overlay
	Home      string // the path of HOME inside
	HomeCache string // the directory of the host that is mounted there
	User      string
	Binds     []bind
	DiskMB    int
	MemoryMB  int
	Processes int
	Hide      []string // paths relative to the workspace that are covered
}

// bind is one path of the host that commands see.
type bind struct {
	Path   string // as commands see it
	Source string // on the host
	Kind   bindKind
	Why    string
}

type bindKind string

const (
	bindRead  bindKind = "read"  // as it is, read-only
	bindCache bindKind = "cache" // below an overlay: commands may add to it, the host's stays as it is
)

// request is a later message to the broker.
type request struct {
	Kind    string // "run" or "kill"
	ID      int
	Line    string
	Env     []string
	Network bool
	Refresh bool
}

// reply is a message from the broker.
type reply struct {
	Kind    string // "ready", "exit" or "failed"
	ID      int
	Code    int
	Killed  bool
	Reason  string
	Error   string // of a set-up that failed
	Changed []string
}

func send(fd int, v any, fds ...int) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("talking to the sandbox's helper: %w", err)
	}
	if len(b) > maxMessage {
		return errTooLong
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		err = unix.Sendmsg(fd, b, oob, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("talking to the sandbox's helper: %w", err)
	}
	return nil
}

// receive waits for a message into v and returns the descriptors that came
// with it. Its error is io.EOF when the other side is gone.
func receive(fd int, v any) ([]int, error) {
	buf := make([]byte, maxMessage+1)
	oob := make([]byte, 256)
	var n, oobn int
	var err error
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil || n == 0 {
		return nil, io.EOF
	}
	var fds []int
	if msgs, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
		for i := range msgs {
			if got, err := unix.ParseUnixRights(&msgs[i]); err == nil {
				fds = append(fds, got...)
			}
		}
	}
	if err := json.Unmarshal(buf[:n], v); err != nil {
		closeAll(fds)
		return nil, fmt.Errorf("talking to the sandbox's helper: %w", err)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
