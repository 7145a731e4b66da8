package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// headerParam is an argument that is repeated in a header Mcp-Param-NAME
// (2026-07-28, basic/transports/streamable-http.mdx, x-mcp-header).
type headerParam struct {
	name string
	path []string
}

var (
	token         = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") }) // RFC 9110, section 5.6.2
	encodedHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^=\?base64\?.*\?=$`) })
)

// maxSchemaDepth bounds the walk through a schema.
const maxSchemaDepth = 32

// headerParams finds the annotated arguments of a tool. An error means that the
// annotations break the rules and the tool must not be offered.
func headerParams(schema json.RawMessage) ([]headerParam, error) {
	if !strings.Contains(string(schema), "x-mcp-header") {
		return nil, nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, errors.New("its schema cannot be read")
	}
	w := headerWalk{taken: map[string]bool{}}
	if err := w.object(root, nil, true, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

type headerWalk struct {
	found []headerParam
	taken map[string]bool
}

// object looks at one schema. Annotations count only on properties that are
// reached through nothing but "properties"; anywhere else they are an error.
func (w *headerWalk) object(node any, path []string, plain bool, depth int) error {
	if depth > maxSchemaDepth {
		return errors.New("its schema is nested too deeply")
	}
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			if err := w.object(v, path, false, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if name, ok := node["x-mcp-header"]; ok {
			if err := w.take(node, name, path, plain); err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(node)) {
			props, isMap := node[key].(map[string]any)
			if key == "properties" && isMap {
				for _, name := range slices.Sorted(maps.Keys(props)) {
					if err := w.object(props[name], append(slices.Clone(path), name), plain, depth+1); err != nil {
						return err
					}
				}
				continue
			}
			if key == "enum" || key == "const" || key == "default" || key == "examples" {
				continue // data, not schemas
			}
			if err := w.object(node[key], path, false, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *headerWalk) take(node map[string]any, annotation any, path []string, plain bool) error {
	name, ok := annotation.(string)
	if !ok || !token().MatchString(name) {
		return fmt.Errorf("x-mcp-header of %s is not a header name", strings.Join(path, "."))
	}
	kind, _ := node["type"].(string)
	switch {
	case !plain || len(path) == 0:
		return fmt.Errorf("x-mcp-header %s stands where no argument is", name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("x-mcp-header %s is on an argument that is not a string, an integer or a boolean", name)
	case w.taken[strings.ToLower(name)]:
		return fmt.Errorf("x-mcp-header %s is there twice", name)
	}
	w.taken[strings.ToLower(name)] = true
	w.found = append(w.found, headerParam{name: name, path: path})
	return nil
}

// mirror makes the headers of one call; an argument that is missing or null has
// none.
func mirror(params []headerParam, arguments json.RawMessage) map[string]string {
	if len(params) == 0 {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(arguments)))
	dec.UseNumber()
	var root any
	if dec.Decode(&root) != nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range params {
		at := root
		for _, key := range p.path {
			m, _ := at.(map[string]any)
			at = m[key]
		}
		switch v := at.(type) {
		case string:
			out["Mcp-Param-"+p.name] = headerValue(v)
		case bool:
			out["Mcp-Param-"+p.name] = strconv.FormatBool(v)
		case json.Number:
			out["Mcp-Param-"+p.name] = v.String()
		}
	}
	return out
}

// headerValue writes a text as a header value: as it is where that is safe, else
// in base64.
func headerValue(s string) string {
	safe := s == strings.Trim(s, " \t") && !encodedHeader().MatchString(s)
	for i := range len(s) {
		safe = safe && (s[i] >= 0x20 && s[i] < 0x7F || s[i] == '\t')
	}
	if safe {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
