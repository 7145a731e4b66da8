package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/event"
)

// draft is a document that a running write_spec call carries.
type draft struct{ document, content string }

func (s *State) toolStarted(e event.Event, p event.ToolStarted, t *Touched) {
	s.settle(t)
	tool := &Tool{
		CallID: p.ID, Name: p.Name, Class: p.Class, Started: e.Time,
		Arg: oneLine(p.Input), Input: indent(p.Input),
	}
	if cur := s.Current(); cur != nil {
		tool.Task = cur.ID
	}
	before := len(s.Items) - 1
	it := s.add(e, Call, t)
	it.Tool = tool
	if tool.Class == "read" {
		it.Run = it.ID
		if before >= 0 && s.Items[before].Run != "" {
			it.Run = s.Items[before].Run
		}
	}
	if s.open == nil {
		s.open = map[string]*Item{}
	}
	s.open[p.ID] = it
	s.planCall(p, t)
}

// planCall shows a plan while it is written: its text is in the calls that write
// it, long before plan.ready.
func (s *State) planCall(p event.ToolStarted, t *Touched) {
	var in struct{ Title, Document, Content string }
	switch p.Name {
	case "create_spec":
		if json.Unmarshal(p.Input, &in) == nil && in.Title != "" {
			s.Plan = &Plan{Title: in.Title, Documents: map[string]string{}}
			t.Parts |= PartPlan
		}
	case "write_spec":
		if json.Unmarshal(p.Input, &in) != nil || in.Document == "" {
			return
		}
		if s.drafts == nil {
			s.drafts = map[string]draft{}
		}
		s.drafts[p.ID] = draft{in.Document, cutString(in.Content, maxText)}
		if s.Plan != nil {
			s.Plan.Writing = in.Document
			t.Parts |= PartPlan
		}
	}
}

func (s *State) toolOutput(p event.ToolOutput, t *Touched) {
	it := s.open[p.ID]
	if it == nil {
		return
	}
	it.Tool.Output.Add(p.Text)
	t.Items, t.Stream = append(t.Items, it.ID), true
}

func (s *State) toolFinished(e event.Event, p event.ToolFinished, t *Touched) {
	it := s.open[p.ID]
	if it == nil { // its start is not in this log: show what is known
		it = s.add(e, Call, t)
		it.Tool = &Tool{CallID: p.ID, Name: p.Name, Started: e.Time}
	}
	delete(s.open, p.ID)
	it.Done, it.Tool.Done, it.Tool.OK = true, true, p.OK
	it.Tool.Display, it.Tool.Content = p.Display, cutString(p.Content, maxContent)
	if took := e.Time.Sub(it.Tool.Started); took > 0 {
		it.Tool.Took = took
	}
	t.Items = append(t.Items, it.ID)
	if d, ok := s.drafts[p.ID]; ok {
		delete(s.drafts, p.ID)
		s.drafted(d, p.OK, t)
	}
}

// drafted takes over a document that was written. A plan that is presented holds
// the text of plan.ready only: what was shown does not change under the reader.
func (s *State) drafted(d draft, ok bool, t *Touched) {
	if s.Plan == nil {
		s.Plan = &Plan{Documents: map[string]string{}}
	}
	s.Plan.Writing = ""
	if ok && !s.Plan.Approved {
		docs := map[string]string{}
		for k, v := range s.Plan.Documents {
			docs[k] = v
		}
		docs[d.document] = d.content
		s.Plan.Documents = docs
	}
	t.Parts |= PartPlan
}

// oneLine picks the argument that tells calls of a tool apart.
func oneLine(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	if from, ok := in["source"].(string); ok {
		if to, ok := in["destination"].(string); ok {
			return flat(from) + " → " + flat(to)
		}
	}
	if pattern, ok := in["pattern"].(string); ok {
		if path, ok := in["path"].(string); ok && path != "" && path != "." {
			return flat(pattern) + " in " + flat(path)
		}
		return flat(pattern)
	}
	if id, ok := in["task_id"].(string); ok {
		status, _ := in["status"].(string)
		return strings.TrimSpace(flat(id) + " " + flat(status))
	}
	for _, k := range []string{"path", "command", "query", "name", "title", "document", "question", "summary", "url", "id"} {
		if v, ok := in[k].(string); ok && v != "" {
			return flat(v)
		}
	}
	if len(in) == 0 {
		return ""
	}
	return flat(string(input))
}

// flat makes one short line of s.
func flat(s string) string {
	s = strings.Join(strings.Fields(cutString(s, 600)), " ")
	if utf8.RuneCountInString(s) > 160 {
		s = string([]rune(s)[:159]) + "…"
	}
	return s
}

func indent(raw json.RawMessage) string {
	var buf bytes.Buffer
	if json.Indent(&buf, raw, "", "  ") != nil {
		return cutString(string(raw), maxContent)
	}
	return cutString(buf.String(), maxContent)
}
