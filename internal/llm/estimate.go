package llm

// Rough sizes: what a token and an image stand for when nobody counted.
const (
	bytesPerToken  = 4
	tokensPerImage = 1500
	tokensPerBlock = 4 // roles, ids, punctuation
)

// EstimateTokens guesses the size of a request in tokens. It is for deciding, not
// for showing as fact: real counts differ by a fifth either way.
func EstimateTokens(req Request) int64 {
	n := int64(len(req.System)) / bytesPerToken
	for _, t := range req.Tools {
		n += int64(len(t.Name)+len(t.Description)+len(t.Schema))/bytesPerToken + tokensPerBlock
	}
	for _, m := range req.Messages {
		n += EstimateMessage(m)
	}
	return n
}

// EstimateMessage guesses the size of one message in tokens.
func EstimateMessage(m Message) int64 {
	var n int64
	for _, b := range m.Blocks {
		n += tokensPerBlock
		switch b := b.(type) {
		case Text:
			n += int64(len(b.Text)) / bytesPerToken
		case Image:
			n += tokensPerImage
		case Thinking:
			n += int64(len(b.Text)+len(b.Data)) / bytesPerToken
		case ToolUse:
			n += int64(len(b.Name)+len(b.Input)) / bytesPerToken
		case ToolResult:
			n += int64(len(b.Content))/bytesPerToken + int64(len(b.Images))*tokensPerImage
		case Opaque:
			n += int64(len(b.Data)) / bytesPerToken
		}
	}
	return n
}
