#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs that are not there, as after a boot that has not enabled them: the configuration and the card say whose they are. And
# VFs at whose address another device is.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s/4+flex/3
pf=0000:26:00.0 vf=0000:26:00.4 flex=0000:4d:00.0 plain=0000:4d:00.2
managed=no
start() { start_vf "$@" 2>"$work/err"; }
# refused SENTENCE ADDRESS MESSAGE [ARG...]: the hook and plan refuse a domain with this VF, with the message.
refused() {
	vf_domain 1 "$2" "$managed" >"$work/1.xml"
	refuses "$1: the hook refuses it" prepare "$work/1.xml" -- "${@:3}"
	refuses "$1: plan refuses it" lease plan "$work/1.xml" -- "${@:3}"
}
# never SENTENCE ADDRESS MESSAGE [ARG...]: so does check, of the definition, as no guest that ends changes it.
never() {
	refused "$@"
	libvirt_has vm1 <"$work/1.xml"
	lease check >"$work/check" 2>&1
	holds "$1: check fails for the domain" says "${@:3}" < <(grep '^FAIL .*vm1.xml' "$work/check")
	is "$(grep -c -F vm1.xml "$work/check")" 1 "$1: in one line"
	rm "$root/etc/libvirt/qemu/vm1.xml"
}
policy=(policy 'driver_cleanup = 0')

configure nvidia-1147@$pf "${policy[@]}"
vf_serves "a domain with a VF of the pool starts" 1 $vf
control vfs "$pf off"
never "its card is named" $vf M_VFS_ENABLE $pf
holds "one of the domain's other devices passes as before" start 1 0000:00:1f.0
holds "so does an absent address that no card of the pool can have" start 1 0000:26:00.3
holds "and one behind the card's last VF" start 1 0000:26:01.0
holds "and a VF of a card that is not configured" start 1 $plain yes
control vfs "$flex off"
holds "whether that has its VFs or not" start 1 $plain yes
under nvidia-1147@10de:26b9 "${policy[@]}" -- never "its card is matched" $vf M_VFS_ENABLE $pf
under nvidia-1147@$vf "${policy[@]}" -- never "it is named itself" $vf M_VFS_ENABLE $pf
holds "check says of the line that names it how its VFs are enabled" says M_VFS_NOT_ENABLED -- M_VFS_RESTART $pf \
	< <(grep -F vgpu-lease.conf "$work/check")
fails "and does not advise to remove it" grep -q 'remove it from device_addresses' "$work/check"
under nvidia-1147 "${policy[@]}" -- never "a type takes all cards" $vf M_VFS_ENABLE $pf
arrives() { vf_domain 1 $vf | hook vm1 migrate begin -; }
refuses "it cannot arrive either" arrives -- M_VFS_ENABLE $pf
under nvidia-222@0000:99:00.0 -- never "it was a vGPU before" $vf M_VFS_ENABLE $pf
control vfs "$pf on"
control register "$pf off"
under nvidia-1147@10de:26b9 "${policy[@]}" -- never "its card is matched, and has no types yet" $vf M_NO_SUCH_VF "$(message M_NVIDIA_VGPUD)"
under nvidia-1147 "${policy[@]}" -- never "a type takes all cards, and this one has none yet" $vf M_NO_SUCH_VF "$(message M_NVIDIA_VGPUD)"
control register "$pf on"
under nvidia-1147@0000:26:00.5 "${policy[@]}" -- never "it exists, and only another VF of its card is configured" $vf M_VF_NOT_CONFIGURED
under vf_flex@8086:56c0 -- never "a plain VF of a card that is matched" $plain M_VFS_NOT_ENABLED
holds "a VF that takes types passes where none is enabled" start 1 0000:26:00.5
control vfs "$flex on"
vf_serves "with its VFs enabled it starts" 1 $plain
is "$(leases)" 0 "nothing is leased in the end"

### Plain VFs that are disabled while a guest has one, as the kernel does it: from the first on, and waiting at the one
# that is open. And VFs that begin without a driver.
new_host flex/4 vf_flex@8086:56c0 policy 'driver_cleanup = 0' 'release_wait = 10'
pci=$root/sys/bus/pci/devices pf=0000:4d:00.0 first=0000:4d:00.1 second=0000:4d:00.2 third=0000:4d:00.3 last=0000:4d:00.4
start_refused() { # "MESSAGE [WORD]" N ADDRESS [MANAGED]: the start is, with this message
	local message
	read -ra message <<<"$1"
	! start "${@:2}" && says "${message[@]}" <"$work/err"
}
numvfs() { echo "$1" >"$pci/$pf/sriov_numvfs"; }
going() { test ! -e "$pci/$second/physfn"; }

holds "a domain has the second VF" start 1 $second
open_device $second
holds "and another the last" start 5 $last
numvfs 0 &
disabling=$!
holds "VFs are being disabled, up to the one that is open" eventually going
is "$(listed id,state)" "$second active $last active" "no lease goes"
for managed in yes no; do
	fails "a start with the VF that goes is refused, managed $managed" start 2 $second $managed
	holds "since a domain leases it" says M_LEASED_TO vm1 "$(domain_uuid 1)" <"$work/err"
	holds "one with a VF behind it is refused, for that reason" start_refused M_VFS_BEING_DISABLED 2 $third $managed
	holds "so is one with a VF that is gone already" start_refused M_VFS_BEING_DISABLED 2 $first $managed
done
holds "a domain that is to have it anew is told that it goes" start_refused M_BEING_DISABLED 1 $second
is "$(listed id,state)" "$second active $last active" "refusals leave no lease, and take none"
holds "plan says so" says M_LEASED_TO vm1 "$(domain_uuid 1)" < <(vf_domain 2 $second | lease plan - 2>&1)
holds "check says of the card what is going on" says M_VFS_BEING_DISABLED < <(lease check 2>&1)
holds "so does show of the VF that goes" says M_SHOW_BEING_DISABLED < <(lease show $second)
holds "whose device is there until then" grep -q '"exists": true' <<<"$(lease show $second --json)"
holds "and asks no file that does not answer" timeout 60 "$builddir/vgpu-lease" --root "$root" inventory
lease gc >"$work/out" 2>&1
is "$(listed id,state)" "$second active $last active" "gc leaves what a guest has"
lease release $second 2>/dev/null
is "$(listed id,state)" "$second active $last active" "so does release"
holds "a domain ends whose VF has not gone yet" end_vf 5 $last
is "$(listed id,state)" "$second active" "with its lease"
holds "the domain ends whose VF goes" end_vf 1 $second
is "$(listed id,state)" "$second releasing" "its lease stays while the guest has the VF"
close_device
wait $disabling
holds "then it goes, and the VFs" eventually test -z "$(find "$pci/" -name '0000:4d:00.[1-4]')"
then_is "nothing is left" 0 leases lease gc

### Nobody has leased it
echo 0 >"$pci/$pf/sriov_drivers_autoprobe"
numvfs 4
fails "VFs begin without a driver where none is to be bound" test -e "$pci/$second/driver"
vf_serves "a start with managed='yes' leaves that to libvirt" 2 $second yes
holds "one with managed='no' is refused" start_refused "M_VF_UNBOUND $second" 2 $second no
is "$(leases)" 0 "without a lease"
echo "$second vfio-pci" >"$root/.kernel/control/bind"
vf_serves "with vfio-pci it starts" 2 $second no
exec 8<>"$(node_of $second)"
(exec 8<&-; numvfs 0) &
eventually going
holds "a VF that nobody leases, and that goes, is refused" start_refused M_BEING_DISABLED 2 $second yes
exec 8<&-
wait
is "$(leases)" 0 "nothing is leased in the end"

### An IOMMU group is one domain's: plain VFs that share one with each other, with the card, or have none
new_host flex/4:1 vf_flex@8086:56c0 policy 'driver_cleanup = 0'
card=0000:4d:00.0 a=0000:4d:00.1 b=0000:4d:00.2 c=0000:4d:00.3 managed=yes
domain() {
	local address
	echo "<domain type='kvm'><name>vm$1</name><uuid>$(domain_uuid "$1")</uuid><devices>"
	for address in "${@:2}"; do vf_hostdev "$address" yes; done
	echo "</devices></domain>"
}
begin() { domain "$@" | hook "vm$1" prepare begin -; }
finish() { domain "$@" | hook "vm$1" release end destroyed; }
serve() { holds "$1" begin "${@:2}" && finish "${@:2}"; } # SENTENCE N ADDRESS...: the domain starts, and ends
arrive() { domain "$@" | hook "vm$1" migrate begin -; }
available() { lease inventory --json | jq -r '.pgpus[0].types[0] | "\(.available) of \(.capacity)"'; }
group() { sed -n "s/^$1 //p" "$root/.kernel/control/iommu"; }

is "$(available)" "4 of 4" "each VF has a group of its own: each is a vGPU"

### Two VFs in one group
control iommu "$b $a"
shared=$(group $a)
is "$(available), $(lease export nova-pci | grep -o '^device.*"' | tr -dc '1-4\n' | grep -o '.$' | xargs)" "3 of 3, 1 3 4" "two VFs of one group are one, also for Nova"
holds "a domain gets one of them" begin 2 $a
is "$(available)" "2 of 3" "and with it the group"
refused "the other one" $b M_GROUP_LEASED "$shared" vm2 $a
holds "a domain that arrives is given a VF of another group" arrive 3 $b
fails "not that one" grep -q "$b" "$root/run/vgpu-lease/leases/"*
finish 3 $b
finish 2 $a
holds "one domain can have both" begin 2 $a $b
is "$(listed id)" "$a $b" "they are leased to it"
finish 2 $a $b
is "$(available)" "3 of 3" "when it ends, the group is free"

### Drivers of the host
control bind "$b i915"
refused "the other one of the group has a driver of the host" $a M_GROUP_BOUND $b "$shared" i915
serve "a domain that gets both, from that driver, starts" 2 $a $b
control bind "$b pci-stub"
serve "pci-stub does not matter" 2 $a
control bind "$b none"
serve "one without a driver does not matter" 2 $a
control iommu "$c $card"
never "the card itself is in the group" $c M_GROUP_CARD $card "$(group $c)" i915

### No group
control iommu "$c none"
never "one VF has no group" $c M_NO_GROUP $c
serve "the others are as before" 2 $a
control iommu "$card none"
never "no VF has a group" $a M_IOMMU_OFF
holds "check says so of the card" says M_IOMMU_OFF < <(lease check | grep -F "$card")
holds "inventory, too" says M_IOMMU_OFF < <(lease inventory)
new_host l40s/2 nvidia-1147
control iommu "0000:26:00.0 none"
managed=no never "nor has a VF that takes a type" 0000:26:00.4 M_IOMMU_OFF
set_vf_type 0000:26:00.4 1147
managed=no never "even if it has its type" 0000:26:00.4 M_NO_GROUP 0000:26:00.4

### VFs of two cards in one group, as of a board with two GPUs behind a switch without ACS
new_host flex/2:2 vf_flex@8086:56c0
other=0000:4e:00.1
control iommu "$other $a"
shared=$(group $a)
holds "a domain gets the VF of one card" begin 2 $a
refused "that of the other card" $other M_GROUP_LEASED "$shared" vm2 $a
holds "another VF of that card is free" begin 3 0000:4e:00.2
finish 2 $a
holds "one domain can have both of the group" begin 2 $a $other

### VFs that take a type, on a desktop board without ACS
new_host l40s/4 nvidia-1147 policy 'driver_cleanup = 0'
card=0000:26:00.0 a=0000:26:00.4 b=0000:26:00.5 managed=no
control iommu "$b $a"
is "$(lease inventory --no-headings -o CAPACITY,AVAILABLE | xargs)" "3 3" "two VFs of one group are one"
holds "a domain gets one of them" start_vf 2 $a
refused "the other one" $b M_GROUP_LEASED "$(group $a)" vm2 $a
set_vf_type $b 1147
refused "also with a type" $b M_GROUP_LEASED "$(group $a)" vm2 $a
set_vf_type $b 0
vf_serves "a VF of another group is free" 3 0000:26:00.6
end_vf 2 $a
control iommu "$card $card"
is "$(lease inventory --no-headings -o AVAILABLE)" 0 "with the card in the group, no VF is available"
never "the card itself is in the group" $a M_GROUP_CARD $card "$(group $a)" nvidia

### An address in [vf_NAME] stands for the device that it was first used for: another one there, as after a shift of the
# bus numbers, is refused until somebody confirms it. On a plain tree
end_host
rm -rf "${root:?}"
flex="8086 56c0 8086 4905 038000" connectx="15b3 101d 15b3 0016 020000" arc="8086 56c1 8086 4905 038000"
mkdir -p "$root"/{sys/bus/pci/devices,sys/class,proc,run,dev,etc,var/lib}

# device BUS VENDOR DEVICE SUBVENDOR SUBDEVICE CLASS: a card with two VFs, on slot 0000:BUS:00.
device() {
	local at
	rm -rf "$root/sys/bus/pci/devices/0000:$1:00."*
	for at in "$root/sys/bus/pci/devices/0000:$1:00."{0,1,2}; do
		mkdir -p "$at"
		pci_ids "$at" "$2" "$3" "$6" "$4" "$5"
		echo 0 >"$at/numa_node"
	done
	pci_vfs "0000:$1:00.0" 2 "0000:$1:00.1" "0000:$1:00.2"
	echo 1 | tee "${at%.*}.0/sriov_offset" >"${at%.*}.0/sriov_stride"
}
begins() { start_vf "$1" "0000:4d:00.$1" yes >"$work/out" 2>"$work/said"; }
end() { end_vf "$1" "0000:4d:00.$1" yes; }
serves() { begins 1 && end 1; }
is_other() { ! begins "$1" && says M_OTHER_DEVICE "$2" "$3" <"$work/said"; }
check_says() { lease check | tr -s ' ' | grep "^$1 .*$2" >"$work/found"; } # STATUS ADDRESS: a finding of check

for named in 0000:4d:00.0 0000:4d:00.1; do
	rm -rf "$root/var/lib/vgpu-lease" "$root/run/vgpu-lease"
	in_words device 4d "$flex"
	under "vf_flex@$named" -- holds "a VF of [vf_flex] is leased, $named in the file" serves
	holds "and once more" serves
	in_words device 4d "$connectx"
	holds "where a network card has the address by now the start is refused, with what it is and was" \
		is_other 1 15b3:101d:15b3:0016 8086:56c0:8086:4905
	holds "check fails with that" check_says FAIL 15b3:101d
	fails "and does not advise to accept it" grep -q retype "$work/found"
	refuses "nor does retype accept it" lease retype $named flex -- M_RETYPE_NOT_A_GPU 15b3:101d:15b3:0016 8086:56c0:8086:4905
	fails "so the start is refused still" begins 1
	in_words device 4d "$arc"
	holds "so is one where another GPU has it" is_other 1 8086:56c1:8086:4905 8086:56c0:8086:4905
	holds "check advises to accept that" eval "check_says FAIL 8086:56c1 && grep -q retype '$work/found'"
	fails "plan refuses as the hook does" eval "vf_domain 1 0000:4d:00.1 yes | lease plan - >'$work/plan'"
	lease retype --dry-run 0000:4d:00.0 flex >/dev/null
	fails "a dry run confirms nothing" begins 1
	holds "retype confirms the new device" lease retype $named flex
	holds "then it is leased" serves
	holds "and the one that it was is refused" eval "device 4d $flex; is_other 1 8086:56c0:8086:4905 8086:56c1:8086:4905"
done

under vf_flex@8086:56c0 -- holds "what device_match selects needs no confirmation" serves
under vf_flex@0000:4d:00.0 'device_match = 8086:56c0' -- holds "nor does a device that has the address and that device_match selects" serves
configure vf_flex@8086:ffff
lease gc >/dev/null
configure vf_flex@0000:4d:00.0
in_words device 4d "$connectx"
holds "an address that was taken out of the file is forgotten" serves

### A guest's address is another device's, after the card and its address in the file have moved
was_ours() { ! begins "$1" && says M_WAS_OURS "${@:2}" <"$work/said"; } # N ADDRESS IS WHAT WAS
for slot in 4d 4e; do rm -rf "$root/sys/bus/pci/devices/0000:$slot:00."*; done
rm -rf "$root/var/lib/vgpu-lease" "$root/run/vgpu-lease"
in_words device 4d "$flex"
configure vf_flex@0000:4d:00.0
holds "a VF is leased" serves
vf_domain 1 0000:4d:00.1 yes | libvirt_has vm1
in_words device 4d "$connectx"
in_words device 4e "$flex"
configure vf_flex@0000:4e:00.0
holds "a VF of a network card that has its address is no hostdev to pass through" \
	was_ours 1 0000:4d:00.1 "a VF of 15b3:101d:15b3:0016" "a network card" flex " of 8086:56c0:8086:4905" 0000:4d:00.1
refuses "plan agrees" lease plan "$root/etc/libvirt/qemu/vm1.xml" -- M_WAS_OURS 0000:4d:00.1
holds "check fails for the domain" check_says FAIL "vm1.xml.*15b3:101d"
holds "one that never was ours passes" begins 2
rm -r "$root/sys/bus/pci/devices/0000:4d:00."*
pci_device 0000:4d:00.0 8086 1572 020000 i40e
pci_device 0000:4d:00.1 8086 1572 020000 i40e
holds "nor is a port of one" was_ours 1 0000:4d:00.1 8086:1572:0000:0000 "a network card" flex " of 8086:56c0:8086:4905" 0000:4d:00.1
sed -i 's/ 8086:.*//' "$root/var/lib/vgpu-lease/affinity/0000:4d:00.1"
holds "also of an earlier version, which recorded no card" was_ours 1 0000:4d:00.1 8086:1572:0000:0000 "a network card" flex
configure vf_flex@0000:4d:00.0
echo 8086:56c0:8086:4905 >"$root/var/lib/vgpu-lease/cards/0000:4d:00.0"
holds "nor if the file has its old address" was_ours 1 0000:4d:00.1 8086:1572:0000:0000 "a network card" flex
holds "of which check says what is there" eval "check_says FAIL 'pgpu .*8086:1572' && says M_OTHER_DEVICE 8086:1572:0000:0000 8086:56c0:8086:4905 <'$work/found'"
rm "$root/var/lib/vgpu-lease/affinity/0000:4d:00.1"
holds "without the record it is passed through" begins 1

### Two cards that have changed places, under device_match
new_host l40s/2@0000:26:00.0+a10/2@0000:27:00.0 nvidia-1148@10de:26b9 nvidia-591@10de:2236 policy 'driver_cleanup = 0'
vf_serves "a guest has a VF of an L40S" 1 0000:26:00.4
end_host
rm -r "${root:?}"/run/*
"$sim" "$root" a10/2@0000:26:00.0+l40s/2@0000:27:00.0
managed=no never "it gets no vGPU of the A10 that is there now" 0000:26:00.4 M_VF_OTHER_CARD 10de:2236:10de:1482 10de:26b9:10de:1851 nvidia-1148 nvidia-591
vf_serves "another guest does" 2 0000:26:00.5
start_typed() { vf_domain 1 0000:26:00.4 no nvidia-591 | hook vm1 prepare begin -; }
holds "so does this one, if its metadata asks" start_typed
end_vf 1 0000:26:00.4
vf_serves "from then on it needs not ask" 1 0000:26:00.4
tap_done
