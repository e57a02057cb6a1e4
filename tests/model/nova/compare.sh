#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is read of a nova.conf means what Nova takes it for: 1,000 hosts' files, read by the project and by oslo.config with
# Nova's options, make the same pool, or are refused by both. What only Nova reads, as $name, is refused with the section to
# write in vgpu-lease.conf. With NOVA_TREE Nova itself reads them, as nova-compute does.
. "$(dirname "$0")/../../lib/tap.sh"
. "$(dirname "$0")/python.sh"

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
"$builddir/tests/model/nova/pools" <"$dir/hosts" >"$dir/ours" || exit 1

both() { paste "$dir/kinds" "$dir/nova" "$dir/ours"; }

# A refusal is one whatever the words are; those that Nova has not say what to write.
differing() {
	both | awk -F '\t' -v instead="$instead" '
		function pool(text) { sub(/^refused:.*/, "refused", text); return text }
		pool($3) != pool($4) && ($3 ~ /^refused:/ || $4 !~ instead) {
			printf "%s (%s):\n  Nova: %s\n  ours: %s\n", $1, $2, $3, $4 }'
}
only_nova() { both | awk -F '\t' '$3 !~ /^refused:/ && $4 ~ /^refused:/ { print $2 }' | grep -vx odd; }
instead='; or write \[[^]]*\] in vgpu-lease\.conf, which takes precedence'

is "$(wc -l <"$dir/nova") $(wc -l <"$dir/ours")" "${NOVA_FILES:-1000} ${NOVA_FILES:-1000}" "each file is read by both"
nothing "what is read makes Nova's pool, or is refused by both; what only Nova reads is refused with what to write" "$(differing)"
is "$(only_nova)" "a comment behind a value
quotes around each
substitution within the type
substitution from another type
an escaped dollar
interpolation is none
case of addresses
an empty item first
a virtual parent as sysfs calls it" "only Nova reads these kinds, and nothing that manuals show and deployments write"
holds "a fifth of them, or more, are refused" test "$(grep -c ^refused: "$dir/nova")" -gt $((${NOVA_FILES:-1000} / 5))
holds "and half of them, or more, make a pool" test "$(grep -c =. "$dir/nova")" -gt $((${NOVA_FILES:-1000} / 2))
tap_done
