# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a VF of NVIDIA's framework gets its type when its domain starts, and loses it at the end
load_nvidia
configure_nvidia
vf=${PF1%0}1 sibling=${PF1%0}2 beside=${PF2%0}1
check "no VF has a type to begin with" no_types

define_vf life "$vf" 1147
succeeds "a domain whose VF has no type starts" virsh start life
check "the VF has it now, with the configured parameters" same "$(<"$PCI/$vf/nvidia/vgpu_params")" frame_rate_limiter=0
check "its QEMU has it open, by a lease of ours" typed_by "$vf" life 1147
run vgpu-lease inventory --json
check "the inventory counts it, and knows the driver" jq -e '.driver.nvidia == "570.133.10" and (.pgpus[] | select(.address == "0000:01:00.0") | .in_pool and
	([.types[] | select(.id == "nvidia-1147")][0] | .used == 1) and ([.types[] | select(.id == "nvidia-1148")][0] | .available == 0))' <<<"$OUT"
put 0 "$PCI/$vf/nvidia/current_vgpu_type" >"$WORK/cleared"
check "the driver lets nobody clear what is in use" same "$(<"$WORK/cleared")" "Operation not permitted"

define_vf larger "$sibling" 1148
errs "a type of another framebuffer size is refused on this card" virsh start larger
check "with what the card holds" shows "$sibling" nvidia-1148 nvidia-1147 1024
check "the sibling has no type" vf_is "$sibling" 0
define_vf larger "$beside" 1148
run virsh start --paused larger
check "on the other card it is served" typed_by "$beside" larger 1148

succeeds "a domain is destroyed" virsh destroy life
check "its VF has no type then" within 15 vf_is "$vf" 0
check "its lease is gone, the other stays" typed_by "$beside" larger 1148
kill -9 "$(pid_of larger)"
check "a QEMU that is killed leaves nothing either" within 15 no_types
