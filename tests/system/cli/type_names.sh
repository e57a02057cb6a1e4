#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The name of a type, where the configuration needs its ID: the message gives the ID to write.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:2+l40s/4
conf_path=$root/etc/vgpu-lease.conf
domain 1 "$(uuid 1)" nvidia-222 >"$tmp/vm.xml"

# said COMMAND...: what it prints on both.
said() { "$@" 2>&1; }
hook_says() { said hook vm1 prepare begin - <"$tmp/vm.xml"; }

# tells NAME ID SENTENCE: the configuration is refused, and the ID named, wherever a user meets it.
tells() {
	holds "$3: check" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" check)"
	holds "$3: the hook" says M_CONF_WRITE_ID "$2" "$1" <<<"$(hook_says)"
	holds "$3: plan" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" plan "$tmp/vm.xml")"
	holds "$3: list" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" list)"
}

configure 'GRID T4-1B'
tells "GRID T4-1B" nvidia-222 "a name among the enabled types"
holds "in its line" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" <<<"$(said vgpu_lease --root "$root" check)"
is "$(said vgpu_lease --root "$root" check | grep -c "^FAIL  config   $conf_path:2: ")" 1 "and once"
configure 'NVIDIA L40S-2Q'
tells "NVIDIA L40S-2Q" nvidia-1148 "a name of a type that VFs take"
configure nvidia-222 'mdev_GRID T4-1B' 'max_instances = 1'
tells "GRID T4-1B" nvidia-222 "a name in the header of a section"
configure nvidia-222 mdev_T4-1B 'max_instances = 1'
tells T4-1B nvidia-222 "one without a blank"

# That could be an ID: the file is right, and the host is asked.
configure T4-1B
holds "a name that could be an ID" says M_CHECK_WRITE_ID nvidia-222 T4-1B <<<"$(said vgpu_lease --root "$root" check)"

# Nova takes anything; here it is a mistake of the file.
of_nova 'GRID T4-1B'
holds "a name in nova.conf" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" -- M_CONF_NOVA_INSTEAD devices -- M_CONF_WRITE_ID nvidia-222 "GRID T4-1B" \
	<<<"$(said vgpu_lease --root "$root" check)"

# What no driver calls a type is told as before.
configure 'GRID T4-1X'
fails "nothing is made up" says M_CONF_WRITE_ID <<<"$(said vgpu_lease --root "$root" check)"

# And what was told is right.
configure nvidia-222
hook_says >/dev/null
holds "the right ID starts it" exists 1

### Two kinds of card, for which init enables two types: a domain that names none, and slips of the pen
new_host t4+p4
defined=$root/etc/libvirt/qemu
mkdir -p "$defined"

vl_counts "init enables a type for each kind of card" "0 2" '^\[mdev_' init --write
holds "and says what that means to a domain" says M_INIT_SEVERAL <<<"$out"
types=$(sed -n 's/^enabled_mdev_types = //p' "$root/etc/vgpu-lease.conf")
first=${types%%,*}

# refused SENTENCE: check fails for the domain, as its start does; nothing else does.
refused() {
	vl_counts "$1: check fails" "1 1" ^FAIL check
	holds "$1: for its definition" grep -q "^FAIL  domain .*/vm1\.xml" <<<"$out"
	fails "$1: its start is refused" start 2>"$work/err"
}
domain 1 "$(uuid 1)" | sed '/<metadata>/,/<\/metadata>/d' >"$defined/vm1.xml"
start() { hook vm1 prepare begin - <"$defined/vm1.xml"; }
refused "a domain that names no type"
holds "with the types to name" says M_WHICH_TYPE_ABSENT "$types" <<<"$out"

domain 1 "$(uuid 1)" "${first%?}x" >"$defined/vm1.xml"
refused "a type that is mistyped"
holds "which is named" says M_UNKNOWN_TYPE "${first%?}x" '' <<<"$out"

domain 1 "$(uuid 1)" nvidia-222 >"$defined/vm1.xml"
refused "a type of the card that is not enabled"
holds "with the cards' types" says M_NO_CAPACITY nvidia-222 '*' <<<"$out"

domain 1 "$(uuid 1)" "$first" >"$defined/vm1.xml"
vl_counts "check fails for no domain that names its type" "0 0" ^FAIL check
holds "which starts" start
vl_ends "nor for one that runs" 0 check

# A quota is used up for as long as a guest runs: no mistake of the domain that waits for it.
printf '\n[quota]\nnone = 1\n' >>"$root/etc/vgpu-lease.conf"
vl types --no-headings --type "$first" -o NAME
for type in "$first" "$out"; do
	domain 2 "$(uuid 2)" "$type" >"$defined/vm2.xml"
	hook vm2 prepare begin - <"$defined/vm2.xml" 2>"$work/err"
	is "$? $(says_times M_QUOTA_NO_PROJECT 1 1 <"$work/err")" "1 1" "over the quota, a start with $type is refused"
	check_counts "which check does not call a mistake of the domain: $type" 0 ^FAIL
done

# In the configuration: the type of a section, written differently.
sed -i "s/^\[mdev_$first\]/[mdev_${first/-/}]/" "$root/etc/vgpu-lease.conf"
vl_prints "a section's type that is mistyped: check has the one that is enabled" check -- M_CONF_NOT_ENABLED_SIMILAR "$first"

vl_says "plan of a domain's name says how a domain is planned" 2 plan vm1 -- M_PLAN_OF_DOMAIN vm1
vl plan ./vm1.xml
fails "but not of a file's" says M_PLAN_OF_DOMAIN '*' <<<"$err"
tap_done
