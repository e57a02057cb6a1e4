#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How the driver lets a vGPU go: by itself, or not for a long time. Whoever releases it, hook or gc, it ends clean.
. "$(dirname "$0")/../../lib/hook.sh"
use() { true 9<>"$(node_of "$1")"; } # UUID: a process opens the device, and closes it
type=nvidia-222
capacity() { cat "$root/sys/class/mdev_bus/$1/mdev_supported_types/$type/available_instances"; }
# The removals of a card that were tried, by the kernel's log, each with how it ended.
removals() { awk -v card="$1" '$2 ~ /remove$/ && $3 == card { print $2, $6 }' "$root/.kernel/control/log" | uniq | paste -sd,; }
# Are there N leases still, or has the driver let go of the one on WHERE by now?
stays() { [ "$(leases)" = "$1" ] || [[ $(removals "$2") == *"remove ok" ]]; }

a=0000:84:00.0 b=0000:85:00.0 u2=${u1%??}02
host t4:2 nvidia-222 policy 'placement = spread'

released() { lease gc >"$work/gc.out" 2>&1; [ ! -e "$root/run/vgpu-lease/leases/$u1" ]; }

### It removes the device by itself
control driver_removes '400 zombie'
prepare && prepare 2
is "$(parent_of "$u1") $(parent_of "$u2")" "$a $b" "two domains have a vGPU each, on two cards"
use "$u1"; use "$u2"
holds "the release of a device that the driver is about to remove succeeds" release
eventually released
is "$(removals $a)" "driver-remove ok" "and it was left to the driver"
is "$(capacity $a)" 16 "so that no instance is lost"
# gc does here what the handler would do.
with_handler release 2
holds "gc ends with what the driver removed, too" lease gc
is "$(removals $b) $(capacity $b) $(devices)$(leases)" "driver-remove ok 16 0" "and nothing is left of either"

# The domain starts again before the driver has done that.
configure $type policy 'release_wait = 0'
control driver_removes '1500 zombie'
prepare
use "$u1"
release
control log clear
holds "a start right after the release succeeds" prepare
is "$(removals $a) $(lease_has origin)" "driver-remove ok created" "with a device made anew, after the driver has removed the old one"
control driver_removes off
configure $type policy 'driver_cleanup = 2' 'release_wait = 0'
use "$u1"
release
control log clear
holds "so does one where the driver does not remove it" prepare
is "$(devices)$(removals $a)" "$u1 " "it keeps the device after driver_cleanup"
release
eventually released
configure $type policy 'reclaim_grace = 0'

# An orphan, to which the driver is entitled no less.
make_orphan $a $type "$u1"
control driver_removes '1500 zombie'
use "$u1"
control log clear
holds "gc removes an orphan that was closed a moment ago" lease gc
is "$(removals $a) $(capacity $a)" "driver-remove ok 16" "which it leaves to the driver"
control driver_removes off
configure $type policy 'placement = spread'

### Somebody removes it before the driver is done with it
# lose: that happens to the domain's vGPU.
lose() {
	control driver_removes '60000 zombie'
	use $u1
	remove_device $u1
	release
	control driver_removes off
}
configure nvidia-234@$a
prepare
lose
is "$(prepare 2>&1)" \
	"vgpu-lease: domain vm: vGPU $u1: no capacity for nvidia-234, the only type of the pool: $a: the driver offers none, although the card is empty; a removed vGPU may occupy it until a reboot; see dmesg; $b: not in the pool: not named in the configuration; see 'vgpu-lease --root $root inventory'" \
	"a card that is short of what was on it is told as such"
holds "and is broken to check" grep -q "^FAIL *type .*nvidia-234" <(lease check)

### It does not let go for eight seconds
new_host t4:2 nvidia-222 policy 'placement = spread' 'driver_cleanup = 0'
control plugin_delay_ms 8000
prepare && prepare 2
use "$u1"
holds "a release that the driver refuses for eight seconds ends all the same" release
holds "its lease stays meanwhile" stays 2 $a
use "$u2"
with_handler release 2
lease gc >"$work/gc.out" 2>&1 &
holds "gc tries until the driver has let go" eventually no_lease
wait $!
is "$(removals $a)" "remove EBUSY,remove ok" "it was refused before"
is "$(removals $b)" "remove EBUSY,remove ok" "and so with a handler"
is "$(devices)$(capacity $a) $(capacity $b)" "16 16" "and nothing is left of either"
control plugin_delay_ms 0

control log clear
control inject "remove any EBUSY 1000000"
prepare
release "$vm"
lease gc >"$work/gc.out" 2>&1 &
sleep 8 && control inject clear
holds "a driver that refuses at once, again and again, gets its eight seconds, too" eventually no_lease
wait $!
is "$(devices)$(capacity $a) $(removals $a)" "16 remove EBUSY,remove ok" "and nothing is left"

### The same of a VF that has a type
new_host l40s/2 nvidia-1155
vf=0000:26:00.4
with_vf >"$work/vf.xml"
control plugin_delay_ms 8000
holds "a VF gets its type" prepare "$work/vf.xml"
use $vf
holds "its release ends, though the driver refuses to clear it" release "$work/vf.xml"
holds "its lease stays meanwhile" stays 1 $vf
holds "gc tries until the driver has let go" eventually collected
# A later attempt may come after the write that hung has succeeded: then nothing is left to clear, which is EPERM.
is "$(vf_type $vf) $(removals 0000:26:00.4 | sed 's/,remove EPERM$//')" "0 remove EBUSY,remove ok" "then it has none"
control plugin_delay_ms 0
prepare "$work/vf.xml"
control inject "remove any EIO 3"
release "$work/vf.xml"
holds "nor does another error leave anything, once it has passed" eventually collected
is "$(vf_type $vf)" 0 "the type is cleared"

### A VF of a card whose mdev parents are VFs, with no vGPU on it, that the driver still counts as occupied
new_host a40/4
type=nvidia-557
configure "$type" policy 'driver_cleanup = 0'
mapfile -t vfs < <(cd "$root/sys/class/mdev_bus" && printf '%s\n' *)
available() { lease types --json | jq -r --arg type $type '.types[] | select(.id == $type) | .available'; }

### For a moment: a removal goes on, though its mdev is not there any more
prepare
control remove_delay_ms 5000
release 2>/dev/null &
eventually test ! -e "$root/sys/bus/mdev/devices/$u1"
holds "another domain starts" prepare 3
is "$(parent_of "${u1%??}03") $(capacity "${vfs[0]}")" "${vfs[1]} 0" "on another VF, while the first one is still occupied"
is "$(lease check 2>&1 | says_times M_VF_LOST)" 0 "check calls no VF lost that is being released"
control remove_delay_ms 0
wait $!
eventually released
release 3

### For good
prepare 2 && prepare
is "$(parent_of $u1)" "${vfs[1]}" "a domain has its vGPU on the second VF"
lose
release 2
is "$(devices)$(leases) $(capacity "${vfs[0]}") $(capacity "${vfs[1]}")" "0 1 0" "the driver loses that VF"

reports "check says which VF is lost, though another one is free before it" lease check -- M_VF_LOST "${vfs[1]}"
is "$(says_times M_VF_LOST <<<"$said") $(available)" "1 3" "and the types count the others"

### The domain was there before, and the first VF says that there is capacity
holds "the next start does without it" prepare
is "$(parent_of $u1)" "${vfs[0]}" "on another VF"
lose
is "$(devices)$(leases) $(capacity "${vfs[0]}") $(capacity "${vfs[2]}")" "0 0 1" "the driver loses that one, too"

### The first VF that is free is asked what the card can make
holds "a VF that is lost says nothing of the card" prepare
is "$(parent_of $u1)" "${vfs[2]}" "the first one that is not lost is taken"
is "$(available)" 1 "the types count what is left"
is "$(lease inventory --json | jq -r --arg type $type '.pgpus[].types[] | select(.id == $type) | "\(.capacity) \(.used) \(.available)"')" \
	"4 1 1" "so does the inventory"
lease check >"$work/check" 2>&1
for vf in "${vfs[@]:0:2}"; do holds "check says which VF is lost: $vf" says M_VF_LOST "$vf" <"$work/check"; done
is "$(says_times M_VF_LOST <"$work/check")" 2 "and of no other one"
holds "the last VF is taken" prepare 3
reports "then the driver has none" prepare 4 -- M_CAPACITY_NONE
tap_done
