# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirtd is killed while the hook prepares a domain
define slow "$U1"
interrupt slow "before a second start"
run virsh start --paused slow
check "the domain starts as if nothing had been" succeeded
check "with its device" uses slow "$U1"
check "and one lease" held_by "$U1" slow
run virsh destroy slow
check "nothing is left of it" within 15 nothing_left

printf '[policy]\nstart_grace = 1\n' >>"$CONF"
interrupt slow "before gc"
sleep 2
run vgpu-lease gc --dry-run
check "gc tells what it would do" succeeded
run vgpu-lease gc
check "gc succeeds" succeeded
check "and leaves nothing" within 10 nothing_left
