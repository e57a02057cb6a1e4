#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How the driver lets a vGPU go: by itself, or not for a long time. Whoever releases it, hook or gc, it ends clean.
. "$(dirname "$0")/../../lib/hook.sh"
use() { # UUID: a process opens the device, and closes it
	true 9<>"$(node_of "$1")"
}
capacity() { cat "$root/sys/class/mdev_bus/$1/mdev_supported_types/nvidia-222/available_instances"; }
# The removals of a card that were tried, by the kernel's log, each with how it ended.
removals() { awk -v card="$1" '$2 ~ /remove$/ && $3 == card { print $2, $6 }' "$root/.kernel/control/log" | uniq | paste -sd,; }
# Are there N leases still, or has the driver let go of the one on WHERE by now?
stays() { [ "$(leases)" = "$1" ] || [[ $(removals "$2") == *"remove ok" ]]; }
# As where the device handler runs: the hook leaves slow releases to it, here to gc.
with_handler() { flock "$root/run/vgpu-lease/handler.lock" "$@"; }

a=0000:84:00.0 b=0000:85:00.0
u2=${u1%??}02
host t4:2
configure nvidia-222 policy 'placement = spread'
another 2 >"$work/2.xml"

### It removes the device by itself
control driver_removes '400 zombie'
prepare && prepare "$work/2.xml"
is "$(parent_of "$u1") $(parent_of "$u2")" "$a $b" "two domains have a vGPU each, on two cards"
use "$u1"; use "$u2"
holds "the release of a device that the driver is about to remove succeeds" release
eventually test ! -e "$root/run/vgpu-lease/leases/$u1"
is "$(removals $a)" "driver-remove ok" "and it was left to the driver"
is "$(capacity $a)" 16 "so that no instance is lost"
with_handler "$builddir/hooks/qemu" --root "$root" -- vm2 release end destroyed <"$work/2.xml"
holds "gc ends with what the driver removed, too" lease gc
is "$(removals $b) $(capacity $b) $(devices)$(leases)" "driver-remove ok 16 0" "and nothing is left of either"
control driver_removes off

### Somebody removes it before the driver is done with it
configure nvidia-234@$a
control driver_removes '60000 zombie'
another 3 >"$work/big.xml"
u3=${u1%??}03
prepare "$work/big.xml"
use "$u3"
remove_device "$u3"
release "$work/big.xml"
control driver_removes off
is "$(prepare "$work/big.xml" 2>&1)" \
	"vgpu-lease: domain vm: vGPU $u3: no capacity for nvidia-234, the only type of the pool: $a: the driver offers none, although the card is empty; a removed vGPU may occupy it until a reboot; see dmesg; $b: not in the pool: not named in the configuration; see 'vgpu-lease --root $root inventory'" \
	"a card that is short of what was on it is told as such"
holds "and is broken to check" grep -q "^FAIL *type .*nvidia-234" <(lease check)
end_host
rm -rf "$root/var/lib/vgpu-lease"
host t4:2

### It does not let go for eight seconds
configure nvidia-222 policy 'placement = spread' 'driver_cleanup = 0'
control log clear
control plugin_delay_ms 8000
prepare && prepare "$work/2.xml"
use "$u1"
holds "a release that the driver refuses for eight seconds ends all the same" release
holds "its lease stays meanwhile" stays 2 $a
use "$u2"
with_handler "$builddir/hooks/qemu" --root "$root" -- vm2 release end destroyed <"$work/2.xml"
lease gc >"$work/gc.out" 2>&1 &
holds "the hook's child tries until the driver has let go" eventually no_lease
wait $!
is "$(removals $a)" "remove EBUSY,remove ok" "it was refused before"
is "$(removals $b)" "remove EBUSY,remove ok" "so was gc, which tries as well"
is "$(devices)$(capacity $a) $(capacity $b)" "16 16" "and nothing is left of either"
control plugin_delay_ms 0

control log clear
control inject "remove any EBUSY 1000000"
prepare
release "$vm"
sleep 8 && control inject clear
holds "a driver that refuses at once, again and again, gets its eight seconds, too" eventually no_lease
is "$(devices)$(capacity $a) $(removals $a)" "16 remove EBUSY,remove ok" "and nothing is left"

### The same of a VF that has a type
end_host
host l40s/2
configure nvidia-1155
vf=0000:26:00.4
with_vf >"$work/vf.xml"
control plugin_delay_ms 8000
holds "a VF gets its type" prepare "$work/vf.xml"
true 9<>"$(node_of $vf)"
holds "its release ends, though the driver refuses to clear it" release "$work/vf.xml"
holds "its lease stays meanwhile" stays 1 $vf
holds "the hook's child tries until the driver has let go" eventually no_lease
# Whoever tries once more, when the write that hung has done it, is told EPERM: there is nothing to clear.
is "$(vf_type $vf) $(removals 0000:26:00.4 | sed 's/,remove EPERM$//')" "0 remove EBUSY,remove ok" "then it has none"
control plugin_delay_ms 0
prepare "$work/vf.xml"
control inject "remove any EIO 3"
release "$work/vf.xml"
holds "nor does another error leave anything, once it has passed" eventually bash -c "'$builddir/vgpu-lease' --root '$root' gc >/dev/null; ! ls '$root/run/vgpu-lease/leases' | grep -q ."
is "$(vf_type $vf)" 0 "the type is cleared"
tap_done
