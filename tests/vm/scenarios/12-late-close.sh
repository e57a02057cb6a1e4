# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a device that somebody still has open when its domain is released
printf '\n[policy]\nrelease_timeout = 60\n' >>"$CONF"
define late "$U1"
run virsh start --paused late
check "the domain has its device" uses late "$U1"

# After QEMU has ended, and before the release, another process opens the device.
group=/dev/vfio/$(basename "$(readlink "/sys/bus/mdev/devices/$U1/iommu_group")")
mkdir -p /etc/libvirt/hooks/qemu.d
cat >/etc/libvirt/hooks/qemu.d/other <<-END
	#!/bin/sh
	[ "\$2" != stopped ] ||
		setsid timeout 60 sh -c 'until [ -e $WORK/close ]; do sleep 0.2; done' <>$group >/dev/null 2>&1 &
END
chmod 755 /etc/libvirt/hooks/qemu.d/other
run virsh destroy late
check "the domain is destroyed, and libvirt not kept waiting" succeeded
check "the device is there, as it is open" exists "$U1"
check "its lease says that it is being released" lease "$U1" '.state == "releasing"'
run vgpu-lease release "$U1"
check "nor is it removed by command" failed
check "which says that it is open" shows "$U1" open
touch "$WORK/close"
check "when it is closed, device and lease go" within 20 nothing_left
