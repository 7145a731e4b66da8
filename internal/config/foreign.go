package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// ReadForeign reads a configuration of another program, to take servers over from
// it: TOML where the name ends so, else JSON with comments. Nothing of it is
// believed or changed. A missing file is fs.ErrNotExist.
func ReadForeign(path string) (map[string]any, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %s", path, cause(err))
	case !info.Mode().IsRegular() || info.Size() > maxForeign:
		return nil, fmt.Errorf("%s is not a small regular file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", path, cause(err))
	}
	var doc map[string]any
	if strings.HasSuffix(path, ".toml") {
		err = toml.Unmarshal(data, &doc)
	} else {
		err = json.Unmarshal(plainJSON(withoutBOM(data)), &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be understood: %w", path, err)
	}
	return doc, nil
}

// maxForeign bounds such a file: some programs keep their whole history in it.
const maxForeign = 64 << 20

// plainJSON takes comments and trailing commas out, as editors allow them.
func plainJSON(data []byte) []byte {
	var out []byte
	comma := -1 // where in out a comma stands that nothing followed yet
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, data[i:min(end+1, len(data))]...)
			i, comma = end, -1
		case c == '/' && i+1 < len(data) && data[i+1] == '/':
			for i < len(data) && data[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(data) && data[i+1] == '*':
			i += 2
			for i+1 < len(data) && (data[i] != '*' || data[i+1] != '/') {
				i++
			}
			i++
		default:
			if (c == '}' || c == ']') && comma >= 0 {
				out[comma] = ' '
			}
			if c == ',' {
				comma = len(out)
			} else if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				comma = -1
			}
			out = append(out, c)
		}
	}
	return out
}
