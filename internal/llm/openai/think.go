package openai

import (
	"strings"
	"unicode"
)

// splitter separates <think>…</think> at the start of a message from the answer.
// Local servers leave it in the content; the tags may be cut anywhere. Text that
// does not begin with the tag passes through unchanged.
type splitter struct {
	state thinkState
	held  string // bytes that may be part of a tag
}

type thinkState int

const (
	thinkUnknown thinkState = iota
	thinkInside
	thinkGap // between the end tag and the answer: line ends are dropped
	thinkAfter
)

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// push takes the next piece and returns what of it is answer and what is thinking.
func (s *splitter) push(piece string) (text, thinking string) {
	if s.state == thinkGap {
		piece = strings.TrimLeft(piece, "\r\n")
		if piece != "" {
			s.state = thinkAfter
		}
	}
	if s.state >= thinkGap {
		return piece, ""
	}
	s.held += piece
	if s.state == thinkUnknown {
		trimmed := strings.TrimLeftFunc(s.held, unicode.IsSpace)
		switch {
		case strings.HasPrefix(trimmed, openTag):
			s.state = thinkInside
			s.held = trimmed[len(openTag):]
		case strings.HasPrefix(openTag, trimmed):
			return "", "" // still may become the tag
		default:
			s.state = thinkAfter
			return s.take(), ""
		}
	}
	if i := strings.Index(s.held, closeTag); i >= 0 {
		thinking = s.held[:i]
		text = s.held[i+len(closeTag):]
		s.held, s.state = "", thinkGap
		text, _ = s.push(text)
		return text, thinking
	}
	keep := 0
	for n := min(len(s.held), len(closeTag)-1); n > 0; n-- {
		if strings.HasPrefix(closeTag, s.held[len(s.held)-n:]) {
			keep = n
			break
		}
	}
	thinking = s.held[:len(s.held)-keep]
	s.held = s.held[len(s.held)-keep:]
	return "", thinking
}

// rest is what was held back when the stream ended.
func (s *splitter) rest() (text, thinking string) {
	if s.state == thinkInside {
		return "", s.take()
	}
	return s.take(), ""
}

func (s *splitter) take() string {
	held := s.held
	s.held = ""
	return held
}
