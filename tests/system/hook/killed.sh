#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The process that writes to the kernel is killed: by the OOM killer, or by whoever reads that it holds a lock.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2+l40s/1
t4=0000:84:00.0 l40s=0000:26:00.0 vf=0000:26:00.4
configure_both 'driver_cleanup = 0' 'reclaim_grace = 0' 'create_timeout = 20'
with_vf >"$work/vf.xml"
typed nvidia-222 >"$work/vm.xml" && vm=$work/vm.xml
origins() { lease list --json | sed -n 's/.*"origin": "\(.*\)",/\1/p' | sort | uniq -c | xargs; }
clean() { # SENTENCE [FILE]: once this domain has ended
	[ $# = 1 ] || release "$2"
	eventually collected
	is "$(devices)$(vf_type $vf)$(leases)" 00 "$1"
}
# In $writer, the child of $hook that is in write(2). Its other children only read, and may have ended.
is_writing() {
	for writer in $(pgrep -P "$hook"); do
		if grep -q '^1 ' "/proc/$writer/syscall"; then return; fi
	done 2>/dev/null
	return 1
}

# kill_writer XML OPERATION...: the operation, whose first write to the kernel is killed midway: the driver goes on.
kill_writer() {
	local xml=$1 hook writer
	shift
	"$builddir/hooks/qemu" --root "$root" -- vm "$@" <"$xml" 2>"$work/said" &
	hook=$!
	eventually is_writing
	eventually pending .
	kill -KILL "$writer"
	wait $hook
}

for card in $t4 $l40s; do control create_delay_ms "$card 1500"; done
holds "a start whose writer is killed has its vGPU all the same" kill_writer "$vm" prepare begin -
is "$(devices)$(origins)" "$u1 1 created" "which is known to be ours"
clean "so that nothing is left behind at the end" "$vm"

two=$templates/domain-two-vgpus.xml
holds "of two creations the writer of the first is killed" kill_writer "$two" prepare begin -
is "$(devices | wc -w) $(origins)" "2 2 created" "both are there, and ours"
clean "and gone at the end" "$two"

holds "the writer of a VF's type is killed" kill_writer "$work/vf.xml" prepare begin -
is "$(vf_type $vf) $(origins)" "1147 1 created" "the VF has the type, and it is ours"
clean "and none at the end" "$work/vf.xml"

# A write that is interrupted before the driver has done anything is not the card's failure.
control create_delay_ms "$t4 0"
control inject "create $t4 EINTR"
holds "where the write was broken off, another card serves" prepare
is "$(parent_of $u1) $(origins)" "0000:85:00.0 1 created" "the next one"
fails "and the first is not put last for it" test -e "$root/run/vgpu-lease/failed/$t4"
clean "and nothing is left" "$vm"

control remove_delay_ms "$t4 1500"
sed -i 's/10de:1eb8/0000:84:00.0/; s/device_match = 0000/device_addresses = 0000/' "$root/etc/vgpu-lease.conf"
aa=${u1%??}aa
make_orphan $t4 nvidia-234 "$aa"
mdevctl_has $t4 "$aa" nvidia-234
holds "the writer that removes an orphan is killed" kill_writer "$vm" prepare begin -
is "$(devices)$(origins)" "$u1 1 created" "the orphan is gone, and the start has its vGPU"
fails "and so is the orphan's definition" test -e "$root/etc/mdevctl.d/$t4/$aa"

holds "the writer that removes a domain's vGPU is killed" kill_writer "$vm" release end -
clean "and nothing is left"

### Other software makes a vGPU again under the lease of a release that was killed after its removal
configure_both 'driver_cleanup = 0' 'reclaim_grace = 0'
made_again() { # what the killed release has done; what the other software does
	prepare
	remove_device $u1
	make_device $t4 nvidia-222 $u1
}
control remove_delay_ms "$t4 0"
made_again
leaves "the domain's release leaves it" "$u1 0" release
lease gc >"$work/gc.out" 2>&1
is "$(devices)" "$u1 " "and so does gc: it was not made for a guest"
remove_device $u1
made_again
origin_is "the domain starts again with it, and adopts it" adopted prepare
leaves "and leaves it" "$u1 0" release
remove_device $u1

prepare "$work/vf.xml"
set_vf_type $vf 0
set_vf_type $vf 1145
holds "a start takes the VF with another type" prepare "$work/vf.xml"
is "$(lease_has origin $vf)" adopted "and adopts it"
then_is "and leaves it" "1145 0" "echo \$(vf_type $vf) \$(leases)" release "$work/vf.xml"
set_vf_type $vf 0

### libvirtd is killed during a start, and starts the domain again: the older hook is overtaken
prepare
was=$(lease_has writer_start)
sed -i "s/^writer_start=.*/writer_start=$((was + 1000000))/" "$root/run/vgpu-lease/leases/$u1"
refuses "a start leaves the lease of a later start" prepare -- M_STARTED_AGAIN
is "$(devices)$(lease_has state)" "$u1 active" "which goes on with it"
clean "and its release removes the vGPU" "$vm"

### What a domain has given up goes, whatever else of the host cannot be read
configure_both 'driver_cleanup = 0' 'release_timeout = 60' 'release_wait = 0'
in_use && mkdir -p "$root/etc/libvirt" && touch "$root/etc/libvirt/qemu"
with_lock "$root/run/vgpu-lease/lock" sleep 0.3 & eventually is_locked "$root/run/vgpu-lease/lock"
release
close_device
clean "what a release leaves, even if another process has the lock, needs none of libvirt's files"
rm "$root/etc/libvirt/qemu"

### A hook leaves nothing behind it but a write to the kernel; gc finishes the release, and may be killed at it
at_it() { pgrep -c -f "^$builddir/$1 --root $root " || :; }
in_use
then_is "where the device is open, a release leaves its lease, and no process" "0 releasing" "echo \$(at_it hooks/qemu) \$(listed state)" release
lease gc >"$work/gc.out" 2>&1 &
gc=$!
sleep 0.5
pkill -KILL -f "^$builddir/vgpu-lease --root $root gc"
wait $gc 2>/dev/null
close_device
clean "what a killed gc has begun, the next one finishes"

configure_both 'driver_cleanup = 0' 'release_timeout = 1' 'release_wait = 1'
prepare
control remove_delay_ms "$t4 5000"
release
one_writes() { pending "remove $t4" && [ "$(at_it hooks/qemu)" = 1 ]; }
holds "where the driver does not answer, the one process that writes is left" one_writes
is "$(leases)" 1 "and the lease stays"
holds "when the driver answers, its write ends" eventually prints 0 at_it hooks/qemu
clean "and gc finishes the release"
tap_done
