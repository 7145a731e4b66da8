package sys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/tools"
)

// Network remembers that a person allowed commands the network for the whole
// session. The zero Network allows nothing.
type Network struct{ allowed atomic.Bool }

// risk is what a person should know before saying yes.
const risk = "With the network it can fetch and run code, send out what it can read, and reach servers on this machine. " +
	"It runs again on a copy; your files stay as they are."

// run runs a command, and once more with the network when it seems to have
// failed for lack of it and a person allows that. note says so to the model.
func (d Deps) run(ctx context.Context, call tools.Call, cmd sandbox.Command) (res sandbox.Result, note string, err error) {
	const online = "[The person allowed the network for this command.]\n"
	open := d.Sandbox.Info().Network
	cmd.Network = !open && d.Network.allowed.Load()
	res, err = d.Sandbox.Run(ctx, cmd)
	switch {
	case err != nil || open:
		return res, "", err
	case cmd.Network:
		return res, online, nil
	case !res.NetworkDenied:
		return res, "", nil
	}
	a, err := d.Asker.Ask(ctx, wantsNetwork(call.ID, cmd.Line))
	if ctx.Err() != nil {
		return res, "", ctx.Err()
	}
	switch {
	case err != nil: // nobody to ask is a no
		return res, "[Nobody allowed the network for this command. Go on without it.]\n", nil
	case a.Choice == ask.Always:
		d.Network.allowed.Store(true)
	case a.Choice != ask.AllowOnce:
		return res, "[The person did not allow the network for this command. Go on without it and do not try again.]\n", nil
	}
	call.Output("stderr", "\n[once more, with the network]\n")
	cmd.Network = true
	res, err = d.Sandbox.Run(ctx, cmd)
	return res, online, err
}

// wantsNetwork is the question. Its hash binds the answer to the whole command,
// of which the prompt may show less.
func wantsNetwork(call, line string) ask.Question {
	sum := sha256.Sum256([]byte(line))
	detail, _ := json.Marshal(clean(line, maxQuestion) + "\n\n" + risk) // a string always can
	return ask.Question{
		ID: "network-" + call, Kind: ask.Network, About: call, Detail: detail, Hash: hex.EncodeToString(sum[:]),
		Prompt: "`" + clean(oneLine(line), maxQuestion) + "` wants the network.",
		Choices: []ask.Choice{
			{ID: ask.AllowOnce, Label: "Allow once"},
			{ID: ask.Always, Label: "Allow for this session", Danger: true},
			{ID: ask.DenyIt, Label: "No"},
		},
	}
}
