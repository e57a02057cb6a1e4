#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A domain's vGPU from start to end, as libvirt calls the hook.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
configure nvidia-222@0000:84:00.0 nvidia-231@0000:85:00.0 policy 'driver_cleanup = 0' 'reclaim_grace = 0' \
	'release_wait = 1'
typed nvidia-231 >"$work/231.xml"
typed 'GRID T4-2Q' >"$work/named.xml"

fails "several types and no word of which is a refusal" prepare
holds "a type in the metadata is leased" prepare "$work/231.xml"
is "$(type_of $u1) $(parent_of $u1)" "nvidia-231 0000:85:00.0" "the device has the XML's UUID, the type, and the card that serves it"
holds "a second prepare of the same domain changes nothing" prepare "$work/231.xml"
is "$(devices)$(leases)" "$u1 1" "there is one device and one lease"
is "$(prepare "$work/231.xml" 2>&1)" "" "success is silent"
said=$(another 2 "$work/231.xml" | sed "s/${u1%??}02/$u1/" | prepare /dev/stdin 2>&1)
is "$said" "$(message M_REFUSED vm "$u1" "$(message M_LEASED_TO_DO one-vgpu "$vm_uuid")")" \
	"another domain with the same UUID is refused in one line that names the owner"
another 2 "$work/231.xml" | sed "s/${u1%??}02/$u1/" >"$work/loser.xml"
holds "the loser's release succeeds" release "$work/loser.xml" failed
is "$(devices)$(leases)" "$u1 1" "and takes nothing from the winner"
sed 's/type=.nvidia-231./type="\&bogus;"/' "$work/231.xml" | sed 's/&bogus;/x y z/' >"$work/edited.xml"
holds "a release releases though the metadata is nonsense by now" release "$work/edited.xml"
is "$(devices)$(leases)" "0" "the device is removed and the lease dropped"
holds "a second release is no error" release "$work/231.xml"
holds "a type by its name" prepare "$work/named.xml"
is "$(type_of $u1)" nvidia-231 "is found"
release "$vm"

make_device 0000:84:00.0 nvidia-222 $u1
holds "a device that was there before is adopted" prepare
release "$vm"
is "$(devices)$(leases)" "$u1 0" "and left standing at release"
remove_device $u1

# libvirtd comes back to a guest of whose leases one is lost, and one is another domain's.
two=$templates/domain-two-vgpus.xml
holds "a domain with two vGPUs" prepare "$two"
sed -i "s/^domain=.*/domain=$vm_uuid/" "$root/run/vgpu-lease/leases/${u1%??}21"
rm "$root/run/vgpu-lease/leases/${u1%??}22"
holds "a reconnect ends with 0 though a vGPU is leased to another" hook two-vgpus reconnect begin - <"$two"
is "$(leases)" 2 "and restores the lease of the other vGPU"
release "$two"
release "$vm"
is "$(devices)$(leases)" 0 "so that nothing is left behind"

# What a command leased that was killed before libvirt attached it, or libvirt detached: the XML has no vGPU (left).
sed '/<hostdev/,/<\/hostdev>/d; /<metadata>/,/<\/metadata>/d' "$vm" >"$work/none.xml"
fails "a domain without a vGPU" grep -q hostdev "$work/none.xml"
prepare
sed "s/${vm_uuid%??}../${vm_uuid%??}7f/" "$work/none.xml" >"$work/other.xml"
holds "whose release" release "$work/other.xml"
is "$(leases)" 1 "concerns no other domain"
holds "of whom a lease is left" release "$work/none.xml"
is "$(devices)$(leases)" 0 "releases that at its release"

# Capacity that orphans hold.
for i in 11 12; do another $i | grep -o "${u1%??}.." | while read -r u; do make_device 0000:84:00.0 nvidia-230 "$u"; done; done
make_device 0000:85:00.0 nvidia-232 "${u1%??}aa"
for_guest "${u1%??}aa" nvidia-232 0000:85:00.0
mdevctl_has 0000:85:00.0 "${u1%??}aa" nvidia-232
holds "an orphan that keeps the card from its type makes capacity" prepare "$work/231.xml"
fails "it is gone" test -e "$root/sys/bus/mdev/devices/${u1%??}aa"
fails "and so is its manual definition, which would mislead Nova" test -e "$root/etc/mdevctl.d/0000:85:00.0/${u1%??}aa"
is "$(devices | wc -w)" 3 "orphans that are in nobody's way stay"
release "$vm"
make_device 0000:85:00.0 nvidia-232 "${u1%??}ab"
for_guest "${u1%??}ab" nvidia-232 0000:85:00.0
mdevctl_has 0000:85:00.0 "${u1%??}ab" nvidia-232 auto
is "$(prepare "$work/231.xml" 2>&1)" "$(message M_REFUSED vm "$u1" "$(message M_NO_CAPACITY_DO nvidia-231 \
	"$(message M_OTHER_SIZE 0000:85:00.0 nvidia-232 4096); 0000:84:00.0: $(message M_SERVES nvidia-222)" "$(message M_FIX_UNLEASED "on 0000:85:00.0")")")" \
	"a device that mdevctl starts at boot is no orphan, and the refusal says what stands in the way"
is "$(leases)" 0 "a refusal leaves no lease"
tap_done
