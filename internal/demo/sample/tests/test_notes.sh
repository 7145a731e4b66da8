# Tests of lib/notes.sh. A test fails when a command in it fails.

equal() {
	[ "$1" = "$2" ] || {
		echo "expected: $2"
		echo "got:      $1"
		return 1
	}
}

test_list_without_notes() {
	equal "$(notes_list)" "no notes yet"
}

test_add_and_list() {
	notes_add "Buy milk"
	notes_add "Call Ada"
	equal "$(notes_list)" "1. Buy milk
2. Call Ada"
}

test_add_refuses_nothing() {
	! notes_add "" 2>/dev/null
}
