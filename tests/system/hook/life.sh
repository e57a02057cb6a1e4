#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A domain's vGPU from start to end, as libvirt calls the hook.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
configure nvidia-222@0000:84:00.0 nvidia-231@0000:85:00.0 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'release_wait = 1'
typed nvidia-231 >"$work/231.xml"

fails "several types and no word of which is a refusal" prepare
holds "a type in the metadata is leased" prepare "$work/231.xml"
is "$(type_of $u1) $(parent_of $u1)" "nvidia-231 0000:85:00.0" "the device has the XML's UUID, the type, and the card that serves it"
is "$(prepare "$work/231.xml" 2>&1)" "" "success is silent"
holds "a release releases though the metadata is nonsense by now" release <(typed "x y z")
is "$(devices)$(leases)" "0" "the device is removed and the lease dropped"
holds "a second release is no error" release "$work/231.xml"
holds "a type by its name" prepare <(typed 'GRID T4-2Q')
is "$(type_of $u1)" nvidia-231 "is found"
release "$vm"

# libvirtd returns to a guest with two vGPUs: one lease is lost, the other vGPU is leased to another domain.
two=$templates/domain-two-vgpus.xml
holds "a domain with two vGPUs" prepare "$two"
sed -i "s/^domain=.*/domain=$vm_uuid/" "$root/run/vgpu-lease/leases/${u1%??}21"
rm "$root/run/vgpu-lease/leases/${u1%??}22"
holds "a reconnect ends with 0 though a vGPU is leased to another" hook two-vgpus reconnect begin - <"$two"
is "$(leases)" 2 "and restores the lease of the other vGPU"
release "$two"
leaves "so that nothing is left behind" 0 release "$vm"

# A lease whose vGPU is not in the XML: a command was killed before libvirt attached it, or libvirt has detached it.
sed '/<hostdev/,/<\/hostdev>/d; /<metadata>/,/<\/metadata>/d' "$vm" >"$work/none.xml"
fails "a domain without a vGPU" grep -q hostdev "$work/none.xml"
prepare
holds "whose release" release <(sed "s/${vm_uuid%??}../${vm_uuid%??}7f/" "$work/none.xml")
is "$(leases)" 1 "concerns no other domain"
holds "of whom a lease is left" release "$work/none.xml"
is "$(devices)$(leases)" 0 "releases that at its release"

for i in 11 12; do another $i | grep -o "${u1%??}.." | while read -r u; do make_device 0000:84:00.0 nvidia-230 "$u"; done; done
make_orphan 0000:85:00.0 nvidia-232 "${u1%??}aa"
mdevctl_has 0000:85:00.0 "${u1%??}aa" nvidia-232
holds "an orphan that keeps the card from its type makes capacity" prepare "$work/231.xml"
fails "it is gone" test -e "$root/sys/bus/mdev/devices/${u1%??}aa"
fails "and so is its manual definition, which would mislead Nova" test -e "$root/etc/mdevctl.d/0000:85:00.0/${u1%??}aa"
is "$(devices | wc -w)" 3 "orphans that are in nobody's way stay"
release "$vm"
make_orphan 0000:85:00.0 nvidia-232 "${u1%??}ab"
mdevctl_has 0000:85:00.0 "${u1%??}ab" nvidia-232 auto
is "$(prepare "$work/231.xml" 2>&1)" "$(message M_REFUSED vm "$u1" "$(message M_NO_CAPACITY_DO nvidia-231 \
	"$(message M_OTHER_SIZE 0000:85:00.0 nvidia-232 4096); 0000:84:00.0: $(message M_SERVES nvidia-222)" "$(message M_FIX_UNLEASED "on 0000:85:00.0")")")" \
	"a device that mdevctl starts at boot is no orphan, and the refusal says what stands in the way"
is "$(leases)" 0 "a refusal leaves no lease"

### A guest's definition gets another type after its end, before its release is finished
new_host t4:2 nvidia-222@0000:84:00.0 nvidia-231@0000:85:00.0 policy 'driver_cleanup = 0' 'release_timeout = 1'
prepare <(typed nvidia-222) && open_device $u1
release "$vm"
close_device
is "$(states)" "1 releasing" "its vGPU is still there"
is "$(prepare "$work/231.xml" 2>&1)" "" "the next start finishes the release"
is "$(type_of $u1) $(parent_of $u1) $(states)" "nvidia-231 0000:85:00.0 1 active" "and gets the new type"
release "$vm"

### A full host, and a release that nobody works on: a start finishes it, unless it must wait
gives_up() { new_host t4 nvidia-234 policy 'release_wait = 0' 'release_timeout = 3600' "$@"; }
gives_up 'driver_cleanup = 0' 'lock_timeout = 8'
prepare && release
is "$(states)" "1 releasing" "a hook leaves its release to others"
holds "the next start finishes it" prepare 2
is "$(devices)$(states)" "$(numbered 2) 1 active" "and has its place"
open_device "$(numbered 2)" && release 2
fails "not while its vGPU is open" prepare
is "$(states)" "1 releasing" "which is waited for"
close_device
gives_up 'driver_cleanup = 600' 'lock_timeout = 1'
prepare && release
fails "nor while the driver may still remove it" prepare 2

### QEMU fails soon after its vGPU was created: the next start tries that pGPU last
new_host t4:2 nvidia-222 policy 'driver_cleanup = 0' 'start_grace = 60'
one=0000:84:00.0 two=0000:85:00.0
then_is "a guest gets a vGPU of the first pGPU" $one "parent_of $u1" prepare
release "$vm" failed
holds "when QEMU has failed" test -e "$root/run/vgpu-lease/failed/$one"
then_is "its next start gets one of the second, though it was on the first before" $two "parent_of $u1" prepare
release "$vm" failed
then_is "if all have failed it starts all the same" 1 leases prepare
release
rm -r "$root/run/vgpu-lease/failed"
prepare
release "$vm" crashed
fails "one that ends otherwise says nothing about its pGPU" test -e "$root/run/vgpu-lease/failed"
prepare
sed -i s/^since_ms=.*/since_ms=1/ "$root/run/vgpu-lease/leases/$u1"
release "$vm" failed
fails "nor one that fails later" test -e "$root/run/vgpu-lease/failed"
make_device $one nvidia-222 $u1
prepare
release "$vm" failed
fails "nor one with a vGPU that was there" test -e "$root/run/vgpu-lease/failed"

### The host is suspended, or its wall clock set: neither is time that a domain had
new_host t4:1 nvidia-222 policy 'driver_cleanup = 0'
# As after a suspend: the clock that counts it is ahead, the clock of running time is not.
later() { unshare --time --boottime 1000 --fork "$@"; }
prepare "$vm"
holds "time passes" later true
leaves "a suspend between a start and its QEMU takes nothing of start_grace" "$u1 1" later "$builddir/vgpu-lease" --root "$root" gc
holds "the domain's end" later "$builddir/hooks/qemu" --root "$root" -- vm release end - <"$vm"
is "$(leases)$(devices)" 0 "releases"
holds "an arrival" hook vm migrate begin - <"$vm"
leaves "is reserved for as long as the host runs" 1 later "$builddir/vgpu-lease" --root "$root" gc

### In a PID namespace of its own, as in a container: the host's processes are invisible, so any may have the vGPU open
new_host t4:1 nvidia-222 policy 'driver_cleanup = 0' 'start_grace = 1'
# shellcheck disable=SC2016 # of the other shell
apart() { unshare --pid --fork --mount bash -c 'mount -t proc none "$0/proc" && exec "$@"' "$root" "$@"; }
holds "a process sees only its namespace" apart test ! -e "$root/proc/$$"
prepare "$vm"
sed -i s/^since_ms=.*/since_ms=1/ "$root/run/vgpu-lease/leases/$u1"
leaves "the vGPU of a domain that is not running stays" "$u1 1" apart "$builddir/vgpu-lease" --root "$root" gc
leaves "from the host's namespace it is removed" 0 lease gc

### Leases that a running domain does not use: an attach was killed midway, or a device was unplugged and no handler runs
new_host t4+l40s/1
configure_both 'driver_cleanup = 0' 'create_timeout = 1' 'start_grace = 1'
with_vf >"$work/vf.xml"
# runs HOSTDEVS: libvirt's status file of the domain, with these in it
runs() { printf "<domain type='kvm'><name>vm</name><uuid>%s</uuid>\n%s\n</domain>\n" $vm_uuid "$1" | libvirt_runs vm; }
edit_lease() { sed -i "$1" "$root/run/vgpu-lease/leases/"*; }

prepare
runs "<hostdev><source><address uuid='$u1'/></source></hostdev>"
edit_lease 's/^since_ms=.*/since_ms=1/'
leaves "the vGPU of a running domain stays" "$u1 1" lease gc
runs "<metadata><record uuid='$u1'/></metadata>"
leaves "also one that only a suspend's record names" "$u1 1" lease gc

prepare
runs ""
edit_lease 's/^since_ms=.*/since_ms=1/; s/^state=.*/state=creating/; s/^writer_start=.*/writer_start=1/'
leaves "also if the attach was killed while it created it" 0 lease gc
prepare
runs ""
edit_lease 's/^state=.*/state=creating/; s/^writer_start=.*/writer_start=1/'
remove_device $u1
leaves "or before" 0 lease gc

prepare "$work/vf.xml"
runs "<metadata><k:suspended xmlns:k='urn:vgpu-lease:suspended:1' hostdevs='&lt;hostdev&gt;'/></metadata>"
edit_lease 's/^since_ms=.*/since_ms=1/'
leaves "a VF that a suspend may have taken stays" 1 lease gc
runs ""
then_is "one that nothing names is released" "0 0" "echo \$(leases) \$(vf_type 0000:26:00.4)" lease gc
tap_done
