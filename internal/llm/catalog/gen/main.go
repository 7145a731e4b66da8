// Command gen writes ../models.json anew from the catalogue of charm.land/catwalk
// (MIT): make catalog. It is a module of its own, so that the program does not
// depend on the catalogue. Look at the difference before you commit it: prices and
// sizes are one catalogue's view on one day.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

const source = "charm.land/catwalk"

// taken are the providers of the table, in its order, and how the catalogue calls
// them.
func taken() [][2]string {
	return [][2]string{
		{"anthropic", "anthropic"},
		{"openai", "openai"},
		{"google", "gemini"},
		{"deepseek", "deepseek"},
		{"groq", "groq"},
		{"xai", "xai"},
		{"zai", "zai"},
		{"moonshot", "moonshot"},
		{"azure", "azure"},
		{"openrouter", "openrouter"},
	}
}

type model struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Context   int64    `json:"context"`
	MaxOutput int64    `json:"max_output"`
	USD       prices   `json:"usd_per_1m"`
	Reasoning bool     `json:"reasoning"`
	Efforts   []string `json:"efforts"`
	Images    bool     `json:"images"`
}

type prices struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

func main() {
	out, err := render(embedded.GetAll())
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

// render is the table, one model a line, so that a difference can be read.
func render(all []catwalk.Provider) ([]byte, error) {
	var b bytes.Buffer
	head, err := json.Marshal(map[string]string{
		"module": source, "version": version(), "license": "MIT",
		"note": "cache prices re-derived: the catalogue swaps its two cache fields between providers",
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "{\"source\":%s,\"providers\":{\n", head)
	for i, name := range taken() {
		at := slices.IndexFunc(all, func(p catwalk.Provider) bool { return string(p.ID) == name[1] })
		if at < 0 {
			return nil, fmt.Errorf("%s has no provider %q any more", source, name[1])
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		if err := provider(&b, name[0], all[at]); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}}\n")
	return b.Bytes(), nil
}

func provider(b *bytes.Buffer, name string, p catwalk.Provider) error {
	fmt.Fprintf(b, "  %q:{\"default_large\":%q,\"default_small\":%q,\"models\":[\n", name, p.DefaultLargeModelID, p.DefaultSmallModelID)
	for i, m := range p.Models {
		line, err := json.Marshal(model{
			ID: m.ID, Name: m.Name, Context: m.ContextWindow, MaxOutput: m.DefaultMaxTokens, USD: priceOf(m),
			Reasoning: m.CanReason, Efforts: append([]string{}, m.ReasoningLevels...), Images: m.SupportsImages,
		})
		if err != nil {
			return fmt.Errorf("%s/%s: %w", name, m.ID, err)
		}
		end := ",\n"
		if i == len(p.Models)-1 {
			end = "]}"
		}
		fmt.Fprintf(b, "    %s%s", line, end)
	}
	return nil
}

// priceOf reads the two cache prices by their size: their fields mean other things
// at other providers (write and read, read and nothing, read and the output price
// again). Cached input costs less than fresh input, writing it more, at most double.
func priceOf(m catwalk.Model) prices {
	p := prices{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
	for _, v := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		switch {
		case v <= 0 || v == p.Input || v == p.Output:
		case v < p.Input && p.CacheRead == nil:
			p.CacheRead = &v
		case v > p.Input && v <= 2*p.Input && p.CacheWrite == nil:
			p.CacheWrite = &v
		}
	}
	return p
}

// version is that of the catalogue this was built with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == source {
			return strings.TrimPrefix(d.Version, "v")
		}
	}
	return ""
}
