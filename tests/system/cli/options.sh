#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command line: options on both sides of the sub-command, help, usage errors. And the schemas of what --json prints.
. "$(dirname "$0")/../../lib/cli.sh"
host mtty mtty-1

# usage SENTENCE KEY [ARG...] -- ARGUMENT...: refused, with that command's help, or that of all where the word is none.
usage() {
	local of
	tap_split "$@"
	for of in "${tap_behind[@]}"; do [ "$of" = help ] || break; done
	case $of in frobnicate | lists | nothing) of='' ;; *) of=" $of" ;; esac
	vl_is "$1" "2||$(message M_USAGE "$(message "${tap_before[@]:1}")" "$of")" "${tap_behind[@]}"
}

usage "an unknown command is a usage error" M_UNKNOWN_COMMAND frobnicate -- frobnicate
usage "one that is nearly a command" M_SIMILAR_COMMAND lists list -- lists
usage "an unknown option" M_UNKNOWN_OPTION --colour -- list --colour
usage "one that is nearly an option" M_SIMILAR_OPTION --jsno --json -- list --jsno
usage "an option of another command" M_OPTION_NOT_TAKEN list --dry-run -- list --dry-run
usage "an option without its value" M_NO_VALUE --config FILE -- list --config
usage "an option with a value that takes none" M_VALUE_NOT_TAKEN --json -- list --json=yes
usage "a word too many" M_EXTRA_WORD list x -- list x
vl_is "one too many behind help" "2||$(message M_USAGE "$(message M_EXTRA_ARGUMENT x)" " list")" help list x
usage "a file that is missing" M_NEEDS_OPERAND plan FILE -- plan
usage "two files" M_EXTRA_WORD rewrite b -- rewrite a b
usage "an operation that libvirt does not have" M_BAD_OP start -- plan --op start x
usage "a type that is none" M_BAD_TYPE ../x -- gc --type ../x
usage "an ID that is none" M_BAD_ID ../x -- release ../x
usage "standard input cannot be edited in place" M_STDIN_IN_PLACE -- rewrite --in-place -
usage "a command that this version does not have" M_UNKNOWN_COMMAND frobnicate -- frobnicate placement

usage "a column that a table does not have" M_BAD_COLUMN pgpus "ID, TYPE, PARENT, STATE, ORIGIN, AGE, DOMAIN, INSTANCE, NOTE, PGPU, NUMA, MIB, FRAMEWORK, PROJECT, SINCE" -- list -o id,pgpus
usage "one twice" M_COLUMN_TWICE id -- list --output=id,id
usage "none" M_BAD_COLUMN "" "ID, TYPE, PARENT, STATE, ORIGIN, AGE, DOMAIN, INSTANCE, NOTE, PGPU, NUMA, MIB, FRAMEWORK, PROJECT, SINCE" -- list -o ,
usage "an empty name among others" M_BAD_COLUMN "" "ID, TYPE, PARENT, STATE, ORIGIN, AGE, DOMAIN, INSTANCE, NOTE, PGPU, NUMA, MIB, FRAMEWORK, PROJECT, SINCE" -- list -o ID,,TYPE
usage "a column to sort by that it does not have" M_BAD_COLUMN x "ID, TYPE, PARENT, LIBVIRT, LEASE, ORIGIN, KERNEL, OPEN, OWNER" -- show --sort x vm
usage "a state that is none" M_BAD_STATE running -- list --state running
usage "a card to filter by that is none" M_BAD_PGPU ../x -- inventory --pgpu ../x
usage "a type to filter by that is none" M_BAD_TYPE ../x -- types --type ../x
usage "-o without its value" M_NO_VALUE --output COLUMNS -- list -o
usage "-o with a command that has no table" M_OPTION_NOT_TAKEN check --output -- check -o id
usage "an address as lspci has it" M_BAD_PGPU_SHORT 84:00.0 0000:84:00.0 -- retype 84:00.0 mtty-1
usage "a card that is none" M_BAD_PGPU ../x -- retype ../x mtty-1
usage "a type to attach that is none" M_BAD_TYPE ../x -- attach vm --type ../x
usage "a type that is none, of a card" M_BAD_TYPE a/b -- retype mtty a/b
usage "an ID to detach that is none" M_BAD_ID x -- detach vm x
for call in "release ID" "plan FILE" "rewrite FILE|DOMAIN" "show OBJECT" "attach DOMAIN" "suspend DOMAIN" "resume DOMAIN"; do
	usage "${call% *} without a name" M_OPERAND_EMPTY "${call% *}" "${call#* }" -- "${call% *}" ''
done
usage "a second operand without one" M_OPERAND_EMPTY detach ID -- detach vm ''
for command in plan rewrite "rewrite --in-place"; do
	# shellcheck disable=SC2086 # The words of a command line.
	vl_fails "$command of a file that is not there" 2 $command "$tmp/none.xml" -- M_NO_SUCH_FILE "$tmp/none.xml"
	# shellcheck disable=SC2086
	vl_like "$command of a directory" "2||$(message M_PROGRAM "$tmp: *")" $command "$tmp"
done
holds "the manual has the table of exit statuses" test "$(sed -n '/^.Sh EXIT STATUS/,/^.Sh/p' "$srcdir/man/vgpu-lease.8" | grep -c '^.It [012]$')" = 3

json_error() { # SENTENCE STATUS PATTERN ARGUMENT...
	vl "${@:4}"
	like "$status|$(jq -r .error <<<"$out" 2>&1)" "$2|$3" "$1"
}
json_error "a file that is not there" 2 "$(message M_NO_SUCH_FILE "$tmp/none.xml")" plan --json "$tmp/none.xml"
json_error "a type that is none" 2 "invalid type *" gc --json --type ../x
json_error "a type that nobody knows" 1 "--type nvidia-999: *" gc --json --type nvidia-999
json_error "a domain that nobody knows" 1 "$(message M_SHOW_NOTHING vm)*" show --json vm
json_error "columns of JSON" 2 "$(message M_JSON_OR_TABLE)" list --json --sort id
echo '[nonsense' >"$tmp/wrong.conf"
for command in list types inventory gc; do
	json_error "a wrong configuration: $command" 0 "$tmp/wrong.conf:1: *" "$command" --json --config "$tmp/wrong.conf"
	like "$err" "$(message M_WARNING "$tmp/wrong.conf:1: *")" "and as a warning"
	vl "$command" --json
	fails "$command --json has no error where there is none" grep -q '"error": "' <<<"$out"
done

json_error "a wrong configuration: status" 0 "$tmp/wrong.conf:1: *" status --json --config "$tmp/wrong.conf"

command=$builddir/vgpu-lease
like "$("$command" --version)" "vgpu-lease [0-9]*.[0-9]*" "--version prints the version"
for program in vgpu-lease vgpu-leased vgpu-lease-sim hooks/qemu; do
	is "$("$builddir/$program" --version | sed -n 2p)" "$(grep -o '^Copyright ([^.]*' "$srcdir/README.md")" "and of $program the copyright notice, as README.md has it"
done
help=$("$command" --help)
# The command table, --help, the manual and the completion have the same commands and options.
# synopsis COMMAND: how the manual says that it is called, a word a line.
synopsis() {
	sed -n '/^.Sh SYNOPSIS/,/^.Sh DESCRIPTION/p' "$srcdir/man/vgpu-lease.8" |
		awk -v command="$1" '/^.(Nm|Sh)/ { on = 0 } on; $0 == ".Cm " command { on = 1 }' |
		sed -E 's/^.(Op )?(Fl -|Ar )?//; s/ Ar .*//' | sort
}
common=$(printf '%s\n' config help root version)
while read -r name operands; do
	text=$("$command" "$name" --help)
	known=$(grep -oE '^  --[a-z-]+' <<<"$text" | sed 's/^  --//' | sort)
	like "$text" "usage: vgpu-lease $name*Options:*--root DIR*" "$name --help says how it is called"
	holds "the manual has $name" grep -qx ".Ss $name" "$srcdir/man/vgpu-lease.8"
	is "$(synopsis "$name")" \
		"$({ comm -23 <(echo "$known") <(echo "$common"); xargs -n 1 <<<"${operands,,}" | tr -d "[]"; } | grep . | sort)" \
		"with its options and operands"
	holds "the completion has $name" grep -qE "^	local commands=\(.*\b$name\b" "$srcdir/etc/bash-completion/vgpu-lease"
	is "$(comm -12 <(echo "$known") <(echo "$common"))" "$common" "$name takes what all commands take"
	is "$("$command" --help "$name")" "$text" "--help may stand before $name"
	nothing "$name --help fits a terminal" "$(awk 'length > 80' <<<"$text")"
done < <(grep -E '^  [a-z]' <<<"$help" | sed -E 's/^  //; s/  .*//')
is "$(grep -cE '^  [a-z]' <<<"$help")" "$(sed -n '/^.Sh SYNOPSIS/,/^.Sh DESCRIPTION/p' "$srcdir/man/vgpu-lease.8" | grep -c '^.Cm')" \
	"each command of the manual is there"
pages=("$command:vgpu-lease.8" "$hook:vgpu-lease-hook.8" "$builddir/vgpu-leased:vgpu-leased.8" "$sim:vgpu-lease-sim.1")
for page in "${pages[@]}"; do
	for option in $("${page%:*}" --help | grep -oE '^  --[a-z-]+'); do
		holds "${page#*:} has $option" grep -qE "^.It Fl -${option#--}( |\$)" "$srcdir/man/${page#*:}"
	done
	nothing "${page##*/} --help fits a terminal" "$("${page%:*}" --help | awk 'length > 80')"
done
is "$("$command" -h)" "$help" "-h is --help"

like "$("$command" --root "$root" inventory)" "*mtty-1*" "--root stands before the command"
like "$("$command" inventory --root "$root")" "*mtty-1*" "or after it"
like "$("$command" inventory --root="$root")" "*mtty-1*" "or with an equals sign"
sed 's/mtty-1/mtty-2/' "$root/etc/vgpu-lease.conf" >"$tmp/other.conf"
vl_like "--config before the command, which is not below the root" "0|*mtty-2*|" --config "$tmp/other.conf" inventory
vl_like "or after it" "0|*mtty-2*|" inventory --config "$tmp/other.conf"
missing=$(message M_NO_SUCH_FILE "$tmp/no.conf")
vl_like "a command that is advised has it" "1|*'vgpu-lease --root $root --config $tmp/no.conf init --write'*|" check --config "$tmp/no.conf"
vl_like "one that is not there is told" "0|*|$(message M_WARNING "*$missing")" inventory --config "$tmp/no.conf"
vl_like "and a plan cannot do without" "1|*|$(message M_PROGRAM "*$missing")*" \
	plan --config "$tmp/no.conf" "$srcdir/xml-templates/domain-one-vgpu.xml"
is "$("$command" --root "$tmp/none" list 2>&1)" "$(message M_PROGRAM "$(message M_NO_SUCH_FILE "--root $tmp/none")")" \
	"a root that is not there is told"
domain 1 "$(uuid 1)" >"$tmp/--help"
is "$(cd "$tmp" && "$command" rewrite -- --help)" "$(cat "$tmp/--help")" "behind -- a file may be called like an option"
is "$("$command" --root "$root" list 2>&1 >/dev/full; echo $?)" \
	"$(message M_PROGRAM "$(message M_STDOUT_FULL)")"$'\n1' "what cannot be printed is a failure"
is "$("$builddir/vgpu-lease" help)" "$("$builddir/vgpu-lease" --help)" "help is --help"
is "$("$builddir/vgpu-lease" help gc)" "$("$builddir/vgpu-lease" gc --help)" "help COMMAND is COMMAND --help"
is "$("$builddir/vgpu-lease" help help)" "$("$builddir/vgpu-lease" help)" "help is a command, too"
usage "help of an unknown command" M_UNKNOWN_COMMAND nothing -- help nothing
usage "help of two commands" M_EXTRA_ARGUMENT list -- help gc list

### Closed standard descriptors
create mtty mtty-1 1
shown=$("$command" --root "$root" inventory)
is "$("$command" --root "$root" inventory 2>&1 <&-; echo $?)" "$shown"$'\n0' "a closed standard input changes nothing"
is "$("$command" --root "$root" inventory 2>&-; echo $?)" "$shown"$'\n0' "nor does a closed standard error"
is "$("$command" --root "$root" inventory 2>&1 >&-; echo $?)" "$(message M_PROGRAM "$(message M_STDOUT_CLOSED)")"$'\n1' \
	"a closed standard output is what cannot be printed to"

### schemas/: one for each command with --json, and what does not fit is found. Each test's JSON is compared (tests/lib/host.sh)
new_host t4:1 nvidia-222
commands=$("$builddir/vgpu-lease" help | awk '/^  [a-z]/ { print $1 }')
is "$(for command in $commands; do
	"$builddir/vgpu-lease" help "$command" | grep -q -- '^  --json ' && echo "$command.json"
done | sort)" "$(cd "$srcdir/schemas" && ls)" "each command that prints JSON has a schema"
nothing "each call with --json is made where its output is kept" \
	"$(grep -rnE 'builddir"?[}]?/vgpu-lease"?.* --json' "$srcdir/tests/system" "$srcdir/tests/model" | grep -vF "${BASH_SOURCE[0]##*/}")"

is "$(jq -r '.properties.checks.items.properties.what.enum[]' "$srcdir/schemas/check.json" | sort)" \
	"$(sed -nE 's/.*check_begin\(check, "([a-z]+)".*/\1/p' "$srcdir"/src/check/check*.c | sort -u)" "the schema of check has the subjects that check prints"

# How a document was changed, in jq's words, and what the schema has to say of that.
fits() { python3 "$srcdir/tests/lib/json_fits.py" "$srcdir/schemas" "$tmp/changed"; }
wrong() { jq "$2" <<<"$out" >"$tmp/changed/1"; like "$(fits)" "$3" "$1"; } # SENTENCE JQ COMPLAINT
mkdir "$tmp/changed"
printf '0\ninventory\n' >"$tmp/changed/1.call"
vl inventory --json
wrong "a document as it is printed fits" . ''
wrong "a member that nobody has written down is found" '.pgpus[0].types[0].extra = 1' "vgpu-lease inventory: \$.pgpus[[]0].types[[]0]: *'extra' was unexpected*"
wrong "so is one that is missing" 'del(.pgpus[0].numa_node)' "*: 'numa_node' is a required property"
wrong "one of another type" '.pgpus[0].vfs = "0"' "*.vfs: '0' is not of type *"
wrong "and a document without its list" 'del(.pgpus)' "*: * is not valid under any of the given schemas"
: >"$tmp/changed/1"
like "$(fits)" "vgpu-lease inventory: not JSON: *" "nothing is no document"
printf '2\ninventory\n' >"$tmp/changed/1.call"
is "$(fits)" '' "but of a command line that cannot be read"

# The documents in the manual: each command with --json has one, in which elements of lists are left out.
rm "$tmp"/changed/*
awk -v to="$tmp/changed/" '/^\.Sh/ { on = $2 == "DOCUMENTS" }
	on && /^\.Cm / { command = $2 }
	/^\.Ed/ && file { close(file); file = "" }
	file { print >file }
	on && /^\.Bd/ { file = to (++n); print "0\n" command >(file ".call") }' "$srcdir/man/vgpu-lease-json.5"
sed -zi 's/,[ \n]*\.\.\.\]/]/g; s/\[\.\.\.\]/[]/g' "$tmp"/changed/?
is "$(fits)" '' "each document in the manual is one that its schema describes"
is "$(sed -sn 2p "$tmp"/changed/*.call | sort -u)" "$(cd "$srcdir/schemas" && basename -s .json ./*.json | grep -vx status)" "each command has one, but status, as inventory has it"
tap_done
