package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestModelPicker: the button lists the provider's models, letters narrow them,
// Escape leaves what was typed alone, and the chosen one is in force at once.
func TestModelPicker(t *testing.T) {
	hold := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[{"id":"first"},{"id":"anthropic/second"}]}`))
			return
		}
		select { // a model that thinks for long
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(provider.Close)
	t.Cleanup(func() { close(hold) })
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"first\"\nendpoint = \""+provider.URL+"/v1\"\n[sandbox]\ntier = \"scratch\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.the("textbox", "Request").click()
	p.write("Add a search")
	p.press("Enter")
	p.waitStatus("Planning")
	p.the("textbox", "Request").click()
	p.write("a draft")

	p.the("button", "Model: first").click()
	models := p.the("listbox", "Models").wait()
	models.the("option", "first (current) · context unknown · price unknown").wait()
	p.inspect("models")
	p.press("Escape")
	require.False(t, p.the("listbox", "Models").here())
	require.Equal(t, "a draft", p.the("textbox", "Request").value())

	p.the("button", "Model: first").click()
	p.the("listbox", "Models").wait()
	p.write("sec")
	p.wait("one model", func() bool { return !p.the("option", "first").here() })
	p.press("ArrowDown", "Enter")
	p.the("button", "Model: anthropic/second").wait()
	require.Equal(t, "a draft", p.the("textbox", "Request").value())
	p.the("button", "Stop").click()
	p.waitStatus("Stopped")
}
