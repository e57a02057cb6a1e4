#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A VF of a card whose mdev parents are VFs, with no vGPU on it, that the driver still counts as occupied.
. "$(dirname "$0")/../../lib/hook.sh"
host a40/4
type=nvidia-557
configure "$type" policy 'driver_cleanup = 0'
mapfile -t vfs < <(cd "$root/sys/class/mdev_bus" && printf '%s\n' *)
instances() { cat "$root/sys/class/mdev_bus/$1/mdev_supported_types/$type/available_instances"; }
available() { lease types --json | jq -r --arg type $type '.types[] | select(.id == $type) | .available'; }
# lose: the domain's vGPU is removed by somebody before the driver is done with it.
lose() {
	control driver_removes '60000 zombie'
	true 9<>"$(node_of $u1)"
	remove_device $u1
	release
	control driver_removes off
}

another 2 >"$work/2.xml"
another 3 >"$work/3.xml"

### For a moment: a removal goes on, though its mdev is not there any more
is_gone() { ! test -e "$root/sys/bus/mdev/devices/$u1"; }
prepare
control remove_delay_ms 5000
release 2>/dev/null &
eventually is_gone
holds "another domain starts" prepare "$work/3.xml"
is "$(parent_of "${u1%??}03") $(instances "${vfs[0]}")" "${vfs[1]} 0" "on another VF, while the first one is still occupied"
lease check >"$work/check" 2>&1
is "$(says_times M_VF_LOST <"$work/check")" 0 "check calls no VF lost that is being released"
control remove_delay_ms 0
wait $!
eventually test ! -e "$root/run/vgpu-lease/leases/$u1"
release "$work/3.xml"

### For good
prepare "$work/2.xml" && prepare
is "$(parent_of $u1)" "${vfs[1]}" "a domain has its vGPU on the second VF"
lose
release "$work/2.xml"
is "$(devices)$(leases) $(instances "${vfs[0]}") $(instances "${vfs[1]}")" "0 1 0" "the driver loses that VF"

lease check >"$work/check" 2>&1
holds "check says which VF is lost, though another one is free before it" says M_VF_LOST "${vfs[1]}" <"$work/check"
is "$(says_times M_VF_LOST <"$work/check") $(available)" "1 3" "and the types count the others"

### The domain was there before, and the first VF says that there is capacity
holds "the next start does without it" prepare
is "$(parent_of $u1)" "${vfs[0]}" "on another VF"
lose
is "$(devices)$(leases) $(instances "${vfs[0]}") $(instances "${vfs[2]}")" "0 0 1" "the driver loses that one, too"

### The first VF that is free is asked what the card can make
holds "a VF that is lost says nothing of the card" prepare
is "$(parent_of $u1)" "${vfs[2]}" "the first one that is not lost is taken"
is "$(available)" 1 "the types count what is left"
is "$(lease inventory --json | jq -r --arg type $type '.pgpus[].types[] | select(.id == $type) | "\(.capacity) \(.used) \(.available)"')" \
	"4 1 1" "so does the inventory"
lease check >"$work/check" 2>&1
for vf in "${vfs[@]:0:2}"; do
	holds "check says which VF is lost: $vf" says M_VF_LOST "$vf" <"$work/check"
done
is "$(says_times M_VF_LOST <"$work/check")" 2 "and of no other one"
another 4 >"$work/4.xml"
holds "the last VF is taken" prepare "$work/3.xml"
reports "then the driver has none" prepare "$work/4.xml" -- M_CAPACITY_NONE
tap_done
