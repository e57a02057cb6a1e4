# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vGPUs attached to a running guest, and detached from it
the_lease() { leases | jq -r '.leases[0].id'; }
define plain
errs "a domain that does not run gets nothing attached" vgpu-lease attach plain
check "and the reason is said" tells M_NOT_RUNNING plain

virsh -q start plain
succeeds "a domain that runs gets a vGPU" vgpu-lease attach plain
id=$(the_lease)
check "it says which" tells M_ATTACHED "$id" mtty-2 mtty plain
check "it is leased to the domain" held_by "$id" plain
check "the domain has it" same "$(device_in plain)" "$id"
check "QEMU has it open" uses_open plain "$id"
check "its definition has none" same "$(device_in plain --inactive)" ''
check "the metadata say what it is" [ "$(virsh metadata plain --uri urn:vgpu-lease:domain:1 | grep -c "uuid=\"$id\" type=\"mtty-2\"")" = 1 ]

run vgpu-lease attach --type 'Dual port serial' "$(uuid_of plain)"
check "a second one, by the domain's UUID and the type's name" succeeded
second=$(leases | jq -r --arg id "$id" '.leases[] | select(.id != $id).id')
check "is the domain's, too" held_by "$second" plain

succeeds "a vGPU is detached from the domain" vgpu-lease detach plain "$id"
check "the domain has the other one left" same "$(device_in plain)" "$second"
check "what was detached is gone" only "$second"
check "and in no lease" same "$(leases | jq -c '[.leases[].id]')" "[\"$second\"]"
errs "it cannot be detached twice" vgpu-lease detach plain "$id"
check "for the domain does not have it" tells M_NOT_ITS_VGPU plain "$id"

run virsh destroy plain
check "what was attached is released when the domain ends" within 15 nothing_left

virsh -q start plain
succeeds "a vGPU is attached for good" vgpu-lease attach plain --persistent
id=$(the_lease)
check "then the definition has it, too" same "$(device_in plain --inactive)" "$id"
virsh -q destroy plain
within 15 nothing_left
run virsh start plain
check "and the domain has it again at its next start" uses plain "$id"
run vgpu-lease detach plain "$id" --persistent
check "it is detached for good" same "$(device_in plain)$(device_in plain --inactive)" ''
check "and released" nothing_left
virsh -q destroy plain

for n in {1..11}; do make_device "$(printf 'bbbbbbbb-0000-4000-8000-%012d' "$n")"; done
sed -i '$a [policy]\nreclaim = never' "$CONF"
virsh -q start plain
run vgpu-lease attach plain
errs "without capacity an attach is refused" vgpu-lease attach plain
check "with the reason" shows mtty full
check "and the domain keeps what it had" [ "$(device_in plain | wc -l)" = 1 ]
virsh -q destroy plain
for n in {1..11}; do echo 1 >"/sys/bus/mdev/devices/$(printf 'bbbbbbbb-0000-4000-8000-%012d' "$n")/remove"; done
within 15 nothing_left

configure_mtty policy 'release_timeout = 3'
GUEST=halt define stubborn "$U1"
virsh -q start stubborn
errs "a guest that does not let go is an error" vgpu-lease detach stubborn "$U1"
check "which says that the lease stays" tells M_NOT_LET_GO stubborn "$U1"
check "and it does" held_by "$U1" stubborn
check "the guest runs on with its vGPU" uses stubborn "$U1"
run virsh destroy stubborn
check "until it ends" within 15 nothing_left

virsh -q start plain
make_device "$U2"
virsh -q attach-device plain /dev/stdin --live <<-END
	<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$U2'/></source></hostdev>
END
run vgpu-lease detach plain "$U2"
check "what somebody else attached can be detached" same "$STATUS$(device_in plain)" 0
check "and stays where it was" only "$U2"

# QEMU has no more slots to plug something in, or refuses for another reason: here an XML that it cannot take.
echo 1 >"/sys/bus/mdev/devices/$U2/remove"
virsh -q suspend plain
succeeds "a paused domain gets a vGPU, too" vgpu-lease attach plain
