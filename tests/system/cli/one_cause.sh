#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What check says of a pGPU that does not come up: one finding for one cause, with that cause's fix.
. "$(dirname "$0")/../../lib/cli.sh"

l40s=0000:26:00.0 flex=0000:4d:00.0 t4=0000:84:00.0
# only SENTENCE KEY [ARG...]: check fails, and its only finding about pGPUs and types that is none of PASS is this one.
only() {
	local sentence=$1 found
	shift
	vl check
	found=$(grep -E '^(WARN|FAIL) +(pgpu|type) ' <<<"$out")
	is "$status|$(wc -l <<<"$found")" "1|1" "$sentence: one finding"
	holds "$sentence: with its fix" says "$@" <<<"$found"
}

host l40s/4+flex/3
control vfs "$l40s off"
configure nvidia-1147 vf_flex@8086:56c0
only "VFs off, of a card that a type for all takes" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "beside a pool of plain VFs, which is well" grep -q "^PASS  type .* flex " <<<"$out"
vl
is "$(grep -c 'FAIL\|WARN' <<<"$out")" 1 "status has that line alone"
for how in "device_match = 10de:26b9" "device_addresses = $l40s" "device_addresses = 0000:26:00.4" \
	"device_addresses = 0000:26:00.4, 0000:26:00.5, 0000:26:00.6"; do
	configure nvidia-1147 "$how"
	only "VFs off, $how" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
done
configure nvidia-1147@0000:26:00.4,0000:26:00.5 nvidia-1148@0000:26:00.6
only "VFs off, of two types" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "which says for how many" grep -q '0000:26:00.4 and 2 more: ' <<<"$out"
control vfs "$flex off"
for how in "device_match = 8086:56c0" "device_addresses = $flex" "device_addresses = 0000:4d:00.1"; do
	configure vf_flex "$how"
	only "plain VFs off, $how" M_VFS_NOT_ENABLED
done

new_host l40s/4
control register "$l40s off"
configure nvidia-1147
only "types that are not registered, for a type that takes all" M_NOT_REGISTERED
fails "a driver that is loaded is not advised to be loaded" says M_LOAD_DRIVER <<<"$out"
configure nvidia-1147 nvidia-1148
vl check
is "$(grep -c '^FAIL' <<<"$out")|$(says_times M_NOT_REGISTERED <<<"$out")" "1|1" "for two types that take all, it is said once"

new_host l40s/4:2
control vfs "$l40s off"
configure nvidia-1147@10de:26b9
only "one of two cards, of which the other makes VFs" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "and a start gets one there" grep -q "^PASS  type .* on 0000:27:00.4" <<<"$out"
configure nvidia-1147
check_says "of all cards, one that does not come up is a warning" "^WARN .*$l40s" M_VFS_NOT_ENABLED

new_host t4
configure nvidia-1147@10de:1eb8
only "a card without the type, that is matched" M_NOT_OFFERED nvidia-1147
configure nvidia-1147@$t4
only "a card without the type, that is named" M_NOT_OFFERED nvidia-1147
configure nvidia-222@0000:99:00.0
only "an address without a device" M_NO_PCI_DEVICE
configure nvidia-222@10de:1eb8 nvidia-1147@10de:1eb8
vl_prints "a match that matches is not to be corrected, but the type" check -- M_MATCH_UNSUITED nvidia-1147
configure nvidia-1147
only "a type that no card has" M_NO_PGPU_SERVES nvidia-1147
configure mtty-2@mtty
only "a virtual parent that is named, without its driver" M_NO_PARENT_HERE
mkdir -p "$root/var/lib/vgpu-lease/affinity"
chmod -R 755 "$root/var/lib/vgpu-lease"
echo "mtty-2 mtty - -" >"$root/var/lib/vgpu-lease/affinity/$(uuid 1)"
configure mtty-2
only "one that had vGPUs of the type" M_NO_PARENT_HERE
tap_done
