#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A host whose GPUs have not come up, before it has a configuration: status, inventory and init say what each of them needs.
. "$(dirname "$0")/../../lib/cli.sh"

mkdir -p "$root"/{etc,run,var/lib,proc,dev}
devices=$root/sys/bus/pci/devices
# device ADDRESS VENDOR DEVICE CLASS DRIVER [TOTALVFS]: without VFs; "-" is no driver.
device() {
	pci_device "${@:1:5}"
	[ -z "${6:-}" ] || { echo "$6" >"$devices/$1/sriov_totalvfs"; echo 0 >"$devices/$1/sriov_numvfs"; }
}
device 0000:05:00.0 1a03 2000 030000 ast
device 0000:17:00.0 15b3 101d 020000 mlx5_core 8
device 0000:00:0b.0 8086 7d1d 120000 intel_vpu
device 0000:06:00.0 1002 164e 030000 amdgpu
device 0000:03:00.0 8086 56a0 030000 i915
device 0000:00:02.0 8086 4c8a 030000 i915
vl_is "the mainboard's VGA, a network card, an NPU, and GPUs without SR-IOV and GVT-g are no pGPUs" "0||" inventory --no-headings -o PGPU
vl_says "and init knows of no GPU" 1 init -- M_INIT_NO_GPU
configure i915-GVTg_V5_4@0000:00:02.0
check_says "kvmgt is not advised for a GPU that has no GVT-g" 0000:00:02.0 M_NOT_GVTG
rm -r "$devices/0000:00:02.0" "$root/etc/vgpu-lease.conf"

device 0000:41:00.0 10de 26b9 030200 - 32
device 0000:42:00.0 10de 1eb8 030200 nouveau
device 0000:4d:00.0 8086 56c0 038000 xe 31
device 0000:65:00.0 1002 74a1 120000 -
device 0000:66:00.0 1002 6929 030000 gim 16
device 0000:00:02.0 8086 3e98 030000 i915
expected="0000:00:02.0 0000:41:00.0 0000:42:00.0 0000:4d:00.0 0000:65:00.0 0000:66:00.0"
# reasons SENTENCE: each device's, in what is on standard input, a line each.
reasons() {
	local said
	said=$(cat)
	holds "$1: no driver, of NVIDIA's" says M_NO_DRIVER < <(grep 0000:41:00.0 <<<"$said")
	holds "$1: another driver" says M_BOUND_ELSEWHERE nouveau < <(grep 0000:42:00.0 <<<"$said")
	holds "$1: no VFs, of Intel's" says M_VFS_NOT_ENABLED < <(grep 0000:4d:00.0 <<<"$said")
	holds "$1: no driver, of an accelerator" says M_NO_DRIVER < <(grep 0000:65:00.0 <<<"$said")
	holds "$1: no VFs, of AMD's" says M_VFS_NOT_ENABLED < <(grep 0000:66:00.0 <<<"$said")
	holds "$1: no GVT-g" says M_NO_GVTG < <(grep 0000:00:02.0 <<<"$said")
}
for configuration in none empty; do
	[ $configuration = none ] || : >"$root/etc/vgpu-lease.conf"
	vl_words "$configuration: each GPU that could have vGPUs is in the inventory" "$expected" inventory --no-headings -o PGPU
	vl inventory --no-headings -o PGPU,REASON
	reasons "$configuration, inventory" <<<"$out"
	vl check
	is "$(grep -oE '^PASS  pgpu     [^ ]+' <<<"$out" | cut -c16- | sed 's/:$//' | xargs)" "$expected" "$configuration: in check"
	reasons "$configuration, check" <<<"$out"
	vl status
	is "$(grep -oE '^[|`]- [^ ]+' <<<"$out" | cut -c4- | xargs)" "$expected" "$configuration: and in status"
done
vl_says "init has nothing to write" 1 init -- M_INIT_NOTHING
reasons "and says why" <<<"$err"
fails "no VF, no display of the mainboard's" grep -q '0000:05\|0000:17\|0000:06' <<<"$err"

# With a configuration, only what it means.
configure vf_s7150@1002:6929
vl_words "with a configuration, only the card that it means is listed" 0000:66:00.0 inventory --no-headings -o PGPU
echo 692f >"$devices/0000:66:00.0/sriov_vf_device"
configure vf_s7150@1002:692f
check_says "the ID of its VFs is recognized" '^FAIL' M_VFS_ID 1002:692f 1002:6929
rm -r "${root:?}"

### On the simulator: VFs that are there, and no pool yet
host mi210+flex/3+l40s/4
control vfs "0000:26:00.0 off"
vl inventory --no-headings -o PGPU,REASON
holds "plain VFs are named as such" says M_VFS_PLAIN < <(grep 0000:2d:00.0 <<<"$out")
holds "beside a card of NVIDIA's without VFs" says M_VFS_ENABLE 0000:26:00.0 < <(grep 0000:26:00.0 <<<"$out")

# The VFs' ID in the place of their card's: what it means to match is refused, not passed on without a lease.
configure vf_mi210@1002:7410
for type in "" mi210; do
	named=${type:+, named in the metadata}
	vf_xml vm "$(domain_uuid 1)" 0000:2d:02.0 yes $type >"$work/vf.xml"
	hook vm prepare begin - <"$work/vf.xml" 2>"$work/err"
	is "$?" 1 "a VF whose own ID is in device_match$named: its start is refused"
	holds "with the ID to write$named" says M_VFS_ID 1002:7410 1002:740f <"$work/err"
	vl_says "plan says the same$named" 1 plan "$work/vf.xml" -- M_VFS_ID 1002:7410 1002:740f
	fails "and nothing of a pGPU$named" says M_HOSTDEV_PGPU 0000:2d:02.0 <<<"$err"
done
sed -i s/7410/740f/ "$root/etc/vgpu-lease.conf"
holds "which helps" hook vm prepare begin - <"$work/vf.xml"
hook vm release end - <"$work/vf.xml"
rm "$root/etc/vgpu-lease.conf"
vl init
is "$status|$(grep -c '^\[vf_' <<<"$out")|$(grep -c 0000:26:00.0 <<<"$out")" "0|2|1" "init gives both a pool, and names the one that is left out"

### Cards of NVIDIA's that make no vGPUs: which step is missing, said for the card. A VF is never a pGPU
end_host
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

# no_vgpus ...: the same, with a driver that has no vGPUs, as it was made for bare metal or guests.
no_vgpus() { card "$@" && rm -r "$root/sys/module/nvidia_vgpu_vfio"; }

# reason SENTENCE CARD KEY [ARG...]: of such a host the inventory has this card alone, for this reason.
reason() {
	in_words "$2"
	vl_is "$1: the card is the only pGPU" "0|$pf|" inventory --no-headings -o PGPU
	vl_prints "$1: is the reason" inventory --no-headings -o REASON -- "${@:3}"
}

reason "VFs that are not enabled" "card nvidia 4" M_VFS_ENABLE $pf
reason "VFs without a driver" "card nvidia 4 - -" M_VFS_NO_DRIVER
reason "VFs on vfio-pci" "card nvidia 4 vfio-pci vfio-pci" M_VFS_OTHER_DRIVER vfio-pci
reason "a driver without vGPUs" "no_vgpus nvidia 4 nvidia nvidia" M_NO_VGPU_MODULE
reason "types that are not registered yet" "card nvidia 4 nvidia nvidia" M_NVIDIA_VGPUD
reason "one VF on vfio-pci beside it" "card nvidia 4 vfio-pci nvidia" M_NVIDIA_VGPUD
reason "a card without SR-IOV" "card nvidia -" M_NO_SRIOV
reason "SR-IOV without VFs" "card nvidia 0" M_NO_VFS_ALLOWED
reason "a driver without vGPUs, of a card without SR-IOV" "no_vgpus nvidia -" M_NO_VGPU_MODULE

### Cards that somebody names
# named SENTENCE KEY [ARG...]
named() { configure "nvidia-557@$name"; check_says "$1" "$name: " "${@:2}"; }
name=$pf
card - 4
named "a loaded driver has not taken the card" M_DRIVER_NOT_BOUND nvidia
rmdir "$root/sys/bus/pci/drivers/nvidia"
named "the driver is not loaded" M_NO_DRIVER -- M_LOAD_DRIVER
card nvidia 4 vfio-pci vfio-pci
named "the VFs of a card that is named are on vfio-pci" M_VFS_OTHER_DRIVER vfio-pci
name=0000:41:00.4
named "so is a VF that is named" M_BOUND_ELSEWHERE vfio-pci
vl_prints "and status counts no VF" status -- M_STATUS_POOL 0 1
tap_done
