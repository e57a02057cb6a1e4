# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs of NVIDIA's framework that are enabled at boot, before the guest that has one starts by itself
modprobe nvidia
configure_nvidia
V1=${PF1%0}1
sriov_manage give_to_nvidia
define_vf boot "$V1" 1147
virsh -q autostart boot
boot_with "vgpu-sriov@$PF1" "vgpu-sriov@$PF2"
check "the VFs are there" vf_is "${PF2%0}1" 0
check "the guest starts by itself" within 60 is_state boot running
check "with its VF, of its type" typed_by "$V1" boot 1147
check "the handler is there" within 60 connected
succeeds "the check is well" vgpu-lease check
run virsh destroy boot
check "destroyed, it leaves nothing" within 60 no_types
booted_no_more "vgpu-sriov@$PF1" "vgpu-sriov@$PF2"
