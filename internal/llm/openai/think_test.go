package openai

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tags may be cut anywhere; text that does not begin with one passes as it is.
func TestSplitter(t *testing.T) {
	tests := []struct{ in, text, thinking string }{
		{in: "<think>why</think>\n\nbecause", text: "because", thinking: "why"},
		{in: " \n<think>why</think>because", text: "because", thinking: "why"},
		{in: "plain <think>text</think>", text: "plain <think>text</think>"},
		{in: "<thin", text: "<thin"},
		{in: "<b>bold</b>", text: "<b>bold</b>"},
		{in: "<think>never closed </thi", thinking: "never closed </thi"},
		{in: "<think></think>x", text: "x"},
		{in: "", text: ""},
		{in: "<think>a < b </think>c</think>", text: "c</think>", thinking: "a < b "},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.in)+1; size++ {
			var s splitter
			var text, thinking string
			for rest := tt.in; rest != ""; {
				n := min(size, len(rest))
				a, b := s.push(rest[:n])
				text, thinking, rest = text+a, thinking+b, rest[n:]
			}
			a, b := s.rest()
			require.Equal(t, tt.text, text+a, "%q in pieces of %d", tt.in, size)
			require.Equal(t, tt.thinking, thinking+b, "%q in pieces of %d", tt.in, size)
		}
	}
}
