#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A pool that a deployment made at boot stays: the mdevs and definitions of StackHPC's role, the VFs of CloudStack with their types.
# What was made for a guest goes, and is named before.
. "$(dirname "$0")/../../lib/leased.sh"
host a40/4+l40s/4
type=nvidia-558
vf() { printf '0000:41:00.%d' $((3 + $1)); }
made() { make_device "$(vf "$1")" $type "$(numbered "$1")" && mdevctl_has "$(vf "$1")" "$(numbered "$1")" $type; }
aged() { touch -d '2 minutes ago' "$root/etc/mdevctl.d/$(vf "$1")/$(numbered "$1")"; }
nova_instance() {
	sed "s|</name>|&<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>|; s/${u1%??}../$(numbered "$1")/" "$vm"
}
guest() { prepare <(nova_instance "$1") && release <(nova_instance "$1"); } # N: an instance with vGPU N comes and goes
settings() { configure devices 'nova_conf = /etc/nova/nova.conf' policy 'driver_cleanup = 0' "reclaim_grace = $1"; }

### StackHPC: one mdev and one definition for each VF, made at boot; Nova hands them out
nova_has "$type@$(vf 1), $(vf 2), $(vf 3), $(vf 4)"
settings 1
for n in 1 2 3 4; do made $n && aged $n; done
pool="1 d1 2 d2 3 d3 4 d4 "
start
sleep 1.5
looks
is "$(left 1 2 3 4)" "$pool" "the handler keeps a pool that was there before it, with its definitions"
holds "and says so" said M_FOREIGN_KEPT "$(numbered 1)" $type "$(vf 1)"
holds "a guest has a vGPU of the pool" guest 2
sleep 1.5
looks
is "$(left 1 2 3 4)" "$pool" "and what it has had stays, too"
gc_leaves "$pool" "gc keeps the pool" --grace 0
holds "which it says of each" [ "$(says_times M_KEPT <"$work/gc")" = 4 ]
holds "so does check" says M_CHECK_KEPT 4 < <(lease check)
is "$(lease status | grep -c ' foreign ')" 4 "and status"
stop
settings 0

### What goes nevertheless, when it is asked for
lease gc --unused --dry-run --grace 0 >"$work/gc" 2>"$work/err"
is "$? $(left 1 2 3 4)" "0 $pool" "a dry run of gc --unused removes nothing"
holds "and says what would go, with its definition" [ "$(says_times M_UNUSED "" -- M_WITH_DEFINITION <"$work/gc")" = 4 ]
echo "<domain><uuid>$vm_uuid</uuid><address uuid='$(numbered 4)'/></domain>" | libvirt_has i
lease gc --unused --grace 0 --type $type >"$work/gc" 2>"$work/err"
is "$? $(left 1 2 3 4)" "0 4 d4 " "gc --unused removes the pool, but for what a domain names"
holds "having listed it first" says M_WILL_GO "$(vf 1)" "$(numbered 1)" $type <"$work/err"
rm "$root/etc/libvirt/qemu/i.xml"
lease gc --unused --grace 0 >"$work/gc" 2>"$work/err"

### A UUID that is defined on two VFs, as mdevctl allows: the device runs on one of them
made 1
mdevctl_has "$(vf 2)" "$(numbered 1)" $type
lease gc --unused --grace 0 >"$work/gc" 2>"$work/err"
is "$(devices)$(cd "$root/etc/mdevctl.d" && echo */*)" "$(vf 2)/$(numbered 1)" "gc --unused removes the definition on its VF only"
holds "the other is then a definition without a device, which Nova counts" says M_CHECK_NOVA_ALONE "$(numbered 1)" "$(numbered 1)" < <(lease check)
rm "$root/etc/mdevctl.d/$(vf 2)"/*

### Nova's own: made for a guest
settings 2
start && looks
made 1
holds "a guest starts right after its vGPU was made" guest 1
aged 1
holds "check says what will go, with its definition" says M_CHECK_WILL_GO "$(numbered 1)" $type "$(vf 1)" -- M_WITH_DEFINITION < <(lease check)
holds "when the grace is over the handler removes it" eventually is_left ""
holds "and its log names the definition" eventually said M_HANDLER_DEFINITION "$(numbered 1)" $type "$(vf 1)"
holds "and the device" eventually said M_HANDLER_ORPHAN "$(numbered 1)" $type "$(vf 1)"
made 2
looks
sleep 2.5
looks
is "$(left 1 2 3 4)" "2 d2 " "a vGPU that no guest has had stays"
stop
settings 0
made 3
rm "$root/run/vgpu-lease/looked"
holds "a guest has a vGPU, and nobody has looked before it was made" guest 3
gc_leaves "2 d2 3 d3 " "then it stays"
start && looks
stop
rm "$root/etc/mdevctl.d/$(vf 2)"/*
remove_device "$(numbered 3)"
start && looks
stop
holds "a vGPU of the pool that is missing is made for its guest" guest 3
gc_leaves "2 3 d3 " "and stays: its definition was there before"

### CloudStack: types that are preset on VFs
card=0000:26:00.0
types() { vf_type 0000:26:00.4; vf_type 0000:26:00.5; }
preset() { configure "$1@$card" policy 'driver_cleanup = 0' 'reclaim_grace = 0'; }
preset nvidia-1150
with_vf >"$work/vf.xml"
rm -r "${root:?}/run/vgpu-lease" # the host boots
set_vf_type 0000:26:00.4 1150
set_vf_type 0000:26:00.5 1150
prepare "$work/vf.xml" && release "$work/vf.xml"
then_is "VFs keep the types that were set before a guest came" "1150 1150" "types | xargs" lease gc
preset nvidia-1147
then_is "also where another type is enabled now" "1150 1150" "types | xargs" lease gc
other() { another 9 "$work/vf.xml" | sed "s/function='0x4'/function='0x6'/"; }
reports "a start takes none away, and names the command that lists them" prepare <(other) -- M_RETYPE_LISTS $card nvidia-1147
is "$(types | xargs)" "1150 1150" "so they are left"
lease retype --grace 0 $card nvidia-1147 2>"$work/err" >"$work/gc"
is "$? $(types | xargs)" "0 0 0" "retype frees the card of both"
holds "having listed them first" says M_WILL_GO 0000:26:00.4 0000:26:00.4 nvidia-1150 <"$work/err"

### Proxmox: an mdev for each vGPU of a machine, while it runs, with both numbers in its UUID; no definition, no libvirt
rm -r "${root:?}"/{run/vgpu-lease,var/lib/vgpu-lease,etc/mdevctl.d}
for device in $(devices); do echo 1 >"$root/sys/bus/mdev/devices/$device/remove"; done
configure "$type@0000:41:00.0" policy 'driver_cleanup = 0' 'reclaim_grace = 0'
proxmox() { printf '%08d-0000-0000-0000-%012d' "$1" "$2"; } # HOSTPCI VMID
running=$(proxmox 0 100) starting=$(proxmox 1 101)
start && looks
make_device "$(vf 1)" $type "$running"
open_device "$running"
make_device "$(vf 2)" $type "$starting"
looks
looks
is "$(devices)" "$running $starting " "the handler keeps what was made for machines that libvirt does not know"
holds "a guest of libvirt gets a vGPU beside them" prepare 7
holds "and gives it back" release 7
leaves "gc keeps them" "$running $starting 0" lease gc --grace 0
lease gc --unused --grace 0 >"$work/gc" 2>"$work/err"
is "$(devices)" "$running " "gc --unused removes only what no process has open"
holds "having listed it first" says M_WILL_GO "$(vf 2)" "$starting" $type <"$work/err"
close_device
stop
tap_done
