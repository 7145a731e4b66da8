//go:build recording && linux

package cli

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// The terminal that is recorded.
const (
	recordedCols = 80
	recordedRows = 24
)

// shot is what the terminal was sent at a time.
type shot struct {
	at   time.Duration
	text string
}

// TestRecording plays the demo in a terminal, answers as a person would, and writes
// docs/images/demo.cast (asciicast v2) and demo.svg, which moves. `make recording`.
func TestRecording(t *testing.T) {
	bin, dir := os.Getenv("CODERRR_BIN"), os.Getenv("CODERRR_RECORDING")
	require.NotEmpty(t, bin)
	require.NotEmpty(t, dir)
	home := t.TempDir()
	cmd := exec.Command(bin, "run", "--demo")
	cmd.Dir = home
	cmd.Env = []string{"CODERRR_HOME=" + filepath.Join(home, "c"), "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: recordedRows, Cols: recordedCols})
	require.NoError(t, err)
	defer func() { _ = master.Close() }()
	shots := record(t, master)
	require.NoError(t, cmd.Wait())
	all := ""
	for _, s := range shots {
		all += s.text
	}
	require.Contains(t, all, "Done")
	require.NotContains(t, all, os.TempDir(), "a path of this machine")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "demo.cast"), []byte(cast(t, shots)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "demo.svg"), []byte(film(shots)), 0o644))
}

// record reads until the end and types the answers. A person takes a moment.
func record(t *testing.T, master *os.File) []shot {
	t.Helper()
	answers := [][2]string{{"in words: ", "1\n"}, {"/?] ", "y\n"}}
	place := regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/coderrr-demo-\d+`)
	var shots []shot
	begun, seen := time.Now(), ""
	chunk := make([]byte, 1<<16)
	for {
		n, err := master.Read(chunk)
		if n > 0 {
			text := place.ReplaceAllString(string(chunk[:n]), "~")
			shots = append(shots, shot{time.Since(begun), text})
			seen += text
		}
		if err != nil {
			return shots
		}
		if len(answers) > 0 && strings.HasSuffix(strings.TrimRight(seen, "\x1b[0m"), answers[0][0]) {
			time.Sleep(2500 * time.Millisecond)
			_, err := master.WriteString(answers[0][1])
			require.NoError(t, err)
			answers = answers[1:]
		}
	}
}

func cast(t *testing.T, shots []shot) string {
	t.Helper()
	var b strings.Builder
	line := func(v any) {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		b.Write(append(raw, '\n'))
	}
	line(map[string]any{"version": 2, "width": recordedCols, "height": recordedRows, "title": "coderrr run --demo"})
	for _, s := range shots {
		line([]any{float64(s.at.Milliseconds()) / 1000, "o", s.text})
	}
	return b.String()
}

// row is one line of the terminal, and when it was complete.
type row struct {
	at   time.Duration
	text string
}

// rows takes the shots apart. What `coderrr run` prints only ever adds lines, so
// that no terminal has to be imitated.
func rows(shots []shot) []row {
	out := []row{{}}
	for _, s := range shots {
		for i, part := range strings.Split(strings.ReplaceAll(s.text, "\r", ""), "\n") {
			if i > 0 {
				out = append(out, row{at: s.at})
			}
			last := &out[len(out)-1]
			if last.text == "" {
				last.at = s.at
			}
			last.text += part
		}
	}
	return out
}

// film is the recording as a picture that moves by itself: each line appears at its
// time, and the whole is moved up when the window is full.
func film(shots []shot) string {
	const lineHeight, charWidth, rest = 17, 8.4, 6 * time.Second
	all := rows(shots)
	total := all[len(all)-1].at + rest
	percent := func(d time.Duration) string { return fmt.Sprintf("%.2f%%", 100*float64(d)/float64(total)) }
	width, height := int(recordedCols*charWidth)+24, recordedRows*lineHeight+24
	var style, body, scroll strings.Builder
	scroll.WriteString("0%{transform:translateY(0)}")
	for i, r := range all {
		if over := i - recordedRows + 1; over > 0 {
			fmt.Fprintf(&scroll, "%s{transform:translateY(-%dpx)}", percent(r.at), over*lineHeight)
		}
		if strings.TrimSpace(r.text) == "" {
			continue
		}
		fmt.Fprintf(&style, "@keyframes l%d{0%%{opacity:0}%s{opacity:1}}#l%d{animation-name:l%d}\n", i, percent(r.at), i, i)
		fmt.Fprintf(&body, `<text id="l%d" y="%d">%s</text>`+"\n", i, (i+1)*lineHeight, spans(r.text))
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="coderrr run --demo in a terminal">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6d6d6;white-space:pre;animation:%[3]s step-end infinite}
.b{font-weight:bold;fill:#fff}.d{fill:#8b8b8b}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.c{fill:#79c0ff}
@keyframes up{%[4]s}
#all{animation:up %[3]s step-end infinite}
%[5]s@media (prefers-reduced-motion:reduce){text,#all{animation:none!important}#all{transform:translateY(-%[9]dpx)}}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#16181d"/>
<svg x="12" y="10" width="%[6]d" height="%[7]d"><g id="all">
%[8]s</g></svg>
</svg>
`, width, height, fmt.Sprintf("%.1fs", total.Seconds()), scroll.String(), style.String(), width-24, recordedRows*lineHeight+5, body.String(), (len(all)-recordedRows)*lineHeight)
}

var colour = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// spans is a line with its colours. Other codes are none of ours to draw.
func spans(text string) string {
	names := map[string]string{"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c", "31;7": "r", "32;7": "g"}
	var b strings.Builder
	class := ""
	write := func(s string) {
		s = regexp.MustCompile("\x1b\\[[?0-9;]*[A-Za-z]").ReplaceAllString(s, "")
		switch s = html.EscapeString(s); {
		case s == "":
		case class == "":
			b.WriteString(s)
		default:
			b.WriteString(`<tspan class="` + class + `">` + s + `</tspan>`)
		}
	}
	at := 0
	for _, m := range colour.FindAllStringSubmatchIndex(text, -1) {
		write(text[at:m[0]])
		at = m[1]
		class = names[text[m[2]:m[3]]]
	}
	write(text[at:])
	return b.String()
}
