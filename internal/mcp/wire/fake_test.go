package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes the test binary a server too: WIRE_FAKE names what it does.
func TestMain(m *testing.M) {
	if name := os.Getenv("WIRE_FAKE"); name != "" {
		fakes()[name](newFake())
		return
	}
	goleak.VerifyTestMain(m)
}

// fake is a server on stdin and stdout.
type fake struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func newFake() *fake {
	return &fake{in: bufio.NewReaderSize(os.Stdin, 1<<20), out: bufio.NewWriter(os.Stdout)}
}

func (f *fake) raw(s string) {
	_, _ = f.out.WriteString(s)
	_ = f.out.Flush()
}

func (f *fake) say(format string, args ...any) { f.raw(fmt.Sprintf(format, args...) + "\n") }

// next reads a message; it ends the process at the end of stdin.
func (f *fake) next() message {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var m message
	_ = json.Unmarshal(line, &m)
	return m
}

func (f *fake) answer(m message, result string) {
	f.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (f *fake) refuse(m message) {
	f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
}

const hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}`

// loop answers the handshake and hands everything else to fn.
func (f *fake) loop(fn func(m message)) {
	for {
		m := f.next()
		switch {
		case m.Method == "initialize":
			f.answer(m, hello)
		case m.Method == "server/discover":
			f.refuse(m)
		case m.kind() == notification:
		default:
			fn(m)
		}
	}
}

func text(s string) string {
	raw, _ := json.Marshal(s)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, raw)
}

func fakes() map[string]func(f *fake) {
	return map[string]func(f *fake){
		"echo":  func(f *fake) { f.loop(func(m message) { f.answer(m, text(m.Method+string(m.Params))) }) },
		"noisy": noisyFake,
		"exit on unknown": func(f *fake) {
			if m := f.next(); m.Method != "initialize" {
				os.Exit(1)
			} else {
				f.answer(m, hello)
			}
			f.loop(func(m message) { f.answer(m, text("alive")) })
		},
		"big": func(f *fake) {
			f.loop(func(m message) {
				var p struct {
					Arguments struct{ Bytes int }
				}
				_ = json.Unmarshal(m.Params, &p)
				// The id comes last, as some servers write it.
				f.raw(`{"result":{"content":[{"type":"text","text":"`)
				chunk := strings.Repeat("x", 1<<16)
				for left := p.Arguments.Bytes; left > 0; left -= len(chunk) {
					f.raw(chunk[:min(left, len(chunk))])
				}
				f.raw(`"}]},"jsonrpc":"2.0","id":` + string(m.ID) + "}\n")
			})
		},
		"many blocks": func(f *fake) {
			f.loop(func(m message) {
				f.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[`)
				for i := range 700_000 {
					if i > 0 {
						f.raw(",")
					}
					_, _ = f.out.WriteString(`{"type":"text","text":"another block of text"}`)
				}
				f.raw("]}}\n")
			})
		},
		"cut off": func(f *fake) {
			f.loop(func(m message) {
				f.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"tools":[{"name":"` + strings.Repeat("a", 65_600))
				os.Exit(0)
			})
		},
		"silent":       func(f *fake) { select {} },
		"deaf":         func(f *fake) { f.loop(func(m message) { f.answer(m, text("ok")); select {} }) },
		"stderr flood": floodFake,
		"family":       familyFake,
		"asks":         asksFake,
		"chatty": func(f *fake) {
			f.loop(func(m message) {
				for i := range 30_000 {
					_, _ = fmt.Fprintf(f.out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"entry %d"}}`+"\n", i)
				}
				f.answer(m, text("ok"))
			})
		},
		"slow":    slowFake,
		"hostile": hostileFake,
		"exits":   func(*fake) { fmt.Fprintln(os.Stderr, "Error: no licence"); os.Exit(3) },
		"env": func(f *fake) {
			f.loop(func(m message) { f.answer(m, text(strings.Join(os.Environ(), "\n"))) })
		},
		"modern": modernFake,
		"crash":  func(f *fake) { f.loop(func(message) { os.Exit(7) }) },
		"child":  func(*fake) { time.Sleep(time.Minute) },
	}
}

func noisyFake(f *fake) {
	for i := range 36 {
		f.say("starting up, step %d", i)
	}
	f.say(`{"level":"info","msg":"json log"}`)
	f.raw("\xef\xbb\xbf")
	f.loop(func(m message) {
		f.say(`{"level":"info","msg":"working"}`)
		f.say("")
		f.answer(m, text("through the noise"))
	})
}

func floodFake(f *fake) {
	line := strings.Repeat("e", 1023) + "\n"
	for range 50 << 10 {
		_, _ = os.Stderr.WriteString(line)
	}
	f.loop(func(m message) { f.answer(m, text("ok")) })
}

// familyFake has a child that holds its pipes and ignores what it is asked.
func familyFake(f *fake) {
	child := exec.Command("sh", "-c", `trap "" TERM HUP INT; echo child $$ >&2; while :; do sleep 1; done`)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	_ = child.Start()
	f.loop(func(m message) { f.answer(m, text(fmt.Sprint(child.Process.Pid))) })
}

// asksFake asks the client things during a call and tells what it heard.
func asksFake(f *fake) {
	f.loop(func(m message) {
		var heard []string
		for i, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create", "ping", "made/up"} {
			f.say(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, i, method)
			r := f.next()
			got := string(r.Result)
			if r.Error != nil {
				got = r.Error.Message
			}
			heard = append(heard, fmt.Sprintf("%s %s=%s", r.ID, method, got))
		}
		f.answer(m, text(strings.Join(heard, "\n")))
	})
}

// slowFake reports progress for half a second, or is silent when told so.
func slowFake(f *fake) {
	f.loop(func(m message) {
		var p struct {
			Name string
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		for i := range 10 {
			time.Sleep(60 * time.Millisecond)
			if p.Name == "talks" {
				f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":10}}`, p.Meta.Token, i)
			}
		}
		f.answer(m, text("done"))
	})
}

// hostileFake sends what no server should.
func hostileFake(f *fake) {
	f.loop(func(m message) {
		deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
		f.say(`{"jsonrpc":"2.0","id":999999,"result":{}}`)
		f.say(`{"jsonrpc":"2.0","id":1.5,"result":{}}`)
		f.say(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`)
		f.say(`{"jsonrpc":"1.0","id":%s,"result":{}}`, m.ID)
		f.say(`{"jsonrpc":"2.0","method":"notifications/x","params":%s}`, deep)
		f.say(`{"jsonrpc":"2.0","id":"x","result":%s}`, deep)
		f.say(`[]`)
		f.say(`null`)
		f.say(`{"jsonrpc":"2.0","id":{},"result":{}}`)
		f.say(`[{"jsonrpc":"2.0","method":"notifications/y"},{"jsonrpc":"2.0","id":"%s","result":%s,"result":%s}]`, m.ID, text("first key"), text("last key"))
		f.answer(m, text("second answer"))
	})
}

func modernFake(f *fake) {
	for {
		m := f.next()
		switch m.Method {
		case "server/discover":
			f.answer(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"new","version":"1"}}`)
		case "subscriptions/listen":
			f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
		case "tools/call":
			var p map[string]json.RawMessage
			_ = json.Unmarshal(m.Params, &p)
			if _, again := p["inputResponses"]; !again {
				f.answer(m, `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list","params":{}}},"requestState":"opaque \u0001 state"}`)
				continue
			}
			f.answer(m, text(string(p["inputResponses"])+string(p["requestState"])+string(p["_meta"])))
		default:
			if m.kind() == request {
				f.refuse(m)
			}
		}
	}
}

// command starts the test binary as a fake.
func command(t *testing.T, name string) *Command {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return &Command{Path: exe, Env: append(os.Environ(), "WIRE_FAKE="+name, "GOCOVERDIR="+t.TempDir()), Dir: t.TempDir()}
}

// dial connects to a fake and closes the connection at the end of the test.
func dial(t *testing.T, name string, change func(o *Options)) *Client {
	t.Helper()
	o := Options{Command: command(t, name), Client: Implementation{Name: "test", Version: "1"}, Handshake: 20 * time.Second}
	if change != nil {
		change(&o)
	}
	c, err := Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { closeNow(t, c) })
	return c
}

func closeNow(t *testing.T, c *Client) {
	t.Helper()
	require.NoError(t, c.Close(t.Context()))
}

// said is the text of a call's result.
func said(t *testing.T, c *Client, tool, args string) string {
	t.Helper()
	r, err := c.Call(t.Context(), Call{Tool: tool, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.NotEmpty(t, r.Content)
	return r.Content[0].Text
}
