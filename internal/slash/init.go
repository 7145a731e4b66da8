package slash

// InitRequest is what /init asks for; it is planned and approved as any request.
const InitRequest = "Write an AGENTS.md at the root of this project for coding agents, or improve the one that is there: " +
	"how to build, test and lint it with the commands that really exist here, how the code is laid out, and the conventions that a reader cannot guess. " +
	"Look at the project first and state nothing that you did not find. Keep it under 150 lines."
