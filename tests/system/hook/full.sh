#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The directory of the leases is full, or cannot be written: what a domain had is released all the same.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
settings() { configure nvidia-232 policy 'reclaim = never' 'lock_timeout = 1' "$@"; } # LINE...: of the policy
u2=${u1%??}02 u9=${u1%??}09
another 2 >"$work/2.xml"
trap 'umount -l "$root/run" 2>/dev/null; clean_up' EXIT
is_full() { ! head -c 1 /dev/zero 2>/dev/null >"$root/run/more"; }
fill() { dd if=/dev/zero of="$root/run/fill" bs=4096 2>/dev/null; is_full; }
empty() { rm -f "$root/run/fill" "$root/run/more"; }
state() { sed -n 's/^state=//p' "$root/run/vgpu-lease/leases/"*; }

### A full /run
mount -t tmpfs -o size=256k,mode=755 tmpfs "$root/run"
settings 'driver_cleanup = 0'
prepare
holds "a /run that is full" fill
leaves "keeps no release from releasing" 0 release "$vm"
empty
settings 'driver_cleanup = 0' 'release_wait = 0'
prepare && fill
open_device $u1
flock "$root/run/vgpu-lease/handler.lock" "$builddir/hooks/qemu" --root "$root" -- vm release end - <"$vm"
is "$(state)" releasing "what is open still is marked where there is no capacity for it"
close_device
leaves "and finished by whoever comes next" 0 lease gc
empty
prepare
sed -i 's/^since_ms=.*/since_ms=1/' "$root/run/vgpu-lease/leases/$u1"
fill
is "$(state)$(is_full && echo full)" activefull "a domain that no longer runs"
leaves "is collected" 0 lease gc
cat /dev/zero >>"$root/run/more" 2>/dev/null
prepare 2>"$work/said"
is "$?$(leases)$(devices)" 10 "a start is refused, and leaves nothing"
is "$(refusals state)|$(refusals capacity)" "1|0" "for the state: no card is full"
empty
chmod 775 "$root/run/vgpu-lease/leases"
prepare 2>"$work/said"
chmod 755 "$root/run/vgpu-lease/leases"
is "$(refusals state)|$(refusals request)" "2|0" "so is one where the state is not trusted: no request is wrong"
cp "$root/etc/vgpu-lease.conf" "$work/conf"
echo nonsense >>"$root/etc/vgpu-lease.conf"
prepare 2>"$work/said"
rm "$root/etc/vgpu-lease.conf"
prepare 2>"$work/said"
is "$(refusals config)|$(refusals request)|$(refusals error)" "2|0|0" "a wrong and a missing configuration are a reason of their own"
cp "$work/conf" "$root/etc/vgpu-lease.conf"
umount -l "$root/run"

### A read-only one
settings 'driver_cleanup = 0'
mount --bind "$root/run" "$root/run"
freeze() { mount -o remount,ro,bind "$root/run"; }
thaw() { mount -o remount,rw,bind "$root/run"; }
frozen_release() { # XML
	local status=0
	freeze && release "$1" || status=$?
	thaw
	return $status
}
prepare
make_device 0000:84:00.0 nvidia-232 "$u2"
holds "a device that was there before" prepare 2
holds "a release with a read-only /run ends with 0" frozen_release "$vm"
frozen_release "$work/2.xml"
is "$(leases) $(state | uniq)" "2 active" "what it cannot write stays as it was"
holds "and a start of the same domain is one as any other" prepare
is "$(devices | wc -w) $(state | uniq)" "2 active" "with its device"
frozen_release "$vm"
settings 'driver_cleanup = 0' 'start_grace = 1'
sleep 1.2
for i in 3 4 5; do prepare $i; done
holds "the start of another domain takes what such a release left" test "$(devices | wc -w)" = 4
sleep 1.2
leaves "and gc, as that of any domain that no longer runs; what was there before is left standing" "$u2 0" lease gc

umount "$root/run"
settings 'driver_cleanup = 0'
sed "s|</devices>|$(mdev_hostdev "$(numbered 3)")&|" "$vm" >"$work/two.xml"
prepare "$work/two.xml"
mkdir "$root/run/vgpu-lease/leases/.${u1%??}03.new"
hook vm release end - <"$work/two.xml" 2>"$work/said"
is "$(devices)$(state)" "$u2 ${u1%??}03 active" "what can be marked is released, although another lease of the domain cannot be written"

### A domain starts if all its vGPUs exist, and what is not leased is leased or released later
new_host t4:1 nvidia-232 policy 'lock_timeout = 1' 'release_wait = 1' 'reclaim = never' 'driver_cleanup = 0'
another 9 >"$work/9.xml"
sed "s/$u1/$u2/; s/one-vgpu/thief/; s/${vm_uuid%??}../${vm_uuid%??}77/" "$vm" >"$work/thief.xml"
sed "s|</devices>|$(mdev_hostdev "$u9")&|" "$work/2.xml" >"$work/both.xml"
start() { prepare "$1" >/dev/null 2>"$work/said"; echo $?; } # XML: its status, with what it says in $work/said
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

make_device 0000:84:00.0 nvidia-232 "$u2"
mkdir -p "$root/run"
mount -t tmpfs -o size=256k,nr_inodes=40,mode=755 tmpfs "$root/run"
freeze
what_passes "an empty, read-only /run"
thaw

prepare && release
freeze
what_passes "a read-only /run"
thaw
fill
what_passes "a full /run"
empty
holds "afterwards it is leased as ever" prepare "$work/2.xml"
is "$(sed -n 's/^origin=//p' "$root/run/vgpu-lease/leases/$u2")" adopted "as a vGPU that was there"

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
in_use
flock "$root/run/vgpu-lease/handler.lock" "$builddir/hooks/qemu" --root "$root" -- vm release end - <"$vm"
is "$(lease_has state $u1)" releasing "a vGPU that is being released"
freeze
is "$(start "$vm")" 1 "is not given to its domain, as its release could not be stopped"
thaw
close_device
leaves "and goes" "$u2 0" lease gc
tap_done
