# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what libvirt, the lease, the kernel and QEMU say of a guest's vGPU, and where they differ
shown() { jq -e "$1" <<<"$OUT" >/dev/null || { echo "$OUT"; return 1; }; }
define seen "$U1"
run vgpu-lease show seen
check "a domain that does not run has no differences" succeeded
check "and a vGPU in its definition" shows "$U1" config
rm -f /var/log/libvirt/qemu/seen.log
virsh -q start seen
run vgpu-lease show seen
check "nor has one that runs" succeeded
check "which has it open" grep -E "^$U1 .* live,config +active +created +yes +$(pid_of seen)\$" <<<"$OUT"
check "and is not tainted by that" no grep -q custom-monitor /var/log/libvirt/qemu/seen.log

run vgpu-lease show --qemu --json seen
check "QEMU can be asked" succeeded
check "which taints the domain" grep -q custom-monitor /var/log/libvirt/qemu/seen.log
check "it says which device it has" shown ".devices[0].qemu == \"/sys/bus/mdev/devices/$U1\""
check "and why the guest cannot migrate, or that it can" shown '.migration_blockers | type == "array"'
run vgpu-lease show --qemu seen
check "in words, too" grep -qE '^QEMU: domain seen can(not)? migrate' <<<"$OUT"

make_device "$U2"
virsh -q attach-device seen /dev/stdin --live <<-END
	<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$U2'/></source></hostdev>
END
run vgpu-lease show seen
check "what somebody else attached is a difference" failed
check "and is named" tells M_ABOUT "$U2" -- M_SHOW_NOT_LEASED

rm -f "/run/vgpu-lease/leases/$U1"
run vgpu-lease show seen
check "so is a lease that was lost" tells M_ABOUT "$U1" -- M_SHOW_NOT_LEASED
virsh -q destroy seen
