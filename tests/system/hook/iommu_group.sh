#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An IOMMU group is one domain's: plain VFs that share one with each other, with the card, or have none.
. "$(dirname "$0")/../../lib/hook.sh"
host flex/4:1
card=0000:4d:00.0 a=0000:4d:00.1 b=0000:4d:00.2 c=0000:4d:00.3
configure vf_flex@8086:56c0 policy 'driver_cleanup = 0'

# domain N ADDRESS...: domain number N with these VFs.
domain() {
	local n=$1 address
	shift
	echo "<domain type='kvm'><name>vm$n</name><uuid>${vm_uuid%??}0$n</uuid><devices>"
	for address; do vf_hostdev "$address" yes; done
	echo "</devices></domain>"
}
start() { domain "$@" | hook "vm$1" prepare begin - 2>"$work/err"; }
end() { domain "$@" | hook "vm$1" release end destroyed; }
planned() { domain "$@" | lease plan - 2>"$work/err"; }
arrive() { domain "$@" | hook "vm$1" migrate begin - 2>"$work/err"; }
available() { lease inventory --json | jq -r '.pgpus[0].types[0] | "\(.available) of \(.capacity)"'; }
# refused SENTENCE ADDRESS MESSAGE [ARG...]: hook and plan say so.
refused() {
	fails "$1: the hook refuses it" start 1 "$2"
	holds "$1: it says why" says "${@:3}" <"$work/err"
	fails "$1: plan refuses it" planned 1 "$2"
	holds "$1: plan says why" says "${@:3}" <"$work/err"
}
# never SENTENCE ADDRESS MESSAGE [ARG...]: so does check, of the definition, as no guest that ends changes it.
never() {
	refused "$@"
	domain 1 "$2" | libvirt_has vm1
	lease check >"$work/check" 2>&1
	holds "$1: check says so of the domain" says "${@:3}" < <(grep -F vm1.xml "$work/check")
	rm "$root/etc/libvirt/qemu/vm1.xml"
}
group() { sed -n "s/^$1 //p" "$root/.kernel/control/iommu"; }

is "$(available)" "4 of 4" "each VF has a group of its own: each is a vGPU"

### Two VFs in one group
control iommu "$b $a"
shared=$(group $a)
is "$(available)" "3 of 3" "two VFs of one group are one"
holds "a domain gets one of them" start 2 $a
is "$(available)" "2 of 3" "and with it the group"
refused "the other one" $b M_GROUP_LEASED "$shared" vm2 $a
holds "a domain that arrives is given a VF of another group" arrive 3 $b
fails "not that one" grep -q "$b" "$root/run/vgpu-lease/leases/"*
end 3 $b
end 2 $a
holds "one domain can have both" start 2 $a $b
is "$(lease list --json | jq -r '.leases[].id' | sort | xargs)" "$a $b" "they are leased to it"
end 2 $a $b
is "$(available)" "3 of 3" "when it ends, the group is free"

### Drivers of the host
control bind "$b i915"
refused "the other one of the group has a driver of the host" $a M_GROUP_BOUND $b "$shared" i915
holds "a domain that gets both, from that driver, starts" start 2 $a $b
end 2 $a $b
control bind "$b pci-stub"
holds "pci-stub does not matter" start 2 $a
end 2 $a
control bind "$b none"
holds "one without a driver does not matter" start 2 $a
end 2 $a
control iommu "$c $card"
never "the card itself is in the group" $c M_GROUP_BOUND $card "$(group $c)" i915

### No group
control iommu "$c none"
never "one VF has no group" $c M_NO_GROUP $c
holds "the others are as before" start 2 $a
end 2 $a
control iommu "$card none"
never "no VF has a group" $a M_IOMMU_OFF
lease check >"$work/check"
holds "check says so of the card" says M_IOMMU_OFF < <(grep -F "$card" "$work/check")
holds "inventory, too" says M_IOMMU_OFF < <(lease inventory)

### VFs of two cards in one group, as of a board with two GPUs behind a switch without ACS
end_host
rm -r "${root:?}/run"
host flex/2:2
other=0000:4e:00.1
configure vf_flex@8086:56c0
control iommu "$other $a"
shared=$(group $a)
holds "a domain gets the VF of one card" start 2 $a
refused "that of the other card" $other M_GROUP_LEASED "$shared" vm2 $a
holds "another VF of that card is free" start 3 0000:4e:00.2
end 2 $a
holds "one domain can have both of the group" start 2 $a $other
tap_done
