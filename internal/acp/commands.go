package acp

import "github.com/coderrr/coderrr/internal/slash"

// commands are those with a slash that make sense where an editor has its own
// ways for the others. None of them decides anything.
func commands() []availableCommand {
	var out []availableCommand
	for _, name := range []string{"ask", "init"} {
		c, ok := slash.Find(name, slash.Prompt)
		if !ok {
			continue
		}
		a := availableCommand{Name: c.Name, Description: c.Help}
		if c.Args != "" {
			a.Input = &commandInput{Hint: c.Args}
		}
		out = append(out, a)
	}
	return out
}

// command does what a prompt with a slash says: it returns the request that is meant
// and whether it is only talk. Every other prompt is a request as it stands.
func command(request string, readOnly bool) (string, bool, error) {
	name, args, ok := slash.Split(request)
	if !ok {
		return request, readOnly, nil
	}
	switch c, _ := slash.Find(name, slash.Prompt); c.Name {
	case "ask":
		if args == "" {
			return "", false, fault(codeInvalidParams, "/ask needs a question")
		}
		return args, true, nil
	case "init":
		return slash.InitRequest, readOnly, nil
	}
	return request, readOnly, nil
}
