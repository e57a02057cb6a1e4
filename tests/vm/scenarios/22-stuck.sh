# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a driver that hangs in what it is asked delays nobody for longer than the configuration says
load_stuck
# What each step may take: its bounds of five seconds, and what libvirt and QEMU need here, on a busy machine.
in_time() { test "$TOOK" -lt "${1:-40}"; }
check "the driver is there" same "$(<"$STUCK/available_instances")" 4

# It is not in the pool, and has a device of somebody else's.
echo "$U3" >"$STUCK/create"
hang_at available description
define other "$U1"
run timeout 60 virsh start --paused other
check "another card serves beside one outside the pool that hangs" held_by "$U1" other
check "in time" in_time
run timeout 60 virsh destroy other
check "its vGPU is released in time" in_time
check "and gone" within 15 only "$U3"

# It is.
configure_stuck
METADATA="<vgpu:device uuid='$U1' type='mtty-2'/>" define other "$U1"
METADATA="<vgpu:device uuid='$U2' type='stuck-1'/>" define asks "$U2"
run timeout 60 virsh start --paused other
check "another card serves beside one in the pool that hangs" held_by "$U1" other
check "which took no longer" in_time
run timeout 60 virsh start --paused asks
check "a vGPU of the card that hangs is refused" same "$STATUS" 1
check "by the hook, with the card's name" shows asks stuck
check "in time" in_time
run timeout 60 systemctl restart libvirtd
run timeout 60 virsh list --all
check "a libvirtd that is started again answers" shows other
check "its domain runs on" is_state other paused
check "with its vGPU" held_by "$U1" other
run timeout 30 vgpu-lease inventory
check "the inventory ends" test "$STATUS" != 124
check "and still lists the other card" shows mtty
hang_at nowhere
echo 1 >"/sys/bus/mdev/devices/$U3/remove"
run timeout 60 virsh start --paused asks
check "once it answers it serves" on_stuck "$U2" asks
check "a guest runs with it" uses_open asks "$U2"

# It hangs while another's guest ends, and in the removal of its own.
hang_at remove
run timeout 60 virsh destroy asks
check "a removal that hangs delays the domain's end no longer than it may" in_time 25
run timeout 60 virsh destroy other
check "nor another's" in_time 25
gone_from_mtty() { same "$(available)" 12; }
check "whose vGPU is gone" within 15 gone_from_mtty
hang_at nowhere
check "in the end gc leaves nothing" within 30 collected nothing_left

