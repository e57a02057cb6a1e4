# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirtd is killed while the hook prepares a domain
define slow "$U1"
interrupt slow "before a second start"
succeeds "the domain starts as if nothing had been" virsh start --paused slow
check "with its device" uses slow "$U1"
check "and one lease" held_by "$U1" slow
run virsh destroy slow
check "nothing is left of it" within 15 nothing_left

printf '[policy]\nstart_grace = 1\n' >>"$CONF"
interrupt slow "before gc"
sleep 2
succeeds "gc tells what it would do" vgpu-lease gc --dry-run
succeeds "gc succeeds" vgpu-lease gc
check "and leaves nothing" within 10 nothing_left
