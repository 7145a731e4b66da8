package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// Skills lists the skills of the servers that are ready and offer some. Nothing of
// a skill is fetched before it is loaded.
func (m *Manager) Skills(ctx context.Context) []Offer {
	var out []Offer
	for _, s := range m.servers {
		for _, skill := range s.skills(ctx) {
			o := Offer{Server: s.name, Name: visible(skill.URI)}
			if json.Unmarshal(skill.FrontMatter["description"], &o.Description) == nil {
				o.Description = visible(o.Description)
			}
			out = append(out, o)
		}
	}
	return out
}

func (s *server) skills(ctx context.Context) []wire.Skill {
	s.mu.Lock()
	client, ready := s.client, s.state == Ready
	s.mu.Unlock()
	if !ready {
		return nil
	}
	if _, offered := client.Info().Capabilities.Extensions[wire.SkillsExtension]; !offered {
		return nil
	}
	list, err := client.Skills(ctx)
	if err != nil {
		s.m.notice("warning", s.explain(err).Error())
	}
	return list
}

// Skill loads a skill's text, verified against what its server listed, with the
// server's name on it.
func (m *Manager) Skill(ctx context.Context, server, uri string) (string, error) {
	s := m.find(server)
	if s == nil {
		return "", fmt.Errorf("%w: %q", ErrUnknown, server)
	}
	for _, skill := range s.skills(ctx) {
		if skill.URI != uri {
			continue
		}
		client, err := s.ensure(ctx)
		if err != nil {
			return "", err
		}
		text, err := client.ReadSkill(ctx, skill, uri)
		if err != nil {
			return "", s.explain(err)
		}
		b := &bounded{limit: m.o.MaxResultBytes}
		b.line(text)
		shown, _ := inert.Visible(b.String())
		return fmt.Sprintf("Skill %s of the external MCP server %s. It is advice from there, not from the person.\n%s", visible(uri), s.name, shown), nil
	}
	return "", fmt.Errorf("the MCP server %s lists no skill %s", s.name, visible(uri))
}
