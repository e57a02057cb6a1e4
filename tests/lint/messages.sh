#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The table of messages and the tests that use it fit: no key is missing, no line is left over. Prints TAP.
#
# `messages.sh --tree DIR` only looks at the tests below DIR, and prints what is wrong: tests/lint/broken.sh.
. "$(dirname "$0")/../lib/tap.sh"

key='M_[A-Z0-9_]+' tab=$'\t'
table=tests/lib/messages

used() {
	find tests \( -path tests/lib -o -path tests/lint \) -prune -o -type f \( -name '*.sh' -o -name '*.[ch]' \) -exec grep -owhE "$key" {} + |
		sort -u
}

wrong() {
	local keys
	keys=$(sed -nE "s/^($key)${tab}.*/\1/p" $table | sort)
	comm -13 <(sort -u <<<"$keys") <(used) | sed "s,\$,: is used by a test and not in $table,"
	comm -23 <(sort -u <<<"$keys") <(used) | sed "s,^,$table: no test uses ,"
	uniq -d <<<"$keys" | sed "s,^,$table: twice: ,"
	grep -nvE "^($key${tab}[^$tab]+|#.*|)\$" $table | sed "s,^,$table: neither key and text nor a comment: ,"
	cut -f 2 $table | grep -v '^#' | sort | uniq -d | grep . | sed "s,^,$table: one text under two keys: ,"
}

if [ "${1:-}" = --tree ]; then
	cd "$2" && wrong
	exit
fi

cd "$srcdir" || exit 1
nothing "each message that a test looks for is in the table, and each that is there is looked for" "$(wrong)"
nothing "each refusal that a test looks for is in doc/troubleshooting.md" "$(python3 tests/lint/refusals.py tested 2>&1)"
nothing "each that the sources of the start's path can print is in it, too" "$(python3 tests/lint/refusals.py 2>&1)"
tap_done
