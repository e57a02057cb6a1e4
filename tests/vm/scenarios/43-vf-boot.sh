# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs that are enabled at boot, before the guests that have them start by themselves
V1=0000:01:00.1
configure_mtty "vf_plain@$PF1"
# The kernel looks for a driver, and finds one that cannot use VFs.
enable() {
	echo 1 >"$PCI/$1/sriov_drivers_autoprobe"
	echo 4 >"$PCI/$1/sriov_numvfs"
}
sriov_manage enable
define boot "$V1"
virsh -q autostart boot
boot_with "vgpu-sriov@$PF1"
check "the VFs are enabled" test -e "$PCI/$V1/physfn"
check "the guest starts by itself" within 60 is_state boot running
check "with its VF" uses boot "$V1"
check "leased to it" vf_held_by "$V1" boot
check "the handler is there" within 60 connected
succeeds "the check is well" vgpu-lease check
run virsh destroy boot
check "destroyed, it has no lease" within 60 vf_is_free "$V1"
booted_no_more "vgpu-sriov@$PF1"
