package web

import (
	"path"
	"strings"
)

// token is a coloured part of a line, in bytes. Class is a CSS class.
type token struct {
	start, end int
	class      string
}

// language is what the lexer needs to know of one: enough to colour a line, not
// to understand it.
type language struct {
	comments []string
	quotes   string
	keywords bool
}

func languageOf(file string) language {
	name := strings.ToLower(path.Base(file))
	switch name {
	case "makefile", "dockerfile", "gemfile", ".gitignore", ".env":
		return language{comments: []string{"#"}, quotes: `"'`}
	case "go.mod", "go.sum":
		return language{comments: []string{"//"}, quotes: `"`}
	}
	switch strings.TrimPrefix(path.Ext(name), ".") {
	case "go", "js", "mjs", "ts", "tsx", "jsx", "java", "kt", "c", "h", "cc", "cpp", "hpp", "rs", "cs", "swift", "php", "scala", "dart", "zig", "templ", "proto":
		return language{comments: []string{"//", "/*"}, quotes: "\"'`", keywords: true}
	case "css", "scss":
		return language{comments: []string{"/*"}, quotes: `"'`}
	case "py", "rb", "sh", "bash", "zsh", "fish", "pl", "r", "ex", "exs", "nix", "tf":
		return language{comments: []string{"#"}, quotes: `"'`, keywords: true}
	case "yml", "yaml", "toml", "ini", "conf", "cfg":
		return language{comments: []string{"#", ";"}, quotes: `"'`}
	case "sql", "lua", "hs", "elm":
		return language{comments: []string{"--"}, quotes: `"'`, keywords: true}
	case "json", "jsonl":
		return language{quotes: `"`}
	default:
		return language{}
	}
}

// lex colours one line without knowing the ones before it.
func (g language) lex(s string) []token {
	if g.quotes == "" && len(g.comments) == 0 {
		return nil
	}
	var out []token
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case g.comment(s, i):
			return append(out, token{i, len(s), "c"})
		case strings.IndexByte(g.quotes, c) >= 0:
			end := quoted(s, i)
			out = append(out, token{i, end, "st"})
			i = end
		case c >= '0' && c <= '9':
			end := i
			for end < len(s) && (word(s[end]) || s[end] == '.') {
				end++
			}
			out = append(out, token{i, end, "n"})
			i = end
		case word(c):
			end := i
			for end < len(s) && word(s[end]) {
				end++
			}
			if class := g.name(s, i, end); class != "" {
				out = append(out, token{i, end, class})
			}
			i = end
		default:
			i++
		}
	}
	return out
}

func (g language) comment(s string, i int) bool {
	for _, mark := range g.comments {
		if strings.HasPrefix(s[i:], mark) && (mark != "#" && mark != ";" || i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return true
		}
	}
	return false
}

func (g language) name(s string, start, end int) string {
	switch {
	case g.keywords && keyword(strings.ToLower(s[start:end])):
		return "k"
	case g.keywords && end < len(s) && s[end] == '(':
		return "f"
	default:
		return ""
	}
}

// quoted is where the string that starts at i ends.
func quoted(s string, i int) int {
	q := s[i]
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			if q != '`' {
				j++
			}
		case q:
			return j + 1
		}
	}
	return len(s)
}

func word(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// keyword knows the words that most languages share.
func keyword(s string) bool {
	switch s {
	case "if", "else", "elif", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "goto", "fallthrough",
		"func", "function", "fn", "def", "class", "struct", "interface", "enum", "type", "trait", "impl", "module", "package", "import", "from", "export", "use",
		"var", "let", "const", "static", "final", "mut", "public", "private", "protected", "pub", "override", "abstract", "virtual", "extern",
		"new", "delete", "this", "self", "super", "nil", "null", "none", "true", "false", "undefined", "void", "map", "chan", "range", "defer", "go", "select",
		"try", "catch", "except", "finally", "throw", "throws", "raise", "with", "as", "in", "is", "not", "and", "or", "yield", "async", "await", "lambda",
		"then", "fi", "done", "esac", "end", "begin", "local", "where", "match", "create", "table", "insert", "update", "into", "values", "primary", "key":
		return true
	default:
		return false
	}
}
