#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Plain SR-IOV VFs on the simulated host: what they show, bound to vfio-pci, to a graphics driver, or to none.
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
is "$(timeout 1 cat "$pf/sriov_totalvfs")" 4 "how many there can be is told"
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
tap_done
