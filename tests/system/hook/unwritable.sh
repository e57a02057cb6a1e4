#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The state in /run cannot be written: a domain starts if all its vGPUs exist, and what is not leased is leased or released later.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
configure nvidia-232 policy 'lock_timeout = 1' 'release_wait = 1' 'reclaim = never' 'driver_cleanup = 0'
u2=${u1%??}02
u9=${u1%??}09
another 2 >"$work/2.xml"
another 9 >"$work/9.xml"
sed "s/$u1/$u2/; s/one-vgpu/thief/; s/${vm_uuid%??}../${vm_uuid%??}77/" "$vm" >"$work/thief.xml"
sed "s/<\/devices>/$(sed -n '/<hostdev/,/<\/hostdev>/p' "$vm" | sed "s/$u1/$u9/" | tr -d '\n' | sed 's/[\/&]/\\&/g')<\/devices>/" "$work/2.xml" >"$work/both.xml"
trap 'umount -l "$root/run" 2>/dev/null; clean_up' EXIT
freeze() { mount -o remount,ro,bind "$root/run"; }
thaw() { mount -o remount,rw,bind "$root/run"; }
start() { # XML: its status, with what it says in $work/said
	prepare "$1" >/dev/null 2>"$work/said"
	echo $?
}
fill() { dd if=/dev/zero of="$root/run/fill" bs=4096 2>/dev/null; cat /dev/zero >>"$root/run/more" 2>/dev/null; :; }
empty() { rm -f "$root/run/fill" "$root/run/more"; }
# what_passes HOW: of domains while the state is so
what_passes() {
	is "$(start "$work/2.xml") $(leases)" "0 0" "$1: a domain whose vGPU exists starts, without a lease"
	is "$(start "$work/9.xml") $(devices)" "1 $u2 " "one whose vGPU is missing does not"
	is "$(grep -cE 'Read-only file system|No space left on device' "$work/said")" 1 "for this reason"
	is "$(start "$work/both.xml") $(devices)" "1 $u2 " "nor one that has only one of two"
	open_device "$u2"
	holds "its vGPU, which it has open, stays at its release" release "$work/2.xml"
	is "$(devices)" "$u2 " "as it would without us"
	close_device
}

### Nothing was ever written there
make_device 0000:84:00.0 nvidia-232 "$u2"
mkdir -p "$root/run"
mount -t tmpfs -o size=256k,nr_inodes=40,mode=755 tmpfs "$root/run"
freeze
what_passes "an empty, read-only /run"
thaw

### It was
prepare && release
freeze
what_passes "a read-only /run"
thaw
fill
what_passes "a full /run"
empty
holds "afterwards it is leased as ever" prepare "$work/2.xml"
is "$(sed -n 's/^origin=//p' "$root/run/vgpu-lease/leases/$u2")" adopted "as a vGPU that was there"

### Leases that are there
freeze
is "$(start "$work/thief.xml") $(says_times M_LEASED_TO <"$work/said")" "1 1" "a vGPU that is leased to another domain is refused"
is "$(start "$work/2.xml") $(leases)" "0 1" "its own domain starts with it again"
thaw
sed "s/$u2/$u9/; s/^state=.*/state=reserved/; s/^deadline_ms=.*/deadline_ms=1/" "$root/run/vgpu-lease/leases/$u2" >"$root/run/vgpu-lease/leases/$u9"
echo nonsense >"$root/run/vgpu-lease/leases/${u1%??}08"
freeze
is "$(start "$work/thief.xml") $(says_times M_LEASED_TO <"$work/said")" "1 1" "it is refused also beside records that should go and cannot"
thaw
release "$work/2.xml"
prepare
freeze
is "$(start "$vm")" 0 "so does a domain with a vGPU that was created for it"
thaw
release
eventually no_lease
is "$(devices)$(leases)" "$u2 0" "and that goes at its release, when /run can be written again"
prepare
open_device $u1
flock "$root/run/vgpu-lease/handler.lock" "$builddir/hooks/qemu" --root "$root" -- vm release end - <"$vm"
is "$(lease_has state $u1)" releasing "a vGPU that is being released"
freeze
is "$(start "$vm")" 1 "is not given to its domain, as its release could not be stopped"
thaw
close_device
lease gc >/dev/null
is "$(devices)$(leases)" "$u2 0" "and goes"
tap_done
