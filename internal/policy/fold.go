package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a path component stands for.
type kind int

const (
	ordinary kind = iota
	vcs
	own
)

// kindOf recognises protected names in every spelling that some file system takes
// for the same name. A backslash is a separator on Windows, where the tree may be
// checked out later.
func kindOf(component string) kind {
	for part := range strings.SplitSeq(component, `\`) {
		switch fold(part) {
		case ".git", ".hg", ".svn", ".bzr", ".jj":
			return vcs
		case ".coderrr":
			return own
		}
		if k := shortName(part); k != ordinary {
			return k
		}
	}
	return ordinary
}

// shortName recognises the 8.3 names that NTFS gives to the protected ones: the
// leading dot goes, six letters stay.
func shortName(part string) kind {
	stem, number, ok := strings.Cut(fold(part), "~")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return ordinary
	}
	switch stem {
	case "git", "hg", "svn", "bzr", "jj":
		return vcs
	case "coderr":
		return own
	}
	return ordinary
}

// fold maps a file name to what case-insensitive file systems compare, the way
// git's own protections do: HFS+ ignores some code points and case, NTFS ignores
// trailing dots and spaces and takes what follows a colon as a stream's name.
func fold(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == ':' || c == '.' || c == ' ' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return lower(r)
	}, name)
	return strings.TrimRight(name, ". ")
}

// lower is the smallest lower-case letter among those that fold to the same one:
// the long s and the Kelvin sign are letters of ASCII names too.
func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < utf8.RuneSelf {
			return unicode.ToLower(f)
		}
	}
	return unicode.ToLower(r)
}

// ignoredByHFS lists the code points that HFS+ skips when it compares names
// (git: next_hfs_char in utf8.c).
func ignoredByHFS(r rune) bool {
	return r >= 0x200C && r <= 0x200F || r >= 0x202A && r <= 0x202E ||
		r >= 0x206A && r <= 0x206F || r == 0xFEFF
}
