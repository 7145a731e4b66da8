#!/bin/sh
# Runs every test function of tests/test_*.sh and says how many passed.
set -u
cd "$(dirname -- "$0")/.." || exit 1
passed=0
failed=0
for file in tests/test_*.sh; do
	for name in $(sed -n 's/^\(test_[a-z_]*\)().*/\1/p' "$file"); do
		NOTES_FILE=$(mktemp)
		export NOTES_FILE
		if out=$(sh -euc '. ./lib/notes.sh; . "./$1"; "$2"' sh "$file" "$name" 2>&1); then
			passed=$((passed + 1))
			echo "ok    $name"
		else
			failed=$((failed + 1))
			echo "FAIL  $name"
			[ -z "$out" ] || echo "$out" | sed 's/^/      /'
		fi
		rm -f "$NOTES_FILE"
	done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
