# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs that are enabled at boot, before the guests that have them start by themselves
V1=0000:01:00.1
configure
printf '[vf_plain]\ndevice_addresses = %s\n' "$PF1" >>"$CONF"
# NVIDIA's own program, as far as it concerns us. The kernel looks for a driver, and finds one that cannot use VFs.
mkdir -p /usr/lib/nvidia
cat >/usr/lib/nvidia/sriov-manage <<-'END'
	#!/bin/sh
	[ "$1" = -e ] && echo 1 >"/sys/bus/pci/devices/$2/sriov_drivers_autoprobe" &&
		sleep 2 && echo 4 >"/sys/bus/pci/devices/$2/sriov_numvfs"
END
chmod 755 /usr/lib/nvidia/sriov-manage
units=("vgpu-sriov@$PF1" vgpu-lease-wait vgpu-leased libvirtd)
define boot "$V1"
virsh -q autostart boot

# As at boot: nothing runs, libvirtd has started no guest yet, and all that is enabled starts at once.
systemctl stop libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd-tcp.socket "${units[@]}"
rm -f /run/libvirt/qemu/autostarted
run systemctl start libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd-tcp.socket "${units[@]}"
check "the units start" succeeded
check "the VFs are enabled" test -e "$PCI/$V1/physfn"
since() { systemctl show -P "$1" "$2"; }
check "what waits for the pGPUs waits for them" test "$(since ExecMainStartTimestampMonotonic vgpu-lease-wait)" \
	-ge "$(since ExecMainExitTimestampMonotonic "vgpu-sriov@$PF1")"
check "libvirtd starts after that" test "$(since ExecMainStartTimestampMonotonic libvirtd)" \
	-ge "$(since ExecMainExitTimestampMonotonic vgpu-lease-wait)"
check "the guest starts by itself" within 60 is_state boot running
check "with its VF" uses boot "$V1"
check "leased to it" vf_held_by "$V1" boot
check "the handler is there" within 60 connected
run vgpu-lease check
check "the check is well" succeeded
run virsh destroy boot
check "destroyed, it has no lease" within 60 vf_is_free "$V1"
systemctl stop "vgpu-sriov@$PF1" vgpu-lease-wait
rm -r /usr/lib/nvidia
