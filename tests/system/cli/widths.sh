#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the commands print on terminals of 80, 60 and 40 columns: no word is broken at the edge, no line ends in blanks, nothing
# is left out of a text, and what is no terminal gets each line whole.
. "$(dirname "$0")/../../lib/cli.sh"
. "$(dirname "$0")/../../lib/journal.sh"
shopt -s extglob

# Its root is part of what is printed.
cd "$work" || exit 1
host t4:3+a40/2+mtty 'nvidia-222@0000:84:00.0, 0000:99:00.0' 'max_instances = 2' mtty-2@mtty_mtty
start_journal
for n in 1 2; do call prepare begin $n nvidia-222; done
call prepare begin 3 nvidia-222 2>/dev/null
runs 1
runs 2
create 0000:85:00.0 nvidia-223 9
create 0000:85:00.0 nvidia-223 8
domain 3 "$(uuid 3)" nvidia-222 >"$tmp/full.xml"
domain 4 "$(uuid 4)" mtty-2 >"$tmp/fits.xml"
# The running domain vm1 has a vGPU that nobody has leased, and not its own.
test_node 1 "$(mdev_hostdev "$(uuid 9)")" >"$tmp/node.xml"
holds "what happened arrives" eventually arrived refused 1
holds "and becomes a journal" publish

# on WIDTH ARGUMENT...: what stays of what the command prints on such a terminal, both streams.
on() {
	on_terminal "$1" env LC_ALL=C.UTF-8 TERM=dumb "$builddir/vgpu-lease" --root host "${@:2}" | sed 's/.*\r//'
}
# broken WIDTH: the lines of standard input that the terminal would break, or that end in blanks; a word alone on its line
# cannot be helped.
broken() {
	local LC_ALL=C.UTF-8 line text words
	while IFS= read -r line || [ -n "$line" ]; do
		text=${line##*([ │├└─])}
		read -ra words <<<"${text%%*([ │├└─])}"
		if [[ $line == *' ' ]] || { [ ${#line} -gt "$1" ] && [ ${#words[@]} -gt 1 ]; }; then printf '%s|\n' "$line"; fi
	done
}
# words: those of standard input. The margin of the status has lines.
words() { sed -E 's/\b[0-9]+s\b/AGE/g' | tr -s ' │├└─\r\n' '\n'; }

# fit SENTENCE ARGUMENT...: what this command prints fits, and has the words that it has without a terminal.
fit() {
	local width whole
	whole=$(vgpu_lease --root host "${@:2}" 2>&1)
	for width in 80 60 40; do
		said=$(on $width "${@:2}")
		nothing "$1: $width columns" "$(broken $width <<<"$said")"
		is "$(words <<<"$said")" "$(words <<<"$whole")" "$1: all of it is there"
	done
}
# fit_table SENTENCE ARGUMENT...: of a table, columns that matter less are left out.
fit_table() {
	local width
	for width in 80 60 40; do nothing "$1: $width columns" "$(on $width "${@:2}" | broken $width)"; done
}
# wraps: the last one had a line that goes on below.
wraps() { grep -q '^    ' <<<"$said"; }

fit "log" log
holds "its lines go on below" wraps
said=$(on 80 log)
holds "behind their messages, where there is space for them" grep -qE '^ {33}[^ ]' <<<"$said"
vl_makes "each event is one line for a script" "0 0" "grep -cv '^20'" log

fit_table "show of a vGPU" show "$(uuid 1)"
fit_table "show of a pGPU" show 0000:84:00.0
fit_table "show of a domain" show vm1 --connect "test://$tmp/node.xml"
vl_counts "each difference is one line for a script" "1 3" "^($(uuid 1)|$(uuid 9)): " show vm1 --connect "test://$tmp/node.xml"
fit "plan" plan "$tmp/fits.xml"
holds "its lines go on below" wraps
fit "plan of a domain that would be refused" plan "$tmp/full.xml"
vl plan "$tmp/full.xml"
is "$(wc -l <<<"$err")" 1 "the error is one line for a script"
fit_table "gc" gc --dry-run
fit_table "gc with columns that are asked for" gc --dry-run -o id,domain,pgpu,reason
for command in inventory list types status; do fit_table "$command" $command; done
fit "check" check
fit "release" release --dry-run "$(uuid 1)"
fit "an error" release --dry-run "$(uuid 7)"
fit "a usage error" list --state sleeping
fit "an error with a list" types --type 'GRID T4-9X'
sed -i 's/^max_instances.*/max_instances = many/' "$root/etc/vgpu-lease.conf"
fit "a warning" log vm1
fit_table "the warning of a wrong configuration" types --type nvidia-222
fit_table "status with one" status

# The tree: each word of it is there, but for its lines and bars, and what goes on below stands under its text.
tree_words() {
	sed -E ':again; s/[│├└─█░●]+/ /g; s/(^|[ |])([-|`]+|[#.*]+)( |\r|$)/ \3/g; t again' | tr -s ' \r\n' '\n' | grep .
}
new_host t4:3+a40/2+mtty 'nvidia-222@0000:84:00.0, 0000:99:00.0' mtty-2@mtty_mtty
whole=$(vgpu_lease --root host status)
for width in 80 60 40; do
	said=$(on $width status)
	is "$(tree_words <<<"$said")" "$(tree_words <<<"$whole")" "status leaves out nothing: $width columns"
	nothing "and what is below the last pGPU stands under its text: $width columns" \
		"$(sed -n '/└─/,$p' <<<"$said" | grep -E '^ {1,5}[^ ]')"
done

name=$(printf 'vm-%.0s' {1..30})
domain 5 "$(uuid 5)" nvidia-222 | sed "s/<name>.*</<name>$name</" >"$tmp/long.xml"
configure nvidia-222
hook "$name" prepare begin - <"$tmp/long.xml"
fit_table "status with a long name" status
fit_table "list with a long name" list
fit_table "gc with a long name" gc --dry-run
said=$(on 40 show "$(uuid 5)")
like "$said" "*domain"$'\n    '"$name"$'\n*' "a name that does not fit behind its key stands below it"
nothing "and no line ends in blanks" "$(grep ' $' <<<"$said")"
tap_done
