#!/bin/bash
# Each nova.conf means what Nova takes it for: 1,000 hosts' files, read by the project and by oslo.config with Nova's
# options, make the same pool, or are refused by both.
set -u
. "${srcdir:?}/tests/lib/tap.sh"

export PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1
if ! /usr/bin/python3 -c 'import oslo_config' 2>/dev/null; then
	skip_all "python3-oslo.config is needed"
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 022

/usr/bin/python3 "$srcdir/tests/model/nova/nova.py" make "$dir" "${NOVA_FILES:-1000}" "${NOVA_SEED:-1}" >"$dir/kinds" || exit 1
cut -f 1 "$dir/kinds" >"$dir/hosts"
/usr/bin/python3 "$srcdir/tests/model/nova/nova.py" read <"$dir/hosts" >"$dir/nova" || exit 1
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
