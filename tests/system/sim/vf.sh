#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs on the simulated host: plain ones, bound to vfio-pci, to a graphics driver, or to none, and those of NVIDIA's framework.
. "$(dirname "$0")/../../lib/sim.sh"
holds "a host with a Flex of four VFs starts" "$sim" "$root" flex/4+mi210+cx6

pci=$root/sys/bus/pci/devices
vf=0000:4d:00.1
driver() { basename "$(readlink "$pci/$1/driver")"; }

is "$(cat "$pci/$vf/vendor" "$pci/$vf/device" "$pci/$vf/class" | paste -sd' ')" "0x8086 0x56c0 0x038000" "a VF is a Flex 170"
is "$(readlink "$pci/$vf/physfn") $(readlink "$pci/0000:4d:00.0/virtfn3")" "../0000:4d:00.0 ../0000:4d:00.4" "PF and VFs are linked"
is "$(driver 0000:4d:00.0) $(driver $vf)" "i915 vfio-pci" "the PF belongs to i915, the VF to vfio-pci"
node=$(node_of $vf)
holds "its group has a node" test -e "$node"
holds "that opens" bash -c "exec 9<>'$node'"
fails "there is no directory nvidia" test -e "$pci/$vf/nvidia"
fails "nor types" test -e "$pci/$vf/mdev_supported_types"

exec 9<>"$node"
is "$(put "$vf i915" "$control/bind")" "Device or resource busy" "a VF that is open keeps its driver"
exec 9<&-
is "$(put "$vf i915" "$control/bind")" ok "another driver can have it"
is "$(driver $vf) $(grep ^DRIVER "$pci/$vf/uevent")" "i915 DRIVER=i915" "then the link and uevent say so"
holds "a graphics driver makes a card of it" test -d "$pci/$vf/drm/card1"
fails "and its group has no node" test -e "$node"
fails "nor has it a vfio device" test -e "$pci/$vf/vfio-dev"
is "$(put "0000:4d:00.0 none" "$control/bind")" ok "all of a card can be without driver"
fails "then there is no link" test -L "$pci/$vf/driver"
fails "and no card" test -e "$pci/$vf/drm"
is "$(sed -n 's/^0000:4d.* //p' "$control/bind" | sort -u)" none "the file shows what has them"
is "$(put "$vf vfio-pci" "$control/bind")" ok "vfio-pci can have it back"
holds "then its node is there again" test -e "$node"
is "$(put "0000:4d:00.0 off" "$control/vfs") $(cat "$pci/0000:4d:00.0/sriov_numvfs")" "ok 0" "VFs can be taken away"
fails "with their groups" test -e "$node"

is "$(put "0000:4d:00.0 on" "$control/mixed")" "Invalid argument" "mixed-size mode is none of theirs"

### Enabled and disabled as the kernel does it
pf=$pci/0000:4d:00.0
numvfs() { put "$1" "$pf/sriov_numvfs"; }
vfs() { (cd "$pf" && printf '%s ' virtfn*); }
is "$(numvfs 5), $(numvfs -1), $(numvfs 2x)" "Numerical result out of range, Invalid argument, Invalid argument" \
	"no more VFs than there can be are enabled"
is "$(put 0 "$pf/sriov_drivers_autoprobe") $(cat "$pf/sriov_drivers_autoprobe")" "ok 0" "no driver need be bound to them"
is "$(numvfs 2) $(cat "$pf/sriov_numvfs") $(vfs)" "ok 2 virtfn0 virtfn1 " "two of four are enabled"
fails "without a driver" test -L "$pci/$vf/driver"
fails "or a node" test -e "$node"
holds "but with a group of their own" test -d "$pci/$vf/iommu_group/devices/$vf"
is "$(numvfs 2) $(numvfs 4)" "ok Device or resource busy" "as many again is nothing to do, more is refused"
is "$(numvfs 0) $(put 1 "$pf/sriov_drivers_autoprobe") $(numvfs 4) $(driver $vf)" "ok ok ok vfio-pci" "later ones have a driver again"

second=0000:4d:00.2
node=$(node_of $second)
exec 9<>"$node"
writer() { exec 9<&- && printf '%s\n' "$1" >"$pf/sriov_numvfs"; } # does not have the VF open itself
writer 0 &
disabling=$!
holds "to disable VFs waits for one that is open" eventually test ! -e "$pci/$second/physfn"
is "$(vfs)" "virtfn2 virtfn3 " "those before it are gone, those behind it are there"
fails "it is not among its card's" test -e "$pci/$second/driver"
fails "nor has it a vfio device" test -e "$pci/$second/vfio-dev"
holds "but it is there, a VF" test -e "$pci/$second/sriov_vf_msix_count"
holds "with its node" test -e "$node"
is "$(basename "$(readlink "$pci/0000:4d:00.3/physfn")")" 0000:4d:00.0 "another is still the card's"
is "$(timeout 10 cat "$pf/sriov_totalvfs")" 4 "how many there can be is told"
cat "$pf/sriov_numvfs" >"$work/numvfs" 9<&- &
reading=$!
writer 3 &
enabling=$!
is "$(put "0000:4d:00.0 off" "$control/vfs")" "Device or resource busy" "sriov-manage is refused meanwhile"
kill -9 $disabling
sleep 0.3
is "$(cat "$work/numvfs")|$(jobs -rp | wc -l)" "|3" "nobody is told how many there are, and the writer cannot be killed"
exec 9<&-
wait $disabling $reading
wait $enabling
holds "once it is closed, the writer that asked for three gets them" test "$(vfs)" = "virtfn0 virtfn1 virtfn2 "
like "$(cat "$work/numvfs")" "[03]" "and who asked is told"

is "$(cat "$pci/0000:2d:02.0/device" "$pci/0000:2d:00.0/device" | paste -sd' ') $(basename "$(readlink "$pci/0000:2d:02.0/physfn")")" \
	"0x7410 0x740f 0000:2d:00.0" "an AMD card has one VF, which is another device"
is "$(grep PCI_ID "$pci/0000:17:00.2/uevent") $(cat "$pci/0000:17:00.0/sriov_vf_device")" "PCI_ID=15B3:101E 101e" \
	"so are those of a network card"

### NVIDIA's own VFIO framework: all that tests/lib/nvidia_vf.sh says, and what only this host has
"$sim" --stop "$root"
holds "a host with a T4 on mdev and two L40S on variant VFs starts" "$sim" "$root" t4+l40s/6:2+rtxpro6000/8

# shellcheck disable=SC2034 # the list's
dev=$root/dev opened='' cards=(0000:26:00.0 0000:27:00.0) card=0000:26:00.0
open_vf() {
	opened=ok
	{ exec 9<>"$(node_of "$1")"; } 2>"$tmp/said" || opened=$(sed 's/.*: //' "$tmp/said")
}
close_vf() { exec 9<&-; }

. "$(dirname "$0")/../../lib/nvidia_vf.sh"

### What only this host has
# A text of another length, written while two read it.
toggle() { for _ in {1..300}; do echo 1147 >"$pci/$1/nvidia/current_vgpu_type" && echo 0 >"$pci/$1/nvidia/current_vgpu_type"; done; }
parts() { # VF PROCESS: of all reads while this one runs, how many of a hundred are neither text
	local text all=0 parts=0
	while kill -0 "$2" 2>/dev/null; do
		IFS= read -r text <"$pci/$1/nvidia/current_vgpu_type"
		all=$((all + 1))
		[ "$text" = 0 ] || [ "$text" = 1147 ] || parts=$((parts + 1))
	done
	echo $((parts * 100 / all))
} 2>/dev/null
# A reader that waits while the file is opened 16 times can still read a part, as it does on a busy machine: that is why
# not none is asked for.
toggle "$a" &
toggling=$!
parts "$a" "$toggling" >"$tmp/parts" &
holds "a text that changes is read as it was or as it is, not in part" test "$(parts "$a" "$toggling")" -le 3
wait $!
holds "by each who reads it" test "$(<"$tmp/parts")" -le 3
wait "$toggling"

vf=$a other=$b
group=$(basename "$(readlink "$pci/$vf/iommu_group")")
holds "a VF's device has a node of its own" test -e "$root/dev/vfio/devices/$(ls "$pci/$vf/vfio-dev")"
is "$(readlink "$root/sys/kernel/iommu_groups/$group/devices/$vf")" "../../../../devices/pci0000:26/$vf" "the group leads back"
is "$(ls "$bus")" 0000:84:00.0 "class/mdev_bus has the T4 only"
is "$(readlink "$pci/0001:c8:00.0/virtfn0")" ../0001:c8:00.2 "Blackwell's first VF is .2, and its PF may be in domain 1"
is "$(cat "$pci/0001:c8:00.0/sriov_offset" "$pci/0001:c8:00.0/sriov_numvfs" | paste -sd' ')" "2 8" "the PF says so"
control log clear
control create_delay_ms "$card 3000"
set_type "$vf" 1147 >"$tmp/out" &
holds "a creation is shown while it is under way" eventually pending "create $vf nvidia-1147"
wait
control create_delay_ms "$card 0"
control inject "create $card EIO"
is "$(set_type "$other" 1147) $(set_type "$other" 1147)" "Input/output error ok" "an error is ordered once, on a VF of the card"
control inject "remove $other EBUSY"
is "$(set_type "$other" 0) $(set_type "$other" 0)" "Device or resource busy ok" "that of a removal, too"
is "$(awk -v vf="$other" '$3 == vf { print $2, $6 }' "$control/log" | paste -sd,)" "create EIO,create ok,remove EBUSY,remove ok" \
	"the log tells of it"

### The card
is "$(put "0000:26:00.0 off" "$control/vfs")" "Device or resource busy" "VFs with a vGPU cannot be taken away"
is "$(put "0001:c8:00.0 off" "$control/vfs")" ok "others can"
is "$(cat "$pci/0001:c8:00.0/sriov_numvfs") $(cat "$pci/0001:c8:00.0/sriov_totalvfs")" "0 8" "the PF says so"
fails "they are gone" test -e "$pci/0001:c8:00.2"
fails "and the links to them" test -L "$pci/0001:c8:00.0/virtfn0"
is "$(put "0001:c8:00.0 on" "$control/vfs")" ok "they can be enabled again"
is "$(listed 0001:c8:00.2)" 28 "and have their lists"
is "$(put "0001:c8:00.2 off" "$control/register")" ok "a VF can be without its files"
fails "as before the driver is ready" test -e "$pci/0001:c8:00.2/nvidia"
control register "0001:c8:00.2 on"

### Mixed sizes, MIG
blackwell=0001:c8:00
set_type $blackwell.2 1519 >/dev/null
is "$(set_type $blackwell.3 1520) $(set_type $blackwell.4 1523)" "ok Input/output error" "3Q goes with 3A, not with 6Q"
is "$(put "$blackwell.0 on" "$control/mixed")" "Device or resource busy" "mixed-size mode is set on an empty card only"
set_type $blackwell.2 0 >/dev/null
set_type $blackwell.3 0 >/dev/null
is "$(put "$blackwell.0 on" "$control/mixed")" ok "then it can be"
is "$(set_type $blackwell.2 1519) $(set_type $blackwell.4 1523)" "ok ok" "and 3Q goes with 6Q"
is "$(set_type $blackwell.3 1540) $(set_type $blackwell.5 1537) $(set_type $blackwell.6 1528)" "ok ok Input/output error" \
	"as long as the framebuffer of 96 GiB lasts"
for i in 2 3 4 5; do set_type $blackwell.$i 0; done >/dev/null
control vfs "$blackwell.0 off"
control vfs "$blackwell.0 on"
is "$(grep $blackwell "$control/mixed")" "$blackwell.0 off" "the mode goes with sriov-manage"
control mig "$blackwell.0 on"
is "$(listed $blackwell.2)" 0 "in MIG mode nothing fits before there is a GPU instance"
is "$(set_type $blackwell.2 1561)" "Input/output error" "and setting a type is EIO"
is "$(put "$blackwell.0 1g.24gb" "$control/mig")" ok "a GPU instance is made"
is "$(listed $blackwell.2) $(listed $blackwell.7)" "2 2" "then its types fit, on every VF"
is "$(set_type $blackwell.2 1561)" ok "one takes it"
is "$(cat "$pci/$blackwell.2/nvidia/gpu_instance_id" "$pci/$blackwell.2/nvidia/placement_id" | paste -sd' ')" "3 0" "and tells which it was"
is "$(listed $blackwell.7)" 0 "no other fits"
is "$(put "$blackwell.0 3 off" "$control/mig")" "Device or resource busy" "an instance in use stays"
set_type $blackwell.2 0 >/dev/null
is "$(put "$blackwell.0 3 off" "$control/mig")" ok "a free one is destroyed"

### A driver that begins to hang
# behind FILE TEXT FILE: a write of its own; its answer is in $tmp/FILE. reader FILE FROM: a read, which hangs.
behind() { put "$2" "$3" >"$tmp/$1" & }
# The kernel may have forgotten the file that it reads meanwhile: then " (deleted)" is behind its path.
is_stuck() { [[ $(readlink "/proc/$1/fd/"*) == *"$2"* ]] && grep -q '^State:.D' "/proc/$1/status"; }
reader() {
	cat "$2" >"$tmp/$1" &
	holds "a read of $1 waits in the kernel" eventually is_stuck $! "$(readlink -f "$2")"
}
third=0000:26:00.6 fourth=0000:26:00.7
fits=$(cat "$pci/$fourth/nvidia/creatable_vgpu_types")
control create_delay_ms "0000:26:00.0 1500"
is "$(current $third)" 0 "a VF has no type"
behind typed 1147 "$pci/$third/nvidia/current_vgpu_type"
eventually pending "create $third"
is "$(current $third)" 0 "which it is given"
behind first "current_vgpu_type any" "$control/hang"
holds "a file can begin to hang while it is written" eventually grep -qx ok "$tmp/first"
holds "and the write ends" eventually grep -qx ok "$tmp/typed"
reader current "$pci/$third/nvidia/current_vgpu_type"
behind second "creatable_vgpu_types any" "$control/hang"
holds "so can another file while that is read" eventually grep -qx ok "$tmp/second"
reader listed "$pci/$fourth/nvidia/creatable_vgpu_types"
behind third "vgpu_params any" "$control/hang"
holds "and a third while both are" eventually grep -qx ok "$tmp/third"
is "$(cat "$tmp/current" "$tmp/listed")" "" "which hang"
control hang clear
wait
is "$(cat "$tmp/current" "$tmp/listed")" "1147"$'\n'"$fits" "until they need not"
tap_done
