# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# two domains that name one device: one gets it, and is not disturbed by the other
define first "$U1"
define second "$U1"
run virsh start --paused first
check "the first domain has the device" uses first "$U1"
run virsh start --paused second
check "the second is refused" failed
check "and told who has it" shows "domain second" first
check "the first runs on" is_state first paused
check "with its device" uses first "$U1"
check "and its lease" held_by "$U1" first
run virsh destroy first
check "when the first has gone, nothing is left" within 15 nothing_left

race() {
	virsh start --paused first &
	virsh start --paused second &
	wait
}
run race
winner=$(virsh list --name | xargs)
check "of two that start at once one wins" test "$winner" = first -o "$winner" = second
check "it has the device" uses "$winner" "$U1"
check "and the lease" held_by "$U1" "$winner"
run virsh destroy "$winner"
check "nothing is left of either" within 15 nothing_left
