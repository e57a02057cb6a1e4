# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what libvirt, the lease and the kernel say of a guest's vGPU, and where they differ
define seen "$U1"
succeeds "a domain that does not run has no differences" vgpu-lease show seen
check "and a vGPU in its definition" shows "$U1" config
rm -f /var/log/libvirt/qemu/seen.log
virsh -q start seen
succeeds "nor has one that runs" vgpu-lease show seen
check "which has it open" grep -E "^$U1 .* live,config +active +created +yes +$(pid_of seen)\$" <<<"$OUT"
check "and is not tainted by that" no grep -q custom-monitor /var/log/libvirt/qemu/seen.log

make_device "$U2"
virsh -q attach-device seen /dev/stdin --live <<-END
	<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$U2'/></source></hostdev>
END
errs "what somebody else attached is a difference" vgpu-lease show seen
check "and is named" tells M_ABOUT "$U2" -- M_SHOW_NOT_LEASED

rm -f "/run/vgpu-lease/leases/$U1"
run vgpu-lease show seen
check "so is a lease that was lost" tells M_ABOUT "$U1" -- M_SHOW_NOT_LEASED
virsh -q destroy seen
