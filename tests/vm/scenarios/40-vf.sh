# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a plain VF is leased to one domain at a time, and left as it was
V1=0000:01:00.1 V2=0000:01:00.2 W1=0000:02:00.1
configure_vfs
enable_vfs "$PF1"
enable_vfs "$PF2"
in_use() { grep -qE "^plain +plain +VGPU( +-){3} +8 +$1 +$((8 - $1)) +$((8 - $1)) +$PF1\*, $PF2\*" <<<"$OUT"; }

all_is_well "before"
CONFINED=1 define one "$V1"
succeeds "a domain with a VF starts, libvirt binds it to VFIO" virsh start one
check "its QEMU has the VF open" uses one "$V1"
check "it is leased to the domain" vf_held_by "$V1" one
check "the metadata need not name it" no grep -q metadata "$WORK/one.xml"
run vgpu-lease list
check "list shows it" grep -qE "^$V1 +plain +$V1 +active .* one " <<<"$OUT"
succeeds "show finds no difference" vgpu-lease show one
check "between libvirt, lease, kernel and QEMU" grep -qE "^$V1 +plain +$V1 +live,config +active +created +yes +$(pid_of one)$" <<<"$OUT"
run vgpu-lease types
check "types counts it" in_use 1
all_is_well "beside a guest"

define two "$V1"
run virsh start two
check "a second domain with that VF is refused in one line" refused two

check "which names the first and the VFs that are free" tells M_REFUSED two "$V1" "$(message M_LEASED_TO one \
	"$(uuid_of one)")$(message M_FREE_VFS "$V2, ${V1%1}3, ${V1%1}4, $W1, ${W1%1}2, ${W1%1}3$(message M_AND_MORE 1)")"
check "the first runs on with it" uses one "$V1"
check "and its lease" vf_held_by "$V1" one
MANAGED=no define unbound "$V2"
run virsh start unbound
check "a VF that nobody is to bind to VFIO, and nobody has, is refused in one line" refused unbound "$V2" "managed='yes'"
run virsh undefine unbound

# What libvirt really does with a VF whose driver cannot migrate it.
run virsh save one "$WORK/one.save"
check "libvirt does not save it" shows "VFIO migration is not supported in kernel"
check "its guest runs on" is_state one running
check "with its lease" vf_held_by "$V1" one

suspend_host "a plain VF"
check "the guest has its VF as before" uses one "$V1"
check "and its lease" vf_held_by "$V1" one
check "and runs" is_state one running
all_is_well "after a sleep of the host"

running() { is_state one running && uses one "$V1"; }
rm -f "/run/vgpu-lease/leases/$V1"
run systemctl restart libvirtd
check "the guest runs on after a restart of libvirtd" within 60 running
check "a lease that was lost is restored" within 60 vf_held_by "$V1" one
run virsh destroy one
check "destroyed, it has no lease" within 60 vf_is_free "$V1"
check "and the VF no driver, as before" has_no_driver "$V1"
check "libvirtd's profile denied nothing" no denied

run virsh start two
check "then the second domain gets the VF" uses two "$V1"
run kill -KILL "$(pid_of two)"
check "of a QEMU that is killed the lease goes, and the VF stays" within 60 vf_is_free "$V1"
check "without a driver" within 60 has_no_driver "$V1"

ARGUMENT=-no-such-option define bad "$V1"
run virsh start bad
check "a domain with an option that QEMU does not know does not start" shows no-such-option
check "and leaves no lease" within 60 vf_is_free "$V1"
another_hook <<-'END'
	#!/bin/sh
	[ "$2" != start ]
END
errs "nor does one that another hook stops" virsh start two
check "whose VF is free" within 60 vf_is_free "$V1"
no_other_hook

printf '[policy]\nstart_grace = 1\n' >>"$CONF"
interrupt two "of a domain with a VF"
sleep 2
run vgpu-lease gc
check "gc leaves nothing of it" within 60 vf_is_free "$V1"
run virsh start two
check "then it starts" uses two "$V1"
check "with its lease" vf_held_by "$V1" two
run virsh destroy two
check "destroyed, it has none" within 60 vf_is_free "$V1"

# managed='no': whoever runs the host binds the VF, and libvirt leaves it so.
bind_vfio "$W1"
MANAGED=no define left "$W1"
define right "$W1"
exec 9<>"$(group_of "$W1")"
run virsh start left
check "a VF that a process has open is refused in one line" refused left "$W1" "$(message M_OPEN process)"
exec 9>&-
race left right
check "which has the VF" uses "$WINNER" "$W1"
check "and the lease" vf_held_by "$W1" "$WINNER"
check "the other is told who has it" tells M_LEASED_TO "$WINNER" "$(uuid_of "$WINNER")"
run virsh destroy "$WINNER"
check "destroyed, it has no lease" within 60 vf_is_free "$W1"
bind_vfio "$W1"
run virsh start left
check "a VF that is bound already starts with managed='no'" uses left "$W1"
run virsh destroy left
check "its lease goes, too" within 60 vf_is_free "$W1"
check "and it stays bound" same "$(driver_of "$W1")" vfio-pci
all_is_well "after"
