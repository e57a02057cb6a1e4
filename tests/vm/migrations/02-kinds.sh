# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ways to migrate, to save and to go back in time
there policy 'reserve_ttl = 3'
MIGRATABLE=1 define mover "$U1"
for side in '' there; do
	$side systemctl start vgpu-leased
	check "the device handler runs${side:+ there, too}" $side within 30 connected
done
run virsh start mover
check "it writes into the live metadata what host1 knows of the device" within 30 marked mover "$U1"
there taken "$U1"
migrate_to 2 mover --p2p --persistent --undefinesource
check "from daemon to daemon, with its definition, a domain goes to host2, where its UUID is taken" succeeded
there given_up
device=$(there device_in mover)
check "with a new device" test -n "$device" -a "$device" != "$U1"
check "which is the only one there" there within 20 has mover "$device"
check "host2 has put what it knows in the place of that" there within 30 marked mover "$device"
check "and the metadata name no other device" same "$(there eval "virsh metadata mover urn:vgpu-lease:domain:1 | grep -c '<device'")" 1
check "host1 knows nothing of the domain any more" no virsh dominfo mover
check "nor of its device" within 20 nothing_left
for side in '' there; do $side systemctl stop vgpu-leased; done
check "the definition that came along names the first device" same "$(there device_in mover --inactive)" "$U1"

there run virsh managedsave mover
check "there it can be put to sleep" there within 20 nothing_left
there run virsh start mover
check "and it wakes" there succeeded
device=$(there device_in mover)
check "with the only device and lease" there has mover "$device"

there migrate_to 1 mover --p2p --tunnelled
check "through a tunnel it comes back" there succeeded
check "with the only device and lease" has mover "$(device_in mover)"
check "nothing stays on host2" there within 20 nothing_left
run virsh destroy mover
check "nothing stays where it ends" within 20 nothing_left
there run virsh start mover
check "its definition on host2 starts with the device that it names" there has mover "$U1"
there run virsh destroy mover
check "which is released, too" there within 20 nothing_left

MIGRATABLE=1 define cold "$U2"
there taken "$U2"
run virsh migrate --offline --persistent cold qemu+tcp://host2/system
check "a domain that is off moves with its definition" succeeded
there given_up
check "host2 has a reservation for it, and no device" there within 20 only_reserved
sleep 3
there run vgpu-lease gc
check "after reserve_ttl, gc leaves nothing of it" there nothing_left
check "the definition there names the device that was reserved" no same "$(there device_in cold)" "$U2"
there run virsh start --paused cold
check "it starts there" there has cold "$(there device_in cold)"
there run virsh destroy cold

run virsh start --paused cold
run virsh save cold "$WORK/cold.save"
sed "s/$U2/$U3/" "$WORK/cold.xml" >"$WORK/changed.xml"
run virsh restore "$WORK/cold.save" --xml "$WORK/changed.xml" --paused
check "a saved domain is restored with another device in its XML" succeeded
check "and has that one" has cold "$U3"
run virsh destroy cold

qemu-img create -q -f qcow2 -b "$IMAGES/empty.img" -F raw "$IMAGES/layer.qcow2"
DISK=$IMAGES/layer.qcow2 MIGRATABLE=1 domain layer traveller "$U1"
sed -i "s/type='raw'/type='qcow2'/; /<readonly/d" "$WORK/layer.xml"
run virsh define "$WORK/layer.xml"
run virsh start --paused traveller
succeeds "a snapshot is taken of a domain with a device" virsh snapshot-create-as traveller before
succeeds "the domain goes back to it" virsh snapshot-revert traveller before
check "with its device" has traveller "$U1"
run virsh destroy traveller
run virsh undefine --snapshots-metadata traveller
check "at last nothing is left" within 20 nothing_left
