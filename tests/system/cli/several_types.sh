#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A host with two kinds of card, for which init enables two types: a domain that names none, and slips of the pen.
. "$(dirname "$0")/../../lib/cli.sh"
host t4+p4
defined=$root/etc/libvirt/qemu
mkdir -p "$defined"

vl init --write
is "$status $(grep -c '^\[mdev_' <<<"$out")" "0 2" "init enables a type for each kind of card"
holds "and says what that means to a domain" says M_INIT_SEVERAL <<<"$out"
types=$(sed -n 's/^enabled_mdev_types = //p' "$root/etc/vgpu-lease.conf")
first=${types%%,*}

# refused SENTENCE: check fails for the domain, as its start does; nothing else does.
refused() {
	vl check
	is "$status $(grep -c ^FAIL <<<"$out")" "1 1" "$1: check fails"
	holds "$1: for its definition" grep -q "^FAIL  domain .*/vm1\.xml" <<<"$out"
	fails "$1: its start is refused" start 2>"$work/err"
}
domain 1 "$(uuid 1)" | sed '/<metadata>/,/<\/metadata>/d' >"$defined/vm1.xml"
start() { "$hook" --root "$root" -- vm1 prepare begin - <"$defined/vm1.xml"; }
refused "a domain that names no type"
holds "with the types to name" says M_WHICH_TYPE_ABSENT "$types" <<<"$out"

domain 1 "$(uuid 1)" "${first%?}x" >"$defined/vm1.xml"
refused "a type that is mistyped"
holds "which is named" says M_UNKNOWN_TYPE "${first%?}x" '' <<<"$out"

domain 1 "$(uuid 1)" nvidia-222 >"$defined/vm1.xml"
refused "a type of the card that is not enabled"
holds "with the cards' types" says M_NO_CAPACITY nvidia-222 '*' <<<"$out"

domain 1 "$(uuid 1)" "$first" >"$defined/vm1.xml"
vl check
is "$status $(grep -c ^FAIL <<<"$out")" "0 0" "check fails for no domain that names its type"
holds "which starts" start
vl_ends "nor for one that runs" 0 check

# A quota is used up for as long as a guest runs: no mistake of the domain that waits for it.
printf '\n[quota]\nnone = 1\n' >>"$root/etc/vgpu-lease.conf"
vl types --no-headings --type "$first" -o NAME
for type in "$first" "$out"; do
	domain 2 "$(uuid 2)" "$type" >"$defined/vm2.xml"
	"$hook" --root "$root" -- vm2 prepare begin - <"$defined/vm2.xml" 2>"$work/err"
	is "$? $(says_times M_QUOTA_NO_PROJECT 1 1 <"$work/err")" "1 1" "over the quota, a start with $type is refused"
	check_counts "which check does not call a mistake of the domain: $type" 0 ^FAIL
done

# In the configuration: the type of a section, written differently.
sed -i "s/^\[mdev_$first\]/[mdev_${first/-/}]/" "$root/etc/vgpu-lease.conf"
vl_prints "a section's type that is mistyped: check has the one that is enabled" check -- M_CONF_NOT_ENABLED_SIMILAR "$first"

vl plan vm1
holds "plan of a domain's name says how a domain is planned" says M_PLAN_OF_DOMAIN vm1 <<<"$err"
vl plan ./vm1.xml
fails "but not of a file's" says M_PLAN_OF_DOMAIN '*' <<<"$err"
tap_done
