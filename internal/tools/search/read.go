package search

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const (
	defaultLimit = 600
	maxLimit     = 5000
	maxLine      = 2000      // bytes of one line that are shown
	maxWhole     = 32 << 20  // up to this size a file is read to its end, counted and hashed
	maxScan      = 256 << 20 // how far into a larger file an offset may reach
	sniff        = 8 << 10   // bytes looked at to tell binary from text
)

type readArgs struct {
	Path   string `json:"path" jsonschema_description:"File to read, relative to the workspace."`
	Offset int    `json:"offset,omitempty" jsonschema_description:"First line to show, from 1 (default 1)."`
	Limit  int    `json:"limit,omitempty" jsonschema_description:"How many lines to show (default 600, at most 5000)."`
}

// page is what a read collects.
type page struct {
	out         strings.Builder
	first, last int  // line numbers shown; last 0 = none
	lines       int  // lines seen
	whole       bool // the end was reached
	full        bool // maxOutput was reached
	crlf, lf    int  // line ends seen
	noNewline   bool // the last line has none
	endless     bool // the last line is too long to find its end
	hidden      int
	bom         bool
}

func (t *toolbox) read(ctx context.Context, in readArgs) (tools.Result, error) {
	in.Offset = max(in.Offset, 1)
	asked := in.Limit
	if in.Limit <= 0 {
		in.Limit = defaultLimit
	}
	in.Limit = min(in.Limit, maxLimit)
	f, info, err := t.root.Open(ctx, in.Path)
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, err)
	}
	defer func() { _ = f.Close() }()
	name := workspace.Quote(info.Path)
	br := bufio.NewReaderSize(io.LimitReader(f, info.Size), 256<<10)
	head, err := br.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		return tools.Result{}, t.explain(ctx, in.Path, fmt.Errorf("read %s: %w", name, err))
	}
	if why := binary(head); why != "" {
		return tools.Result{}, tools.Explain(fmt.Sprintf("%s is not text (%s, %d bytes); it is not shown.", name, why, info.Size))
	}
	var sum hash.Hash
	if info.Size <= maxWhole {
		sum = sha256.New()
	}
	p, err := readPage(ctx, br, sum, in)
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, fmt.Errorf("%s: %w", name, err))
	}
	if p.last == 0 && p.lines > 0 {
		return tools.Result{}, tools.Explain(fmt.Sprintf("%s has %d lines; offset %d is beyond its end.", name, p.lines, in.Offset))
	}
	if sum != nil {
		t.seen.Note(info.Path, hex.EncodeToString(sum.Sum(nil)))
	}
	res := tools.Result{Content: p.text(info, asked), Display: p.display(name)}
	return res, nil
}

// readPage goes through the file line by line; only the lines shown are kept.
func readPage(ctx context.Context, br *bufio.Reader, sum hash.Hash, in readArgs) (*page, error) {
	p := &page{first: in.Offset}
	scanned := 0
	for n := 1; ; n++ {
		if n%256 == 1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wanted := n >= in.Offset && n < in.Offset+in.Limit && !p.full
		if !wanted && sum == nil && n >= in.Offset {
			return p, nil // a large file: its end is not looked for
		}
		budget := maxWhole + 1
		if sum == nil {
			budget = maxScan - scanned
		}
		line, size, err := readLine(br, sum, wanted, budget)
		scanned += size
		if size > 0 {
			p.lines = n
			p.count(line)
			if wanted {
				p.show(n, line, size)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			p.whole = true
			return p, nil
		case errors.Is(err, errBudget) && p.last > 0:
			p.endless = true
			return p, nil
		case errors.Is(err, errBudget):
			return nil, fmt.Errorf("line %d is more than %d MiB into the file; search it with grep instead", in.Offset, maxScan>>20)
		case err != nil:
			return nil, err
		}
	}
}

var errBudget = errors.New("read far enough")

// readLine reads one line with its end. Of a long line only the beginning and the
// last two bytes are kept. After budget bytes it gives up with errBudget.
func readLine(br *bufio.Reader, sum hash.Hash, keep bool, budget int) (line []byte, size int, err error) {
	for {
		part, err := br.ReadSlice('\n')
		size += len(part)
		if sum != nil {
			sum.Write(part)
		}
		room := maxLine + 8
		if !keep {
			room = 2
		}
		switch {
		case len(line)+len(part) <= room+2:
			line = append(line, part...)
		default:
			line = append(line, part...)
			line = append(line[:min(room, len(line)-2)], line[len(line)-2:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
		if size > budget {
			return line, size, errBudget
		}
	}
}

// count notes how a line ends.
func (p *page) count(line []byte) {
	switch {
	case bytes.HasSuffix(line, []byte("\r\n")):
		p.crlf++
	case bytes.HasSuffix(line, []byte("\n")):
		p.lf++
	default:
		p.noNewline = true
	}
}

func (p *page) show(n int, line []byte, size int) {
	bare := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	size -= len(line) - len(bare)
	if n == 1 && bytes.HasPrefix(bare, []byte("\uFEFF")) {
		p.bom = true
		bare = bare[3:]
		size -= 3
	}
	note := ""
	if size > maxLine {
		bare = cutRune(bare[:min(maxLine, len(bare))])
		note = fmt.Sprintf(" […line cut: %d of %d bytes shown]", len(bare), size)
	}
	text, hidden := inert.Visible(string(bare))
	if p.out.Len() > 0 && p.out.Len()+len(text) > maxOutput {
		p.full = true
		return
	}
	p.hidden += hidden
	p.last = n
	fmt.Fprintf(&p.out, "%6d\t%s%s\n", n, text, note)
}

// cutRune drops a rune that was cut in two at the end.
func cutRune(b []byte) []byte {
	for i := 1; i <= 3 && i <= len(b); i++ {
		if c := b[len(b)-i]; c >= 0xC0 {
			return b[:len(b)-i]
		} else if c < 0x80 {
			return b
		}
	}
	return b
}

// text is the page with notes on what it is not.
func (p *page) text(info workspace.Info, asked int) string {
	if p.lines == 0 {
		return "[the file is empty]"
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(p.out.String(), "\n"))
	note := func(format string, args ...any) { fmt.Fprintf(&b, "\n["+format+"]", args...) }
	switch {
	case p.whole && p.first == 1 && p.last == p.lines:
	case p.whole && p.last == p.lines:
		note("lines %d-%d of %d, the end of the file", p.first, p.last, p.lines)
	case p.whole:
		note("lines %d-%d of %d; go on with offset=%d", p.first, p.last, p.lines, p.last+1)
	case p.endless:
		note("lines %d-%d of a file of %d bytes; the end of the last line was not found within %d MiB", p.first, p.last, info.Size, maxScan>>20)
	default:
		note("lines %d-%d of a file of %d bytes, which is too large to count its lines; go on with offset=%d", p.first, p.last, info.Size, p.last+1)
	}
	if p.full {
		note("stopped at %d KiB of text", maxOutput>>10)
	}
	if asked > maxLimit {
		note("limit %d is more than is shown at once: %d", asked, maxLimit)
	}
	if p.bom {
		note("the file begins with a byte order mark (U+FEFF), which stays")
	}
	switch {
	case p.crlf > 0 && p.lf == 0:
		note("lines end in CRLF")
	case p.crlf > 0:
		note("mixed line ends: %d lines end in CRLF, %d in LF", p.crlf, p.lf)
	}
	if p.whole && p.noNewline && p.last == p.lines {
		note("no newline at the end of the file")
	}
	if info.Links > 1 {
		note("the file has %d names (hard links)", info.Links)
	}
	b.WriteString(hiddenNote(p.hidden))
	return b.String()
}

func (p *page) display(name string) string {
	switch {
	case p.lines == 0:
		return "Read " + name + " (empty)"
	case p.whole && p.first == 1 && p.last == p.lines:
		return fmt.Sprintf("Read %s (%s)", name, plural(p.lines, "line", "lines"))
	case p.whole:
		return fmt.Sprintf("Read %s (lines %d-%d of %d)", name, p.first, p.last, p.lines)
	}
	return fmt.Sprintf("Read %s (lines %d-%d)", name, p.first, p.last)
}

// binary says what a file that is no text looks like, or "".
func binary(head []byte) string {
	for _, kind := range [...]struct{ prefix, what string }{
		{"\xff\xfe", "UTF-16 text; convert it to UTF-8 first"},
		{"\xfe\xff", "UTF-16 text; convert it to UTF-8 first"},
		{"\x89PNG", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"GIF8", "a GIF image"},
		{"%PDF-", "a PDF"},
		{"PK\x03\x04", "a ZIP archive"},
		{"\x7fELF", "an ELF program"},
		{"\x1f\x8b", "gzip data"},
		{"SQLite format 3\x00", "an SQLite database"},
	} {
		if len(head) >= len(kind.prefix) && string(head[:len(kind.prefix)]) == kind.prefix {
			return kind.what
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return "binary: it holds NUL bytes"
	}
	return ""
}
