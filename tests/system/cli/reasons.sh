#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cards of NVIDIA's that make no vGPUs: which step is missing, said for the card. A VF is never a pGPU.
. "$(dirname "$0")/../../lib/cli.sh"

pf=0000:41:00.0
devices=$root/sys/bus/pci/devices
# card DRIVER TOTALVFS VFDRIVER...: an A40 with VFs on these drivers; "-" is none.
card() {
	local n=0 driver=$1 total=$2

	rm -rf "$root"
	mkdir -p "$root"/{etc,run,var/lib,proc,dev} "$root/sys/bus/pci/drivers/nvidia" "$root/sys/module/nvidia_vgpu_vfio"
	: >"$root/etc/vgpu-lease.conf"
	shift 2
	pci_device $pf 10de 2235 030200 "$driver"
	[ "$total" = - ] || echo "$total" >"$devices/$pf/sriov_totalvfs"
	[ "$total" = - ] || echo $# >"$devices/$pf/sriov_numvfs"
	for driver in "$@"; do
		pci_device "0000:41:00.$((4 + n))" 10de 2235 030200 "$driver"
		ln -s "../$pf" "$devices/0000:41:00.$((4 + n))/physfn"
		ln -s "../0000:41:00.$((4 + n))" "$devices/$pf/virtfn$n"
		n=$((n + 1))
	done
}

# reason SENTENCE KEY [ARG...]: the inventory has this card alone, for this reason.
reason() {
	local sentence=$1
	shift
	vl_is "$sentence: the card is the only pGPU" "0|$pf|" inventory --no-headings -o PGPU
	vl_prints "$sentence: is the reason" inventory --no-headings -o REASON -- "$@"
}

card nvidia 4
reason "VFs that are not enabled" M_VFS_ENABLE $pf
card nvidia 4 - -
reason "VFs without a driver" M_VFS_NO_DRIVER
card nvidia 4 vfio-pci vfio-pci
reason "VFs on vfio-pci" M_VFS_OTHER_DRIVER vfio-pci
card nvidia 4 nvidia nvidia
rm -r "$root/sys/module/nvidia_vgpu_vfio"
reason "a driver without vGPUs" M_NO_VGPU_MODULE
card nvidia 4 nvidia nvidia
reason "types that are not registered yet" M_NVIDIA_VGPUD
card nvidia 4 vfio-pci nvidia
reason "one VF on vfio-pci beside it" M_NVIDIA_VGPUD
card nvidia -
reason "a card without SR-IOV" M_NO_SRIOV
card nvidia 0
reason "SR-IOV without VFs" M_NO_VFS_ALLOWED
# What was made for bare metal or guests has no VFs to offer either.
card nvidia -
rm -r "$root/sys/module/nvidia_vgpu_vfio"
reason "a driver without vGPUs, of a card without SR-IOV" M_NO_VGPU_MODULE

### Cards that somebody names
# named SENTENCE KEY [ARG...]
named() {
	local sentence=$1
	shift
	configure "nvidia-557@$name"
	vl check
	holds "$sentence" says "$@" < <(grep -F "$name: " <<<"$out")
}
name=$pf
card - 4
named "a loaded driver has not taken the card" M_DRIVER_NOT_BOUND nvidia
rmdir "$root/sys/bus/pci/drivers/nvidia"
named "the driver is not loaded" M_NO_DRIVER -- M_LOAD_DRIVER
card nvidia 4 vfio-pci vfio-pci
named "the VFs of a card that is named are on vfio-pci" M_VFS_OTHER_DRIVER vfio-pci
name=0000:41:00.4
named "so is a VF that is named" M_BOUND_ELSEWHERE vfio-pci
vl
holds "and status counts no VF" says M_STATUS_POOL 0 1 <<<"$out"
tap_done
