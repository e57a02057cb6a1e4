# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# two domains that name one device: one gets it, and is not disturbed by the other
define first "$U1"
define second "$U1"
run virsh start --paused first
check "the first domain has the device" uses first "$U1"
errs "the second is refused" virsh start --paused second
check "and told who has it" shows "domain second" first
check "the first runs on" is_state first paused
check "with its device" uses first "$U1"
check "and its lease" held_by "$U1" first
run virsh destroy first
check "when the first has gone, nothing is left" within 15 nothing_left

race first second
check "it has the device" uses "$WINNER" "$U1"
check "and the lease" held_by "$U1" "$WINNER"
run virsh destroy "$WINNER"
check "nothing is left of either" within 15 nothing_left
