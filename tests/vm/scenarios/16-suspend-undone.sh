# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a suspend that fails leaves the guest with its vGPUs
sed -i '$a [policy]\nrelease_timeout = 3' "$CONF"
GUEST=halt define stubborn "$U1"
virsh -q start stubborn
errs "a guest that does not let go is not suspended" vgpu-lease suspend stubborn
check "and says why" tells M_NOT_LET_GO "*" "$U1"
check "it runs on with its vGPU" uses stubborn "$U1"
check "which is leased to it" held_by "$U1" stubborn
check "no record is left" same "$(virsh metadata stubborn --uri urn:vgpu-lease:suspended:1 2>/dev/null | xargs)" ''
virsh -q destroy stubborn
within 15 nothing_left

configure_mtty
define unsaved "$U1" "$U3"
virsh -q start unsaved
mount -t tmpfs -o size=64k none /var/lib/libvirt/qemu/save
errs "a guest that cannot be saved is not suspended" vgpu-lease suspend unsaved
check "and says why" tells M_CANNOT_BE_SAVED unsaved
check "and has its vGPUs again" same "$(device_in unsaved | sort | xargs)" "$U1 $U3"
check "leased to it" held_by "$U3" unsaved
umount /var/lib/libvirt/qemu/save
virsh -q destroy unsaved
within 15 nothing_left

# As OpenStack marks its guests.
domain nova nova "$U1"
sed -i "s|<memory|<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>&|" "$WORK/nova.xml"
virsh -q define "$WORK/nova.xml" >/dev/null
virsh -q start nova
run vgpu-lease suspend nova
check "OpenStack's guests are OpenStack's to suspend" shows "openstack server suspend"
