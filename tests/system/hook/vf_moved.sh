#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An address in [vf_NAME] stands for the device that it was first used for: another one there, as after a shift of the
# bus numbers, is refused until somebody confirms it. On a plain tree.
. "$(dirname "$0")/../../lib/hook.sh"
flex="8086 56c0 8086 4905 038000" connectx="15b3 101d 15b3 0016 020000"
mkdir -p "$root"/{sys/bus/pci/devices,sys/class,proc,run,dev,etc,var/lib}

# device BUS VENDOR DEVICE SUBVENDOR SUBDEVICE CLASS: a card with two VFs, on slot 0000:BUS:00.
device() {
	local pci=$root/sys/bus/pci/devices n at
	rm -rf "$pci/0000:$1:00."*
	for n in 0 1 2; do
		at=$pci/0000:$1:00.$n
		mkdir -p "$at"
		pci_ids "$at" "$2" "$3" "$6" "$4" "$5"
		echo 0 >"$at/numa_node"
		[ $n = 0 ] || ln -s "../0000:$1:00.0" "$at/physfn"
		ln -s "../../../kernel/iommu_groups/$n" "$at/iommu_group"
		[ $n = 0 ] || ln -s "../0000:$1:00.$n" "$pci/0000:$1:00.0/virtfn$((n - 1))"
	done
	at=$pci/0000:$1:00.0
	printf '%s\n' 2 >"$at/sriov_totalvfs"
	cat "$at/sriov_totalvfs" >"$at/sriov_numvfs"
	echo 1 | tee "$at/sriov_offset" >"$at/sriov_stride"
}
# vm N with VF N of bus 4d
start() { start_vf "$1" "0000:4d:00.$1" yes >"$work/out" 2>"$work/said"; }
end() { end_vf "$1" "0000:4d:00.$1" yes; }
serves() { start 1 && end 1; }
refused() { ! start "$1" && says M_OTHER_DEVICE "$2" "$3" <"$work/said"; }
check_says() { lease check | tr -s ' ' | grep "^$1 .*$2" >"$work/found"; } # STATUS ADDRESS: a finding of check

for named in 0000:4d:00.0 0000:4d:00.1; do
	rm -rf "$root/var/lib/vgpu-lease" "$root/run/vgpu-lease"
	in_words device 4d "$flex"
	configure "vf_flex@$named"
	holds "a VF of [vf_flex] is leased, $named in the file" serves
	holds "and once more" serves
	in_words device 4d "$connectx"
	holds "where another device has the address by now the start is refused, with what it is and was" \
		refused 1 15b3:101d:15b3:0016 8086:56c0:8086:4905
	holds "check fails with that" check_says FAIL 15b3:101d
	fails "plan refuses as the hook does" eval "vf_domain 1 0000:4d:00.1 yes | lease plan - >'$work/plan'"
	lease retype --dry-run 0000:4d:00.0 flex >/dev/null
	fails "a dry run confirms nothing" start 1
	holds "retype confirms the new device" lease retype $named flex
	holds "then it is leased" serves
	holds "and the one that it was is refused" eval "device 4d $flex; refused 1 8086:56c0:8086:4905 15b3:101d:15b3:0016"
done

configure vf_flex@8086:56c0
holds "what device_match selects needs no confirmation" serves
configure vf_flex@0000:4d:00.0 'device_match = 8086:56c0'
holds "nor does a device that has the address and that device_match selects" serves
configure vf_flex@8086:ffff
lease gc >/dev/null
configure vf_flex@0000:4d:00.0
in_words device 4d "$connectx"
holds "an address that was taken out of the file is forgotten" serves
tap_done
