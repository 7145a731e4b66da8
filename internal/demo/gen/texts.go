package main

const requirements = `# Requirements: Search notes

Notes can be added and listed, but not found again once there are many.

- **R1** ` + "`notes search WORD`" + ` prints every note that holds WORD.
- **R2** Upper and lower case are the same.
- **R3** Each note keeps the number that ` + "`notes list`" + ` gives it.
- **R4** When nothing matches, nothing is printed and the exit code is 1.

## Out of scope

- Patterns: WORD is plain text.
`

const design = `# Design: Search notes

` + "`notes_search`" + ` joins the functions in ` + "`lib/notes.sh`" + `. It uses one ` + "`awk`" + ` call, like ` + "`notes_list`" + `:

` + "```sh" + `
NEEDLE=$1 awk 'index(tolower($0), tolower(ENVIRON["NEEDLE"])) { printf "%d. %s\n", NR, $0 }'
` + "```" + `

The word goes through the environment and not into the program, so that a note can
hold any character. ` + "`bin/notes`" + ` only gains a case and a usage line.
`

const tasks = `# Tasks: Search notes

## T001: Find notes by a word
- **status**: pending
- **files**: ` + "`tests/test_notes.sh`, `lib/notes.sh`" + `
- **depends**: none
- **acceptance**: the new tests fail before the function exists and pass after

## T002: Offer it as a command
- **status**: pending
- **files**: ` + "`bin/notes`" + `
- **depends**: T001
- **acceptance**: ` + "`notes search milk`" + ` finds "Buy Milk"

## T003: Document it
- **status**: pending
- **files**: ` + "`README.md`" + `
- **depends**: T002
- **acceptance**: the README shows the command, and all tests pass
`

const oldTest = `test_add_refuses_nothing() {
	! notes_add "" 2>/dev/null
}
`

const newTest = oldTest + `
test_search_ignores_case() {
	notes_add "Buy Milk"
	notes_add "Call Ada"
	notes_add "More milk"
	equal "$(notes_search MILK)" "1. Buy Milk
3. More milk"
}

test_search_without_a_hit() {
	notes_add "Buy milk"
	! notes_search bread
}
`

const oldLib = `	awk '{ printf "%d. %s\n", NR, $0 }' "$(notes_file)"
}
`

const newLib = oldLib + `
# notes_search WORD: print the notes that hold WORD, in any case, with their
# numbers. It fails when there are none.
notes_search() {
	if [ -z "$1" ]; then
		echo "notes: nothing to search for" >&2
		return 1
	fi
	NEEDLE=$1 awk '
		index(tolower($0), tolower(ENVIRON["NEEDLE"])) {
			printf "%d. %s\n", NR, $0
			hit = 1
		}
		END { exit !hit }
	' "$(notes_file)"
}
`

const oldUsage = `	echo "       notes list"
}

case "${1:-}" in
add)
	shift
	notes_add "$*"
	;;
list)
	notes_list
	;;
`

const newUsage = `	echo "       notes list"
	echo "       notes search WORD"
}

case "${1:-}" in
add)
	shift
	notes_add "$*"
	;;
list)
	notes_list
	;;
search)
	shift
	notes_search "$*"
	;;
`

const oldReadme = `    bin/notes list

Notes are kept`

const newReadme = `    bin/notes list
    bin/notes search milk

` + "`search`" + ` finds a word in any case and exits with 1 when no note holds it.

Notes are kept`
