package term

import (
	"slices"
	"strings"
)

// The bounds of a table that is laid out. What is larger is printed as it is.
const (
	maxRows   = 200
	minColumn = 5 // columns that a cell keeps, however narrow the terminal is
)

// table holds the rows of a markdown table back until it ends: only then are the
// widths of its columns known.
type table struct {
	rows []string
	row  strings.Builder
	open bool // in a row
}

// tabular takes a character that belongs to a table. A table begins with a line that
// begins with a |.
func (f *flow) tabular(r rune) bool {
	t := &f.table
	switch {
	case !f.markdown || !f.style.Wrap || f.code:
		return false
	case t.open && r == '\n':
		t.rows = append(t.rows, t.row.String())
		t.row.Reset()
		if t.open = false; len(t.rows) == maxRows {
			f.flushTable()
		}
		return true
	case t.open:
		t.row.WriteRune(r)
		return true
	case f.line != "" || f.word != "" || f.column > 0:
		return false
	case r == '|':
		t.open = true
		t.row.WriteRune(r)
		return true
	}
	f.flushTable()
	return false
}

// flushTable prints the rows that were held back.
func (f *flow) flushTable() {
	t := &f.table
	rows := t.rows
	if t.open {
		rows = append(rows, t.row.String())
	}
	f.table = table{}
	if len(rows) == 0 {
		return
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, split(r))
	}
	widths, ok := f.widths(cells)
	for i, row := range cells {
		switch {
		case !ok:
			f.put(f.indent + f.cell(rows[i]) + "\n")
		case i == 1:
			f.put(f.indent + rule(widths) + "\n")
		default:
			f.putRow(row, widths, cells[1])
		}
	}
}

// split is a row as its cells. A | after a \ is a character of its cell.
func split(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	var out []string
	start := 0
	for i := range row {
		if row[i] == '|' && (i == 0 || row[i-1] != '\\') {
			out = append(out, strings.TrimSpace(row[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(row[start:]))
}

// widths are those of the columns, made to fit. ok is false for what is no table and
// for one that cannot be made to fit.
func (f *flow) widths(cells [][]string) (widths []int, ok bool) {
	if len(cells) < 2 || slices.ContainsFunc(cells[1], func(c string) bool {
		return !strings.Contains(c, "-") || strings.Trim(c, ":-") != ""
	}) {
		return nil, false
	}
	for i, row := range cells {
		for j, c := range row {
			if j == len(widths) {
				widths = append(widths, 1)
			}
			if i != 1 {
				widths[j] = max(widths[j], columns(c))
			}
		}
	}
	room := f.room() - 3*len(widths) - 1
	for {
		over := -room
		for _, w := range widths {
			over += w
		}
		if over <= 0 {
			return widths, true
		}
		widest := 0
		for j, w := range widths {
			if w > widths[widest] {
				widest = j
			}
		}
		if widths[widest] <= minColumn {
			return nil, false
		}
		widths[widest]--
	}
}

func rule(widths []int) string {
	var b strings.Builder
	for _, w := range widths {
		b.WriteString("|" + strings.Repeat("-", w+2))
	}
	return b.String() + "|"
}

// putRow prints a row, in as many lines as its longest cell needs.
func (f *flow) putRow(row []string, widths []int, marks []string) {
	parts, height := make([][]string, len(widths)), 1
	for j, w := range widths {
		if j < len(row) {
			parts[j] = broken(row[j], w)
			height = max(height, len(parts[j]))
		}
	}
	for i := range height {
		line := f.indent
		for j, w := range widths {
			text := ""
			if i < len(parts[j]) {
				text = parts[j][i]
			}
			pad := strings.Repeat(" ", max(0, w-columns(text)))
			if text = f.cell(text); j < len(marks) && strings.HasSuffix(marks[j], ":") && !strings.HasPrefix(marks[j], ":") {
				text = pad + text
			} else {
				text += pad
			}
			line += "| " + text + " "
		}
		f.put(line + "|\n")
	}
}

// cell is the text of a cell in the colours of its markdown.
func (f *flow) cell(text string) string {
	f.md = marks{}
	words := strings.Split(text, " ")
	for i := range words {
		words[i] = f.painted(words[i])
	}
	f.md = marks{}
	return strings.Join(words, " ")
}

// broken is a text in lines of a width, broken at spaces where that can be.
func broken(text string, width int) []string {
	lines, line := []string{}, ""
	for _, word := range strings.Fields(text) {
		if line != "" && columns(line)+1+columns(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		for _, r := range word {
			if line != "" && columns(line)+columns(string(r)) > width {
				lines, line = append(lines, line), ""
			}
			line += string(r)
		}
	}
	return append(lines, line)
}
