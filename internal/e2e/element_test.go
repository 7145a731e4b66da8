package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// element is what a person points at: a role and the beginning of an accessible
// name (CONTRACT.md: "a name may carry more after the words"), within another
// element or in the page. It is looked up anew at every use, because the page
// replaces its parts while a session runs.
type element struct {
	tab    *tab
	in     *element
	role   string
	name   string
	answer *accessibility.Node // of the last lookup
}

// the finds an element of the page; nothing is looked up yet.
func (p *tab) the(role, name string) *element { return &element{tab: p, role: role, name: name} }

// the finds an element inside e.
func (e *element) the(role, name string) *element {
	return &element{tab: e.tab, in: e, role: role, name: name}
}

func (e *element) String() string {
	s := fmt.Sprintf("%s %q", e.role, e.name)
	if e.in != nil {
		s += " in " + e.in.String()
	}
	return s
}

// all is every element of that role and name, hidden ones left out.
func (e *element) all() []*accessibility.Node {
	ctx, cancel := e.tab.limited()
	defer cancel()
	params := accessibility.QueryAXTreeParams{Role: e.role}
	if e.in != nil {
		within := e.in.lookup()
		if within == nil {
			return nil
		}
		params.BackendNodeID = within.BackendDOMNodeID
	} else {
		id, err := e.tab.root(ctx)
		if err != nil {
			return nil
		}
		params.ObjectID = id
	}
	found, err := chromedp.Call(ctx, accessibility.QueryAXTree, params)
	if err != nil {
		return nil // replaced meanwhile: the caller asks again
	}
	var list []*accessibility.Node
	for _, n := range found.Nodes {
		name := strings.Join(strings.Fields(text(n.Name)), " ")
		if !n.Ignored && strings.HasPrefix(name, e.name) && n.BackendDOMNodeID != 0 {
			list = append(list, n)
		}
	}
	return list
}

func (e *element) lookup() *accessibility.Node {
	if all := e.all(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// here reports whether the element is on the page now.
func (e *element) here() bool { return e.lookup() != nil }

// count is how many there are now.
func (e *element) count() int { return len(e.all()) }

// wait waits for the element.
func (e *element) wait() *element {
	e.tab.t.Helper()
	e.tab.wait(e.String(), func() bool {
		e.answer = e.lookup()
		return e.answer != nil
	})
	return e
}

// property is a state of the element, such as checked or disabled.
func (e *element) property(name accessibility.PropertyName) string {
	e.tab.t.Helper()
	for _, prop := range e.wait().answer.Properties {
		if prop.Name == name {
			return text(prop.Value)
		}
	}
	return ""
}

// enabled reports whether the element can be used.
func (e *element) enabled() bool { return e.property(accessibility.PropertyNameDisabled) != "true" }

// checked reports whether a switch, checkbox or radio is on.
func (e *element) checked() bool { return e.property(accessibility.PropertyNameChecked) == "true" }

// call runs a function with this = the element and retries when the page replaced
// the element between the lookup and the call.
func call[T any](e *element, function string) T {
	e.tab.t.Helper()
	var value T
	var last error
	e.tab.wait(e.String(), func() bool {
		n := e.lookup()
		if n == nil {
			return false
		}
		ctx, cancel := e.tab.limited()
		defer cancel()
		value, last = callNode[T](ctx, e.tab, n, function)
		return last == nil
	})
	return value
}

func callNode[T any](ctx context.Context, p *tab, n *accessibility.Node, function string) (T, error) {
	var value T
	id, err := p.object(ctx, n)
	if err != nil {
		return value, err
	}
	r, err := chromedp.Call(ctx, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		ObjectID: id, FunctionDeclaration: function, ReturnByValue: new(true), AwaitPromise: new(true),
	})
	if err != nil {
		return value, err
	}
	if r.ExceptionDetails != nil {
		return value, fmt.Errorf("%s", r.ExceptionDetails.Text)
	}
	if len(r.Result.Value) == 0 {
		return value, nil
	}
	return value, json.Unmarshal(r.Result.Value, &value)
}

// text is what the element shows.
func (e *element) text() string {
	e.tab.t.Helper()
	return call[string](e, `function () { return this.innerText ?? this.textContent; }`)
}

// value is what a text box holds.
func (e *element) value() string {
	e.tab.t.Helper()
	return call[string](e, `function () { return this.value ?? this.innerText; }`)
}

// click presses the mouse in the middle of the element, as a person does: what
// lies under something else is not clicked.
func (e *element) click() {
	e.tab.t.Helper()
	e.tab.wait("a click on "+e.String(), func() bool {
		n := e.lookup()
		if n == nil {
			return false
		}
		ctx, cancel := e.tab.limited()
		defer cancel()
		x, y, ok := e.tab.middle(ctx, n)
		return ok && chromedp.Do(ctx, chromedp.MouseClickXY(x, y)) == nil
	})
}

// middle scrolls to an element and gives its middle, if that is not covered by
// anything and the element can be used.
func (p *tab) middle(ctx context.Context, n *accessibility.Node) (x, y float64, ok bool) {
	if _, err := chromedp.Call(ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: n.BackendDOMNodeID}); err != nil {
		return 0, 0, false
	}
	type point struct {
		X, Y float64
		OK   bool
	}
	at, err := callNode[point](ctx, p, n, `function () {
		const box = this.getBoundingClientRect();
		const x = box.x + box.width / 2, y = box.y + box.height / 2;
		const top = document.elementFromPoint(x, y);
		const label = this.labels && [...this.labels].some((l) => l.contains(top));
		return { X: x, Y: y, OK: !this.disabled && box.width > 0 && (label || this.contains(top) || !!top && top.contains(this)) };
	}`)
	return at.X, at.Y, err == nil && at.OK
}

// fill replaces what a text box holds by typing.
func (e *element) fill(content string) {
	e.tab.t.Helper()
	e.click()
	call[any](e, `function () { this.focus(); this.select ? this.select() : document.getSelection().selectAllChildren(this); }`)
	ctx, cancel := e.tab.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: content})
	require.NoError(e.tab.t, err)
	require.Equal(e.tab.t, content, e.value(), "typed into %s", e)
}

// focus gives the element the keyboard.
func (e *element) focus() {
	e.tab.t.Helper()
	call[any](e, `function () { this.scrollIntoView({ block: "center" }); this.focus(); }`)
}

// press types keys into what has the focus. A name of several letters is one
// key (Enter, Tab, Escape, ArrowDown, F6); Ctrl+ and Shift+ may come before it.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	for _, name := range keys {
		var with []chromedp.KeyOption
		for _, m := range []struct {
			prefix string
			key    chromedp.Modifier
		}{{"Ctrl+", chromedp.ModifierCtrl}, {"Shift+", chromedp.ModifierShift}} {
			if rest, ok := strings.CutPrefix(name, m.prefix); ok {
				name, with = rest, append(with, chromedp.KeyModifiers(m.key))
			}
		}
		if (name == "Enter" || len(name) == 1) && len(with) == 0 {
			p.character(ctx, name)
			continue
		}
		if code, ok := named()[name]; ok {
			name = code
		}
		require.NoError(p.t, chromedp.Do(ctx, chromedp.KeyEvent(name, with...)), "press %q", name)
	}
}

// character presses a key as a keyboard does: in one event, so that a page which
// takes the key gets no text as well.
func (p *tab) character(ctx context.Context, key string) {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		e := input.DispatchKeyEventParams{Type: kind, Key: key, WindowsVirtualKeyCode: int64(strings.ToUpper(key)[0])}
		text := key
		if key == "Enter" {
			e.Code, e.WindowsVirtualKeyCode, text = "Enter", 13, "\r"
		}
		if kind == input.DispatchKeyEventTypeKeyDown {
			e.Text = text
		}
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, e)
		require.NoError(p.t, err)
	}
}

func named() map[string]string {
	return map[string]string{
		"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "F6": kb.F6,
		"ArrowDown": kb.ArrowDown, "ArrowUp": kb.ArrowUp, "ArrowRight": kb.ArrowRight,
	}
}
