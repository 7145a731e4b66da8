package config

import (
	"encoding/json"
	"fmt"
)

// Secret is a value that is never printed: every way of formatting it shows
// stars. Reveal is the only way to the text.
type Secret string

// Mask is what is shown in place of a secret.
const Mask = "********"

// Reveal returns the text; hand it only to what sends or stores it.
func (s Secret) Reveal() string { return string(s) }

// String is the mask, or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format prints the mask for every verb, %#v too.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprint(f, s.String()) // a failing writer is its owner's to report
}

// MarshalJSON writes the mask.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
