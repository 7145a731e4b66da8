package secret

import (
	"errors"
	"os"
	"runtime"

	"github.com/zalando/go-keyring"
)

// System is the keyring of this machine, nil where there is none. On Linux it
// needs a session bus: without one the library would try to start a program.
func System(getenv func(string) string) Keyring {
	if runtime.GOOS == "linux" && !hasBus(getenv) {
		return nil
	}
	return system{}
}

func hasBus(getenv func(string) string) bool {
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	info, err := os.Stat(dir + "/bus")
	return err == nil && info.Mode().Type() == os.ModeSocket
}

type system struct{}

func (system) Get(service, account string) (string, error) {
	v, err := keyring.Get(service, account)
	return v, known(err)
}

func (system) Set(service, account, value string) error {
	return known(keyring.Set(service, account, value))
}

func (system) Delete(service, account string) error {
	return known(keyring.Delete(service, account))
}

// known maps the library's errors on ours. Any other failure means that no
// keyring answers: on a server there often is a bus and no keyring behind it.
func known(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNotFound
	default:
		return errors.Join(ErrUnavailable, err)
	}
}
