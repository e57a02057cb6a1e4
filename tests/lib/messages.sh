# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the programs say, by key: the wording of each message stands in the table `messages` beside this file, and in
# no test. Sourced by tap.sh.
#
#     holds "a second start is refused" says M_LEASED_TO "$uuid" vm2 <<<"$err"
#     holds "and why" says M_NO_CAPACITY nvidia-222 -- M_FULL 16 16 <<<"$err"     both on one line, in this order
#     is "$err" "$(message M_LEASED_TO "$uuid" vm2)" "in exactly these words"
#
# A key that is not in the table, or more arguments than its text has gaps, ends the test. The table has the commands that a
# message advises as on a real host; on the simulated host in $root they have --root, or --config.

declare -A tap_messages
while IFS=$'\t' read -r tap_key tap_text; do
	case $tap_key in
	'' | '#'*) ;;
	*) tap_messages[$tap_key]=$tap_text ;;
	esac
done <"${BASH_SOURCE[0]%/*}/messages"

# Also where this is a subshell, whose output is somebody's variable.
tap_bail_out() {
	printf 'Bail out! %s\n' "$1" >>"/proc/$$/fd/1"
	kill "$$"
	return 1
}

# tap_literal TEXT: as a pattern that matches it alone, in $tap_quoted.
tap_literal() {
	tap_quoted=${1//\\/\\\\}
	tap_quoted=${tap_quoted//'*'/\\*}
	tap_quoted=${tap_quoted//'?'/\\?}
	tap_quoted=${tap_quoted//'['/\\[}
	tap_quoted=${tap_quoted//'('/\\(}
	tap_quoted=${tap_quoted//"'vgpu-lease "/"'vgpu-lease "?(--root +([! ]) )?(--config +([! ]) )}
}

# tap_fill text|pattern KEY [ARG...]: the message in $tap_filled.
tap_fill() {
	local form=$1 key=$2 rest piece tap_quoted
	[ -n "${tap_messages[$key]+known}" ] || { tap_bail_out "no message is called '$key'" || return; }
	rest=${tap_messages[$key]} tap_filled=
	[ "$form" = pattern ] || rest=${rest//"'vgpu-lease "/"'vgpu-lease ${root:+--root $root }"}
	shift 2
	while [[ $rest == *%s* ]]; do
		piece=${rest%%'%s'*} rest=${rest#*'%s'}
		if [ "$form" = text ]; then
			[ $# -gt 0 ] || { tap_bail_out "$key: a gap without its argument" || return; }
			tap_filled+=$piece$1
		else
			tap_literal "$piece"
			tap_filled+=$tap_quoted
			tap_literal "${1-*}"
			[ "${1-*}" != '*' ] || tap_quoted='*'
			tap_filled+=$tap_quoted
		fi
		[ $# = 0 ] || shift
	done
	[ $# = 0 ] || { tap_bail_out "$key: no gap for '$1'" || return; }
	tap_literal "$rest"
	[ "$form" = pattern ] || tap_quoted=$rest
	tap_filled+=$tap_quoted
}

# message KEY [ARG...]: prints the message, an argument for each gap.
message() { tap_fill text "$@" && printf '%s\n' "$tap_filled"; }

# says_times KEY [ARG...] [-- KEY [ARG...]]...: prints how many lines of standard input hold the message, or all of them in
# this order. A gap whose argument is missing, or '*', holds anything.
says_times() {
	local line tap_filled tap_before tap_behind times=0 pattern='*'
	while [ $# -gt 0 ]; do
		tap_split "$@"
		tap_fill pattern "${tap_before[@]}" || return
		pattern+=$tap_filled'*'
		set -- "${tap_behind[@]}"
	done
	while IFS= read -r line || [ -n "$line" ]; do
		# shellcheck disable=SC2053 # A pattern it is.
		[[ $line != $pattern ]] || times=$((times + 1))
	done
	echo $times
}

# says KEY [ARG...] [-- KEY [ARG...]]...: a line of standard input holds the message, or all of them in this order.
says() {
	local text key
	text=$(cat)
	[ "$(says_times "$@" <<<"$text")" = 0 ] || return 0
	printf 'got:  %s\nexpected: %s\n' "$text" "$*"
	for key; do [ -z "${tap_messages[$key]-}" ] || printf '%s: %s\n' "$key" "${tap_messages[$key]}"; done
	return 1
}
