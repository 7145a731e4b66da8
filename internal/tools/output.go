package tools

import (
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/event"
)

// Limits of the live output of one call. The log holds every piece, on disk and in
// memory, and a command can print without end.
const (
	maxLive  = 1 << 20 // bytes
	maxPiece = 10_000  // events
)

// live logs the output of one call as it comes, up to a limit. It may be called by
// several goroutines.
func live(log *event.Log, id string) func(stream, text string) {
	var mu sync.Mutex
	size, pieces := 0, 0
	return func(stream, text string) {
		mu.Lock()
		defer mu.Unlock()
		if size >= maxLive || pieces >= maxPiece {
			return
		}
		if room := maxLive - size; len(text) > room {
			text = strings.ToValidUTF8(text[:room], "")
			size = maxLive
		}
		size, pieces = size+len(text), pieces+1
		if size >= maxLive || pieces >= maxPiece {
			text += "\n(what it prints after this is not shown live; its end is in the result)\n"
		}
		log.Append(event.ToolOutput{ID: id, Stream: stream, Text: text})
	}
}
