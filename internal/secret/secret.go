// Package secret keeps keys and tokens: in the system's keyring where there is
// one, else in a file that only its owner can read. It never puts a secret into
// an error, a log or an argument list.
package secret

import (
	"errors"
	"fmt"
	"time"
)

// Service is the name that entries carry in a keyring.
const Service = "coderrr"

// wait bounds one call of the keyring: a locked one can wait for a person who is
// not there.
const wait = 5 * time.Second

var (
	// ErrUnavailable: there is no keyring, or it does not answer.
	ErrUnavailable = errors.New("the system's keyring is not available")
	// ErrNotFound: a keyring holds nothing under this name.
	ErrNotFound = errors.New("no such entry in the keyring")
)

// Keyring is the part of a system keyring that is used. Get and Delete return
// ErrNotFound for an unknown account.
type Keyring interface {
	Get(service, account string) (string, error)
	Set(service, account, value string) error
	Delete(service, account string) error
}

// Vault stores secrets by account name. A nil Keyring means that only the file
// is used. Safe for concurrent use, by several processes too.
type Vault struct {
	Keyring Keyring
	// File is the fallback, made with mode 0600 in a directory of mode 0700.
	File string
}

// Get returns a secret; ok is false when none is stored. A keyring that does not
// answer is an error only when the file does not have the account either.
func (v Vault) Get(account string) (value string, ok bool, err error) {
	value, keyErr := v.ask(account)
	if keyErr == nil {
		return value, true, nil
	}
	all, err := load(v.File)
	if err != nil {
		return "", false, err
	}
	if value, ok = all[account]; ok {
		return value, true, nil
	}
	if errors.Is(keyErr, ErrNotFound) || errors.Is(keyErr, ErrUnavailable) {
		return "", false, nil
	}
	return "", false, fmt.Errorf("read %q from the keyring: %w", account, keyErr)
}

// Set stores a secret and says where: "keyring" or the file's path. What another
// place held under the same name is removed, so that no old key comes back.
func (v Vault) Set(account, value string) (where string, err error) {
	if v.Keyring != nil {
		_, err := within(func() (struct{}, error) { return struct{}{}, v.Keyring.Set(Service, account, value) })
		if err == nil {
			return "keyring", update(v.File, account, nil)
		}
	}
	if err := update(v.File, account, &value); err != nil {
		return "", err
	}
	if v.Keyring != nil {
		// It could not be written a moment ago, so an old entry in it may stay;
		// Get would prefer that one.
		if old, err := v.ask(account); err == nil && old != value {
			return "", fmt.Errorf("the keyring holds another value of %q and cannot be changed: unlock it, or remove the entry by hand", account)
		}
	}
	return v.File, nil
}

// Delete removes a secret from both places; found is false when there was none.
func (v Vault) Delete(account string) (found bool, err error) {
	all, err := load(v.File)
	if err != nil {
		return false, err
	}
	if _, found = all[account]; found {
		if err := update(v.File, account, nil); err != nil {
			return false, err
		}
	}
	if v.Keyring == nil {
		return found, nil
	}
	_, err = within(func() (struct{}, error) { return struct{}{}, v.Keyring.Delete(Service, account) })
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrUnavailable):
		return found, nil
	default:
		return found, fmt.Errorf("remove %q from the keyring: %w", account, err)
	}
}

// Available says whether a keyring answers, for people who ask why the file is
// used.
func (v Vault) Available() error {
	_, err := v.ask("coderrr-check")
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (v Vault) ask(account string) (string, error) {
	if v.Keyring == nil {
		return "", ErrUnavailable
	}
	return within(func() (string, error) { return v.Keyring.Get(Service, account) })
}

// within calls the keyring and gives up after a while; the call itself cannot be
// cancelled and ends by itself.
func within[T any](call func() (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	done := make(chan reply, 1)
	go func() {
		v, err := call()
		done <- reply{v, err}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var zero T
		return zero, fmt.Errorf("%w: no answer within %s (is it locked?)", ErrUnavailable, wait)
	}
}
