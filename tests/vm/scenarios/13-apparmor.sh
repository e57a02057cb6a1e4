# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the hook keeps to libvirtd's AppArmor profile
# But for the processes that 21-unreadable confines, so that the hook may not look into them.
denied() { journalctl -b -k -q --no-pager -o cat --since "@$(stat -c %W "$0")" |
	grep 'apparmor="DENIED"' | grep -v 'peer="vm-test-jail"' | grep -E 'vgpu-lease|hooks/|profile="libvirtd"'; }
check "libvirtd is confined" same "$(tr -d '\0' <"/proc/$(pidof libvirtd)/attr/current")" 'libvirtd (enforce)'
CONFINED=1 define confined "$U1"
run virsh start --paused confined
check "the hook makes a device in there" uses confined "$U1"
run virsh destroy confined
check "and releases it" within 15 nothing_left
check "since it was installed the kernel has denied it nothing" no denied
