package docker

// PlainJSON is plainJSON, for tests.
func PlainJSON(b []byte) []byte { return plainJSON(b) }
