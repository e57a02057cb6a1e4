#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A vGPU that somebody has open, or may have: what is removed, what waits, and for how long.
# shellcheck disable=SC2016,SC2034 # what eval expands; descriptors that stay open
. "$(dirname "$0")/../../lib/hook.sh"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 1' 'release_timeout = 2' 'lock_timeout = 3'
u2=${u1%??}02
# From now on the processes of the host are those that the test makes up; TEXT... are files with a line each.
rm "$root/proc" && mkdir -p "$root/proc" "$root/run/libvirt/qemu"
handler() { exec 8>>"$root/run/vgpu-lease/handler.lock" && flock 8; } # a handler is there, which does nothing

### A process that cannot be looked into
mkdir "$root/proc/77"
echo 'no directory' >"$root/proc/77/fd"
echo qemu-system-x86 >"$root/proc/77/comm"
holds "a start beside a process that cannot be looked into" prepare
holds "and its release" release
is "$(devices)$(leases)" "0" "are as without it"
make_device 0000:84:00.0 nvidia-222 $u1
holds "a vGPU that exists is adopted beside it" prepare
echo 77 >"$root/run/libvirt/qemu/other.pid"
release
holds "also if it is a QEMU of libvirt's: VFIO lets nobody in as the second" prepare
rm "$root/run/libvirt/qemu/other.pid"
release
remove_device $u1
prepare
echo 77 >"$root/run/libvirt/qemu/other.pid"
handler
holds "beside a QEMU of libvirt's that cannot be looked into a release ends well" release
is "$(devices)$(states)" "$u1 1 releasing" "and leaves the vGPU to whoever sees more"
reports "who says so" lease release $u1 -- M_HELD_OPEN_QEMU 77
rm "$root/run/libvirt/qemu/other.pid"
exec 8>&-
leaves "it goes when all can be seen" "0" lease gc

### A path is no device
rm -r "$root/proc/77"
prepare
mkdir -p "$root/proc/78/fd"
ln -s ../../../file "$root/proc/78/fd/3" && : >"$root/file"
ln -s "/dev/vfio/$(basename "$(readlink "$root/sys/bus/mdev/devices/$u1/iommu_group")")" "$root/proc/78/fd/4"
leaves "a file that is called as the node keeps nothing" "0" release

### A user's processes with many descriptors
prepare
(exec 2>/dev/null; ulimit -n 16000; for ((i = 0; i < 15000; i++)); do exec {fd}</dev/null; done; exec setpriv --reuid 65534 sleep 600) &
many=$!
eventually test -e /proc/$many/fd/15000
eventually prints 65534 stat -c %u /proc/$many
rm -r "$root/proc" && mkdir "$root/proc"
for ((i = 1000; i < 1200; i++)); do ln -s /proc/$many "$root/proc/$i"; done
# A busy machine may not get through them within one release_wait: the next call does.
released() { release; [ "$(devices)$(leases)" = 0 ]; }
holds "3,000,000 descriptors of a user stop no release" eventually released
prepare
sed -i 's/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/' "$root/run/vgpu-lease/leases/$u1"
reports "gc names them" lease gc -- M_UNREAD "*" 199
is "$(devices)$(leases)" "0" "and is not stopped either"
in_use
ln -s "$root/.kernel/proc/$holder" "$root/proc/2000"
echo 2000 >"$root/run/libvirt/qemu/other.pid"
handler
then_is "a QEMU beside them is seen" "$u1 1 releasing" "echo \$(devices) \$(states)" release
holds "and named" says M_HELD_OPEN 2000 <<<"$(lease release $u1 2>&1)"
exec 8>&-
close_device
rm "$root/run/libvirt/qemu/other.pid"
kill $many
rm -r "$root/proc" && mkdir "$root/proc"
lease gc >/dev/null

### A look that takes too long
(exec 2>/dev/null; for ((i = 0; i < 900; i++)); do exec {fd}</dev/null; done; exec sleep 600) &
many=$!
eventually test -e /proc/$many/fd/900
rm -r "$root/proc" && mkdir "$root/few" "$root/proc"
for ((i = 1000; i < 3000; i++)); do ln -s /proc/$many "$root/few/$i"; done
show() { rm -r "$root/proc" && if [ "$1" = few ]; then ln -s few "$root/proc"; else mkdir "$root/proc"; fi; }
make_device 0000:84:00.0 nvidia-222 $u1
show few
in_ms 2000 0 "a start does not wait for a look at 1,800,000 descriptors" prepare
show none
release
remove_device $u1
prepare
show few
handler
in_ms 2500 0 "a release does not beyond release_wait" release
is "$(devices)$(states)" "$u1 1 releasing" "and removes nothing that it does not know"
show none
kill $many
exec 8>&-
leaves "it goes later" "0" lease gc

### A holder that nobody can see: the removal hangs, and the pGPU does not with it
in_use
handler
release
holds "the removal hangs in the kernel" eventually pending remove
is "$(states)" "1 releasing" "its lease stays"
exec 8>&-
in_ms 2000 0 "another start on the same pGPU is served meanwhile" prepare 2
is "$(devices)" "$u2 " "with its vGPU"
then_is "no other removal takes the lease for done" 2 leases lease gc
fails "the domain itself is not given what is being removed" prepare
release 2
kill "$holder"
holds "when the holder ends, so does the removal" eventually eval '! pending remove'
leaves "and then nothing is left" "0" lease gc
tap_done
