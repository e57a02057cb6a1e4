#!/bin/bash
# Plain SR-IOV VFs on the simulated host: what they show, bound to vfio-pci, to a graphics driver, or to none.
set -u
. "${srcdir:?}/tests/lib/sim.sh"

holds "a host with a Flex of four VFs starts" "$sim" "$root" flex/4+mi210+cx6

pci=$root/sys/bus/pci/devices
vf=0000:4d:00.1
driver() { basename "$(readlink "$pci/$1/driver")"; }

is "$(cat "$pci/$vf/vendor" "$pci/$vf/device" "$pci/$vf/class" | paste -sd' ')" "0x8086 0x56c0 0x038000" "a VF is a Flex 170"
is "$(readlink "$pci/$vf/physfn") $(readlink "$pci/0000:4d:00.0/virtfn3")" "../0000:4d:00.0 ../0000:4d:00.4" "PF and VFs are linked"
is "$(driver 0000:4d:00.0) $(driver $vf)" "i915 vfio-pci" "the PF belongs to i915, the VF to vfio-pci"
node=$root/dev/vfio/$(basename "$(readlink "$pci/$vf/iommu_group")")
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

is "$(cat "$pci/0000:2d:02.0/device" "$pci/0000:2d:00.0/device" | paste -sd' ') $(basename "$(readlink "$pci/0000:2d:02.0/physfn")")" \
	"0x7410 0x740f 0000:2d:00.0" "an AMD card has one VF, which is another device"
is "$(grep PCI_ID "$pci/0000:17:00.2/uevent") $(cat "$pci/0000:17:00.0/sriov_vf_device")" "PCI_ID=15B3:101E 101e" \
	"so are those of a network card"
tap_done
