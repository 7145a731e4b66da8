package main

// turn is one answer of the recorded model. Turns with the same step are
// alternatives: the first whose When fits the request is played.
type turn struct {
	Step int
	When *when
	Goto int
	Say  string
	Call []call
}

type when struct {
	Tools        *bool  `json:"tools,omitempty"`
	LastContains string `json:"last_contains,omitempty"`
}

type call struct {
	Name string
	Args map[string]any
}

const (
	stepComment  = 40 // the plan was sent back
	stepStop     = 50 // a change that others build on was rejected
	stepReadme   = 60 // the README change was rejected
	stepExecute  = 10
	rejected     = "rejected"
	planApproved = "approved"
)

func last(text string) *when { return &when{LastContains: text} }

func run(command string) call {
	return call{"run_in_sandbox", map[string]any{"command": command}}
}

func task(id, status string) call {
	return call{"update_task", map[string]any{"task_id": id, "status": status}}
}

func edit(path, old, now, intent string) call {
	return call{"edit_file", map[string]any{"path": path, "old_string": old, "new_string": now, "intent": intent}}
}

func read(path string) call {
	return call{"read_file", map[string]any{"path": path}}
}

func doc(document, content string) call {
	return call{"write_spec", map[string]any{"document": document, "content": content}}
}

const tests = "sh tests/run.sh"

// script is the session: planning, then one task after the other.
func script() []turn {
	all := append(planning(), execution()...)
	return append(all, detours()...)
}

func planning() []turn {
	return []turn{
		{Step: 1, Say: "I'll look at the project before I plan anything.", Call: []call{
			{"tree", map[string]any{}}, read("AGENTS.md"), read("lib/notes.sh"), read("bin/notes"),
		}},
		{Step: 2, Say: "The functions are in `lib/notes.sh`, the command only reads arguments. Let me see how it is tested, and that the tests pass now.", Call: []call{
			read("tests/test_notes.sh"), read("README.md"), run(tests),
		}},
		{Step: 3, Say: "All three tests pass. One thing your request leaves open:", Call: []call{
			{"ask_review", map[string]any{
				"question": "When nothing matches, how should `notes search` end?",
				"options":  []string{"Print nothing and exit with 1, as grep does", "Say \"no notes match\" and exit with 0"},
			}},
		}},
		{Step: 4, Say: "Then I'll write the plan.", Call: []call{
			{"create_spec", map[string]any{"title": "Search notes", "goal": "Find notes by a word, whatever its case", "size": "full"}},
		}},
		{Step: 5, Call: []call{doc("requirements", requirements)}},
		{Step: 6, Call: []call{doc("design", design)}},
		{Step: 7, Call: []call{doc("tasks", tasks)}},
		{Step: 8, Goto: 9, Say: "The plan is ready: one function, one command, one paragraph of documentation, each with its proof. **Nothing is written until you approve it.**"},
		{Step: 9, When: last(planApproved), Goto: stepExecute + 1, Say: "The plan is approved. I'll start with the tests.", Call: firstTask()},
		{Step: 9, Goto: stepComment, Say: commented},
	}
}

const commented = "This is a recording, so it cannot act on a comment the way a model would. " +
	"You can edit the three documents yourself: the plan is shown again with your changes, and its hash with it. Then approve it, and the recording goes on."

func firstTask() []call {
	return []call{task("T001", "in_progress"), edit("tests/test_notes.sh", oldTest, newTest, "State what search must do before it exists")}
}

func execution() []turn {
	return []turn{
		{Step: 11, When: last(rejected), Goto: stepStop},
		{Step: 11, Say: "The new tests must fail now, or they prove nothing.", Call: []call{run(tests)}},
		{Step: 12, Say: "They fail, as they should. Now the function.", Call: []call{edit("lib/notes.sh", oldLib, newLib, "Find notes by a word, ignoring case")}},
		{Step: 13, When: last(rejected), Goto: stepStop},
		{Step: 13, Call: []call{run(tests)}},
		{Step: 14, Say: "Green. That proves the first task; on to the command.", Call: []call{task("T001", "done"), task("T002", "in_progress"), edit("bin/notes", oldUsage, newUsage, "Offer search on the command line")}},
		{Step: 15, When: last(rejected), Goto: stepStop},
		{Step: 15, Call: []call{run("export NOTES_FILE=$(mktemp)\nbin/notes add 'Buy Milk' && bin/notes add 'Call Ada' && bin/notes search milk")}},
		{Step: 16, Call: []call{task("T002", "done"), task("T003", "in_progress"), edit("README.md", oldReadme, newReadme, "Show search where add and list are shown")}},
		{Step: 17, When: last(rejected), Goto: stepReadme},
		{Step: 17, Call: []call{run("grep -n 'notes search' README.md && " + tests)}},
		{Step: 18, Call: []call{task("T003", "done")}},
		{Step: 19, Call: []call{{"finish", map[string]any{"summary": "`notes search WORD` finds notes in any case, keeps their numbers and exits with 1 when nothing matches. Five tests pass; the README shows the command."}}}},
	}
}

// detours are what the recording does when a person decides otherwise.
func detours() []turn {
	no := false
	return []turn{
		{Step: stepComment, When: last(planApproved), Goto: stepExecute + 1, Say: "Thank you. I'll start with the tests.", Call: firstTask()},
		{Step: stepComment, Goto: stepComment, Say: commented},
		{Step: stepStop, Say: "You rejected a change that the rest of the plan builds on, so I stop here. Nothing of it was written.", Call: []call{
			{"finish", map[string]any{"summary": "Stopped: a change that the plan builds on was rejected."}},
		}},
		{Step: stepStop + 1, Goto: stepStop + 1, Say: "The recording ends here. A model would ask what to do instead."},
		{Step: stepReadme, Say: "Then a shorter one, beside the other examples only.", Call: []call{
			edit("README.md", "    bin/notes list\n", "    bin/notes list\n    bin/notes search milk\n", "Show search in one line"),
		}},
		{Step: stepReadme + 1, When: last(rejected), Goto: stepReadme + 3},
		{Step: stepReadme + 1, Goto: 18, Call: []call{run("grep -n 'notes search' README.md && " + tests)}},
		{Step: stepReadme + 3, Goto: 19, Say: "The README stays as it is.", Call: []call{
			{"update_task", map[string]any{"task_id": "T003", "status": "blocked", "notes": "The person wants the README as it is."}},
		}},
		// The verifier's calls have no tools.
		{When: &when{Tools: &no}, Say: `{"verdict":"accept","reason":"The change does what its intent says and no more."}`},
	}
}
