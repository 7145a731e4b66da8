package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// skillScheme begins the address of a skill (SEP-2640).
const skillScheme = "skill://"

// skillOffers are the skills of a server, for a person to name. Nothing of a skill
// is fetched before that.
func (s *server) skillOffers(list []wire.Skill) []Offer {
	var out []Offer
	for _, skill := range list {
		o := Offer{Server: s.name, Name: visible(skill.URI)}
		if json.Unmarshal(skill.FrontMatter["description"], &o.Description) == nil {
			o.Description = visible(o.Description)
		}
		out = append(out, o)
	}
	return out
}

// skills lists what a server offers, nothing where it does not know of skills.
func (s *server) skills(ctx context.Context, client *wire.Client) ([]wire.Skill, error) {
	if _, offered := client.Info().Capabilities.Extensions[wire.SkillsExtension]; !offered {
		return nil, nil
	}
	return client.Skills(ctx)
}

// Skill loads a skill's text, verified against what its server listed, with the
// server's name on it.
func (m *Manager) Skill(ctx context.Context, server, uri string) (string, error) {
	s := m.find(server)
	if s == nil {
		return "", fmt.Errorf("%w: %q", ErrUnknown, server)
	}
	client, err := s.ensure(ctx)
	if err != nil {
		return "", err
	}
	list, err := s.skills(ctx, client)
	if err != nil {
		return "", s.explain(err)
	}
	for _, skill := range list {
		if skill.URI != uri {
			continue
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
