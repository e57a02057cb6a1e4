# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a vGPU is made for a domain when it starts, and goes with it
check "all is free to begin with" nothing_left
CONFINED=1 define life "$U1"
at_level() { journalctl -q --no-pager --after-cursor "$CURSOR" -t vgpu-lease -p "$1"; }
succeeds "a domain whose device does not exist starts" virsh start life
check "its QEMU holds the device open" uses life "$U1"
check "the device is of the configured type" same "$(type_of "$U1")" mtty-2
check "the lease is the domain's, active, created by us" held_by "$U1" life
check "the lease says since when" lease "$U1" '.since | test("^20[0-9-]{8}T[0-9:]{8}Z$")'
check "the kernel has one less to give" same "$(available)" 11
check "one line in the journal tells of it" same "$(at_level info | grep -c "$U1")" 1
check "and one at debug level of how it was decided" \
	same "$(at_level debug..debug | grep -c "prepare: domain life: create $U1, mtty-2 on mtty ")" 1
run vgpu-lease log "$U1"
check "which 'vgpu-lease log' reads back" grep -qE "  created +.*$U1" <<<"$OUT"
succeeds "the catalog is compiled" journalctl --update-catalog
run journalctl -q --no-pager -x --after-cursor "$CURSOR" MESSAGE_ID=4937d79a605d46fba2970e75b29a4190
check "and explains that line" grep -qF "Subject: vGPU created for a domain" <<<"$OUT"
check "where the device was is remembered across reboots" test -f "/var/lib/vgpu-lease/affinity/$U1"
check "everybody may read the state, root alone write it" same "$(stat -c '%U %a' /run/vgpu-lease /var/lib/vgpu-lease | sort -u)" 'root 755'
run vgpu-lease inventory --json
check "the inventory counts it" jq -e '.pgpus[] | select(.address == "mtty") | .in_pool and
	([.types[] | select(.id == "mtty-2")][0] | .capacity == 12 and .used == 1 and .available == 11)' <<<"$OUT"

succeeds "the domain is destroyed" virsh destroy life
check "device and lease are gone, and the capacity is back" within 15 nothing_left

run virsh start life
check "it starts again with the same device" uses life "$U1"
powered_off() { virsh shutdown life; is_state life "shut off"; }
check "the guest powers itself off" within 40 powered_off
check "again nothing is left" within 15 nothing_left
