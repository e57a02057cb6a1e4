# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# TAP for tests in bash, as tests/lib/tap.h for those in C. Sourced. A test reads as a sentence:
#
#     holds "the edited configuration stays" grep -q edited "$conf"
#
# Each script ends with tap_done. What a program says is looked up in a table: see messages.sh. Called by hand, from any
# directory, a test finds its tree, built in build/: $srcdir and $builddir, unless they are in the environment.
set -u
export LC_ALL=C

# shellcheck source=tests/lib/messages.sh
. "${BASH_SOURCE[0]%/*}/messages.sh"

export srcdir=${srcdir:-$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)}
export builddir=${builddir:-$srcdir/build}

tap_run=0 tap_failed=0 tap_todo=

# skip_all REASON: nothing of this test can be run here; with MUST_WORK=1 that is a failure.
skip_all() {
	[ "${MUST_WORK:-0}" != 1 ] || { echo "Bail out! $1"; exit 1; }
	echo "1..0 # SKIP $1"
	exit 0
}

# needs PROGRAM...: what this test calls; one below $builddir/tests is a helper, which only `make check TESTS=...` builds.
needs() {
	local program
	for program; do
		command -v "$program" >/dev/null && continue
		[[ $program != "$builddir"/* ]] || skip_all "${program#"$builddir/"} is needed: call this test by make check TESTS=..."
		skip_all "$program is needed"
	done
}

# awaits REASON SENTENCE...: the sentence, `holds ...` or another, is expected not to be true yet. It is reported as such; if
# it is, that fails, so that somebody notices.
awaits() {
	local tap_todo=" # TO""DO $1" failed=$tap_failed
	shift
	if "$@"; then
		tap_failed=$((tap_failed + 1))
	else
		tap_failed=$failed
	fi
}

# The verdict on one sentence: status 0 or not, and what is shown where it is not, with the lines that led there.
tap_verdict() {
	local at='' i
	tap_run=$((tap_run + 1))
	if [ "$1" = 0 ]; then
		printf 'ok %d - %s%s\n' "$tap_run" "$2" "$tap_todo"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s%s\n' "$tap_run" "$2" "$tap_todo"
	for ((i = ${#FUNCNAME[@]} - 1; i > 0; i--)); do
		[ "${BASH_SOURCE[i]}" = "${BASH_SOURCE[0]}" ] || at+=" ${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}"
	done
	[ -z "$at" ] || echo "# failed at$at"
	[ -z "$3" ] || printf '%s\n' "$3" | head -n 60 | sed 's/^/# /'
	return 1
}

# holds SENTENCE COMMAND...: the command succeeds. What it prints is shown where it does not.
holds() {
	local sentence=$1 tap_said tap_status=0
	shift

	tap_said=$("$@" 2>&1) || tap_status=$?
	tap_verdict $tap_status "$sentence" "$tap_said"
}

# fails SENTENCE COMMAND...: the command does not succeed.
fails() {
	local tap_said tap_status=1
	tap_said=$("${@:2}" 2>&1) || tap_status=0
	tap_verdict $tap_status "$1" "$tap_said"
}

# tap_split WORD...: the words before the first -- in $tap_before, those behind it in $tap_behind.
tap_split() {
	tap_before=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do tap_before+=("$1") && shift; done
	tap_behind=("${@:2}")
}

# reports SENTENCE COMMAND... -- KEY [ARG...] [-- KEY...]: what the command prints, kept in $said, holds the message.
reports() {
	tap_split "$@"
	said=$("${tap_before[@]:1}" 2>&1)
	holds "$1" says "${tap_behind[@]}" <<<"$said"
}

# refuses SENTENCE COMMAND... -- KEY [ARG...] [-- KEY...]: the command does not succeed, and prints the message; it is kept in $said.
refuses() {
	local status=0
	tap_split "$@"
	said=$("${tap_before[@]:1}" 2>&1) || status=$?
	tap_verdict $((status == 0)) "$1" "$said"
	holds "$1, and why" says "${tap_behind[@]}" <<<"$said"
}

# nothing SENTENCE TEXT: the text, which lists what is wrong, is empty.
nothing() { tap_verdict "${#2}" "$1" "$2"; }

# is GOT EXPECTED SENTENCE
is() {
	local status=0
	[ "$1" = "$2" ] || status=1
	tap_verdict $status "$3" "got:  $1"$'\n'"expected: $2"
}

# like TEXT PATTERN SENTENCE: the text matches the pattern of bash.
like() {
	local status=0
	# shellcheck disable=SC2053 # A pattern it is.
	[[ $1 == $2 ]] || status=1
	tap_verdict $status "$3" "got:  $1"$'\n'"like: $2"
}

# prints TEXT COMMAND...: the command prints this.
prints() { [ "$("${@:2}")" = "$1" ]; }

# in_words COMMAND... WORDS: the command, whose last arguments are these words.
in_words() {
	local words
	read -ra words <<<"${!#}"
	"${@:1:$#-1}" "${words[@]}"
}

# put TEXT FILE: one write; prints "ok" or what the system says of it.
put() {
	local said
	if said=$( (printf '%s' "$1" >"$2") 2>&1); then echo ok; else echo "${said##*: }"; fi
}

tap_done() {
	! declare -F json_fits >/dev/null || json_fits
	echo "1..$tap_run"
	[ $tap_failed = 0 ]
}
