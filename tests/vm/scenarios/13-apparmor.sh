# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the hook keeps to libvirtd's AppArmor profile
check "libvirtd is confined" same "$(tr -d '\0' <"/proc/$(pidof libvirtd)/attr/current")" 'libvirtd (enforce)'
CONFINED=1 define confined "$U1"
run virsh start --paused confined
check "the hook makes a device in there" uses confined "$U1"
run virsh destroy confined
check "and releases it" within 15 nothing_left
check "since it was installed the kernel has denied it nothing" no denied
