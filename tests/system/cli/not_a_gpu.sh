#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A device of [vf_NAME] that is not a GPU, as after a shift of the bus numbers: check warns of it.
. "$(dirname "$0")/../../lib/cli.sh"

host flex/3+cx6
configure 'vf_flex@0000:4d:00.0, 0000:17:00.0'
check_says "check warns of the network card" '^WARN .*0000:17:00.0' M_NOT_A_GPU flex
fails "and not of the GPU" says M_NOT_A_GPU < <(grep '0000:4d:00.0' <<<"$out")

# A vendor makes other devices with VFs, too, as Intel does network cards.
configure 'vf_flex@8086:*, 15b3:*, numa=0'
vl_is "a match without a device means GPUs alone" "0|0000:4d:00.0|" inventory --no-headings -o PGPU
control bind "0000:17:00.2 mlx5_core"
vf_domain 1 0000:17:00.2 >"$tmp/nic.xml"
is "$("$hook" --root "$root" -- vm1 prepare begin - <"$tmp/nic.xml" 2>&1)" "" "a domain with a network card's VF starts"
vl_is "and leases nothing" "0||" list --no-headings
vl_works "plan has nothing to say about it" plan "$tmp/nic.xml"

### Mdevs of a network card, with which containers have their ports
end_host
host mlx5
create 0000:06:00.0 mlx5_core-local 1
configure nvidia-222
vl_is "gc --unused does not concern itself with them" "0||" gc --unused --grace 0 --no-headings
holds "and leaves them" exists 1
vl_is "and list does not show them" "0||" list --no-headings
orphan 0000:06:00.0 mlx5_core-local 2
vl gc --grace 0 --no-headings
fails "one that was made for a guest goes, as any orphan" exists 2
configure mlx5_core-local
vl gc --unused --grace 0 --no-headings
fails "unless their type is enabled" exists 1

### A guest's mdev that was not a GPU's, as QAT's, and that its script has not made again after a boot
new_host t4+mlx5
configure nvidia-222@0000:84:00.0
create 0000:06:00.0 mlx5_core-local 1
call prepare begin 1
call release end 1
is "$(call migrate begin 1 2>&1)" "" "one that the operator has created for a migrating guest is what the guest gets"
vl list --no-headings -o ID,TYPE,STATE
is "$(xargs <<<"$out")" "$(uuid 1) mlx5_core-local reserved" "not a vGPU of the pool under another UUID"
call release end 1
remove_device "$(uuid 1)"
reports "the guest does not get a vGPU in its place" call prepare begin 1 -- M_TYPE_DISABLED mlx5_core-local "/var/lib/vgpu-lease/affinity/$(uuid 1)" nvidia-222
fails "and none was made" exists 1
configure nvidia-222@0000:84:00.0 mlx5_core-local@0000:06:00.0
is "$(call prepare begin 1 2>&1)" "" "with its type enabled, it gets such an mdev"
is "$(readlink "$root/sys/bus/mdev/devices/$(uuid 1)" | grep -o 06:00.0)" 06:00.0 "of its own card"
call release end 1

### An accelerator (PCI class 12), as an MI300X is
end_host
card=0000:65:00.0 vf=0000:65:02.0
devices=$root/sys/bus/pci/devices
mkdir -p "$root"/{etc,run,var/lib,proc,dev} "$root/sys/kernel/iommu_groups/7/devices"
pci_device $card 1002 74a1 120000
pci_device $vf 1002 74b5 120000
echo 0 >"$devices/$card/numa_node"
tee "$devices/$card/sriov_totalvfs" "$devices/$card/sriov_numvfs" <<<1 >/dev/null
ln -s "../$vf" "$devices/$card/virtfn0"
ln -s "../$card" "$devices/$vf/physfn"
ln -s ../../../../kernel/iommu_groups/7 "$devices/$vf/iommu_group"
configure vf_mi300x@1002:74a1
check_counts "an accelerator serves" 1 "^PASS .*$card"
fails "and nothing is wrong with its class" says M_NOT_A_GPU <<<"$out"
echo 0x020000 >"$devices/$card/class"
check_says "of a network card with the same VFs check warns" "^WARN .*$card" M_NOT_A_GPU mi300x

### FPGAs, NPUs, and compression and network engines, which have the class of accelerators: no guest gets one for its GPU
configure 'vf_flex@8086:*, numa=0, 19e5:*'
for ids in "8086 0b30 120000 1" "8086 56c0 038000 0" "19e5 a250 120000 1" "19e5 d500 120000 0" "1dd8 100c 120000 1"; do
	read -r vendor device class other <<<"$ids"
	for pf_or_vf in $card $vf; do
		rm -f "$devices/$pf_or_vf/driver"
		echo "0x$vendor" >"$devices/$pf_or_vf/vendor"
		echo "0x$device" >"$devices/$pf_or_vf/device"
		echo "0x$class" >"$devices/$pf_or_vf/class"
	done
	said=$(vf_domain 1 0000:4d:00.1 yes flex | "$hook" --root "$root" -- vm1 migrate begin - 2>&1)
	is "$?|$(grep -c "bus='0x65' slot='0x02'" <<<"$said")" "$other|$((1 - other))" \
		"a match by vendor or node $([ "$other" = 1 ] && echo 'does not mean' || echo means) $vendor:$device"
done
configure vf_flex@1dd8:100c
vl check
holds "of such a device that is named check warns" says M_NOT_A_GPU flex < <(grep "^WARN .*$card" <<<"$out")

### Adapters and channels of s390x, which are mdevs, too
rm -r "${root:?}"/{sys,run,var}
# other_mdev PATH PARENT TYPE API ID: a parent with one mdev of it.
other_mdev() {
	local parent=$root/sys/devices/$1/$2
	mkdir -p "$parent/mdev_supported_types/$3" "$parent/$5" "$root/sys/class/mdev_bus" "$root/sys/bus/mdev/devices"
	echo "$4" >"$parent/mdev_supported_types/$3/device_api"
	echo 1 >"$parent/mdev_supported_types/$3/available_instances"
	ln -s "../mdev_supported_types/$3" "$parent/$5/mdev_type"
	ln -s "../../devices/$1/$2" "$root/sys/class/mdev_bus/$2"
	ln -s "../../../devices/$1/$2/$5" "$root/sys/bus/mdev/devices/$5"
}
mkdir -p "$root"/{run,var/lib}
other_mdev vfio_ap matrix vfio_ap-passthrough vfio-ap "$(uuid 1)"
other_mdev css0 0.0.0313 vfio_ccw-io vfio-ccw "$(uuid 2)"
configure devices
vl_is "inventory has none of them" "0||" inventory --no-headings
vl_says "init does not enable them" 1 init -- M_INIT_NO_GPU
vl_is "and gc --unused removes none" "0||" gc --dry-run --unused --grace 0 --no-headings
### Hygon's crypto engines (hct), mdevs of a virtual parent that are vfio-pci
other_mdev virtual/hct hct hct-1 vfio-pci "$(uuid 3)"
vl_says "init does not enable them" 1 init -- M_INIT_NO_GPU
vl gc --dry-run --unused --grace 0 --no-headings
is "$out" "" "nor does gc --unused remove them"
configure hct-1
vl gc --dry-run --unused --grace 0 --no-headings
is "$(grep -c "^remove *$(uuid 3)" <<<"$out")" 1 "unless they are configured"
configure vfio_ap-passthrough@matrix
check_says "one that is named is refused with the reason" ' matrix' M_NO_VGPU_PARENT
tap_done
