#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each nova.conf means what Nova takes it for: 1,000 hosts' files, read by the project and by oslo.config with Nova's
# options, make the same pool, or are refused by both. With NOVA_TREE Nova itself reads them, as nova-compute does.
set -u
. "${srcdir:?}/tests/lib/tap.sh"
# shellcheck source=tests/model/nova/python.sh
. "$srcdir/tests/model/nova/python.sh"

if ! nova_python nova.py read </dev/null; then
	skip_all "python3-oslo.config is needed"
fi
dir=$(mktemp -d /tmp/nova.XXXXXX)
trap 'rm -rf "$dir"' EXIT
umask 022

nova_python nova.py make "$dir" "${NOVA_FILES:-1000}" "${NOVA_SEED:-1}" >"$dir/kinds" || exit 1
cut -f 1 "$dir/kinds" >"$dir/hosts"
nova_python nova.py read <"$dir/hosts" >"$dir/nova" || exit 1
if [ -n "${NOVA_TREE:-}" ]; then
	nova_python nova.py ask <"$dir/hosts" >"$dir/asked" || exit 1
	# An address that is not on PCI is for releases after the one that is asked: nova.py knows what they do with it.
	paste "$dir/asked" "$dir/nova" | awk -F '\t' -v later='incorrect PCI address:( [^0-9].*)?$' '{ print $1 ~ later ? $2 : $1 }' >"$dir/both"
	echo "# $(grep -cE 'incorrect PCI address:( [^0-9].*)?$' "$dir/asked") files have an address that is not on PCI"
	mv "$dir/both" "$dir/nova"
fi
"${builddir:?}/tests/model/nova/pools" <"$dir/hosts" >"$dir/ours" || exit 1

# A refusal is one whatever the words are.
differing() {
	paste "$dir/kinds" "$dir/nova" "$dir/ours" | awk -F '\t' -v kind="$1" '
		function pool(text) { sub(/^refused:.*/, "refused", text); return text }
		($2 == "generated") == (kind == "generated") && pool($3) != pool($4) {
			printf "%s (%s):\n  Nova: %s\n  ours: %s\n", $1, $2, $3, $4 }'
}

is "$(wc -l <"$dir/nova") $(wc -l <"$dir/ours")" "${NOVA_FILES:-1000} ${NOVA_FILES:-1000}" "each file is read by both"
nothing "each kind of file that Nova's manual and its parser know makes Nova's pool" "$(differing known)"
nothing "so do the generated files" "$(differing generated)"
holds "a fifth of them, or more, are refused" test "$(grep -c ^refused: "$dir/nova")" -gt $((${NOVA_FILES:-1000} / 5))
holds "and half of them, or more, make a pool" test "$(grep -c =. "$dir/nova")" -gt $((${NOVA_FILES:-1000} / 2))
tap_done
