# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a device that somebody else made is used, and left standing
make_device "$U1"
define guest "$U1"
run virsh start --paused guest
check "a domain starts with a device that is there" uses guest "$U1"
check "its lease says that it was adopted" held_by "$U1" guest adopted
run virsh destroy guest
check "the lease is released" within 15 no_lease
check "the device stays" exists "$U1"

make_device "$U2" mtty-1
define own "$U2"
run virsh start --paused own
check "a device of a type that is not enabled is the operator's own, and is used" uses own "$U2"
check "its lease has the device's type" lease "$U2" '.type == "mtty-1" and .origin == "adopted"'
run virsh destroy own
check "this lease is released, too" within 15 no_lease
check "and this device stays, too" exists "$U2"
