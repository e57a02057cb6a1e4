#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Names of domains that are not ASCII: columns stay columns, and a terminal gets what its locale can show.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:1
configure nvidia-222
# Two characters of two columns each, and one with a combining accent: 12 columns, 16 bytes.
wide=$'\xe6\x9d\xb1\xe4\xba\xac-gue\xcc\x81st-1' bytes='\xe6\x9d\xb1\xe4\xba\xac-gue\xcc\x81st-1'
call prepare begin 1 nvidia-222
call prepare begin 2 nvidia-222
sed -i "s/^name=.*/name=$wide/" "$root/run/vgpu-lease/leases/$(uuid 1)"

# shown LOCALE COMMAND...: what it prints on a terminal of 200 columns.
shown() {
	local locale=$1
	shift
	on_terminal 200 env LC_ALL="$locale" TERM=dumb timeout --foreground 20 "$builddir/vgpu-lease" --root "$root" "$@"
}
table=(list -o 'domain,type' --sort domain)
in_columns="\
DOMAIN        TYPE
vm2           nvidia-222
$wide  nvidia-222"
escaped="\
DOMAIN                                    TYPE
$bytes  nvidia-222
vm2                                       nvidia-222"
is "$(shown C.UTF-8 "${table[@]}")" "$in_columns" "a column is as wide as its text is on a terminal"
is "$(shown C "${table[@]}")" "$escaped" "one whose locale is ASCII gets bytes as ls has them"
is "$(shown POSIX "${table[@]}")" "$escaped" "by whatever name"
for locale in C C.UTF-8; do
	is "$(LC_ALL=$locale vgpu_lease --root "$root" "${table[@]}")" "$in_columns" \
		"what is not a terminal gets the name as it is, in columns ($locale)"
	holds "and so does JSON ($locale)" grep -qF "\"name\": \"$wide\"" < <(LC_ALL=$locale vgpu_lease --root "$root" list --json)
done
for command in status "show $(uuid 1)" 'show 0000:84:00.0'; do
	# shellcheck disable=SC2086 # The words of a command line.
	out=$(shown C $command)
	is "$(LC_ALL=C tr -d '\000-\177' <<<"$out" | wc -c) $(grep -cF -- "$bytes" <<<"$out")" "0 1" "$command as well"
done
tap_done
