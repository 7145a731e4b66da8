# Functions of notes. Each note is one line of $NOTES_FILE.

notes_file() {
	printf '%s\n' "${NOTES_FILE:-$HOME/.notes}"
}

# notes_add TEXT: append one note.
notes_add() {
	if [ -z "$1" ]; then
		echo "notes: nothing to add" >&2
		return 1
	fi
	printf '%s\n' "$1" >>"$(notes_file)"
}

# notes_list: print all notes with their numbers.
notes_list() {
	if [ ! -s "$(notes_file)" ]; then
		echo "no notes yet"
		return 0
	fi
	awk '{ printf "%d. %s\n", NR, $0 }' "$(notes_file)"
}
