# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a driver of VFs that hangs delays the hook for no longer than its manual says, and another card not at all
load_nvidia
configure_nvidia
vf=${PF1%0}1 sibling=${PF1%0}2 beside=${PF2%0}1
define_vf asks "$vf" 1147
define_vf later "$sibling" 1147
define_vf other "$beside" 1147
# vgpu-lease-hook(8): a start takes lock_timeout + create_timeout + 4 at most. libvirt needs as long on a busy machine, and
# QEMU more.
promised() { test "$TOOK" -le $((5 + 5 + 4 + ${1:-16})); }
# collected: what came of a write that hung is released with the next call.
collected() { vgpu-lease gc && no_types; }

hold_at create
run timeout 60 virsh start --paused asks
check "its creation hangs: the start is refused" failed
check "in the time that the hook promises" promised
run timeout 60 virsh start --paused later
check "the next one on this card as well" failed
check "in this time" promised
run timeout 60 virsh start --paused other
check "a domain on the other card starts meanwhile" typed_by "$beside" other 1147
check "in the time that QEMU takes, too" promised 26
no_trouble
check "once the driver answers, the creation ends" within 30 vf_is "$vf" 1147
run vgpu-lease gc
check "and what it made is collected" vf_is "$vf" 0

hold_at list current
run timeout 60 virsh start --paused asks
check "its files hang: a start is refused" failed
check "in the time that the hook promises" promised
no_trouble

hold_at params
run timeout 60 virsh start --paused asks
check "the parameters hang: a start is refused" failed
check "in the time that the hook promises" promised
no_trouble
vf_left() { vgpu-lease gc && vf_is "$vf" 0; }
check "once the driver answers, the vGPU is collected" within 30 vf_left

run timeout 60 virsh start --paused asks
check "then the domain starts" typed_by "$vf" asks 1147
hold_at remove
run timeout 60 virsh destroy asks
check "the removal hangs: the domain ends" is_state asks "shut off"
check "in the time of its release and QEMU's" promised 26
run timeout 60 virsh destroy other
check "so does the other card's" within 15 vf_is "$beside" 0
no_trouble
check "in the end nothing is left" within 30 collected
