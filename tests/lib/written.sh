# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests that compare what a command prints with what a document shows of it. Sourced after cli.sh.

# general: without what differs between two calls and two machines; what a page leaves out, with "...", is any text.
general() {
	sed -E 's/ +#( .*)?$//; s/20[0-9]{2}-[0-9T:-]+Z/TIME/g; s/\([0-9]+[smhd]\)/(AGE)/; s/ +[0-9]+[smhd]( +|$)/ AGE /
		s/process [0-9]+/process N/; s/(,| ) TU104GL \[Tesla T4\]//; s/^[0-9]+ create/N create/; s/^[^ ]*: line [0-9]+: /bash: /; s/ +$//'
}
# as_written SENTENCE OUTPUT WRITTEN: the output is that of the page.
as_written() {
	local got written pattern tap_quoted
	got=$(general <<<"$2") written=$(general <<<"$3" | sed -E 's/([0-9a-f]{4,8}-?|\<)\.\.\.(,| |$)/LEFT OUT\2/')
	tap_literal "$written"
	pattern=${tap_quoted//LEFT OUT/*}
	like "$got" "$pattern" "$1"
}
