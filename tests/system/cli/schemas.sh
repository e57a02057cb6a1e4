#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# schemas/: one for each command with --json, and what does not fit is found. Each test's JSON is compared (tests/lib/json.sh).
. "$(dirname "$0")/../../lib/cli.sh"
host t4:1 nvidia-222

commands=$("$builddir/vgpu-lease" help | awk '/^  [a-z]/ { print $1 }')
is "$(for command in $commands; do
	"$builddir/vgpu-lease" help "$command" | grep -q -- '^  --json ' && echo "$command.json"
done | sort)" "$(cd "$srcdir/schemas" && ls)" "each command that prints JSON has a schema"
nothing "each call with --json is made where its output is kept" \
	"$(grep -rnE 'builddir"?[}]?/vgpu-lease"?.* --json' "$srcdir/tests/system" "$srcdir/tests/model" | grep -vF "${BASH_SOURCE[0]##*/}")"

is "$(jq -r '.properties.checks.items.properties.what.enum[]' "$srcdir/schemas/check.json" | sort)" \
	"$(sed -nE 's/.*(run_one\(check, |check->what = )"([a-z]+)".*/\2/p' "$srcdir"/src/ops/check*.c | sort -u)" "the schema of check has the subjects that check prints"

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

# The documents in the manual, which leave out elements of lists: each command with --json has one.
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
