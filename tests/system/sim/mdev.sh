#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The mdev framework on the simulated host: all that tests/lib/nvidia_mdev.sh says, and what only this host has.
. "$(dirname "$0")/../../lib/sim.sh"
holds "a host of several models starts" "$sim" "$root" t4:2+a40/6+mtty+mdpy+gvt-g+mbochs+mlx5

# shellcheck disable=SC2034 # the list's
dev=$root/dev t4=0000:84:00.0 card=0000:84:00.0 vfs=(0000:41:00.{4..7})
. "$(dirname "$0")/../../lib/nvidia_mdev.sh"
control log clear

### What only this host has
is "$(readlink "$bus/$t4")" "../../devices/pci0000:84/$t4" "a card is below the root of its address"
is "$(find "$bus/$t4/mdev_supported_types/" -mindepth 1 -maxdepth 1 | wc -l)" 17 "a T4 has 17 types"
is "$(cat "$bus/$t4/numa_node" "$bus/0000:85:00.0/numa_node" | paste -sd' ')" "0 1" "every other card is on node 1"
is "$(cat "$root/sys/devices/system/node/node1/cpulist")" 16-31 "a node has its CPUs"
is "$(cat "$root/sys/module/nvidia/version")" 550.90.05 "the driver has a version"
is "$(readlink "$root/sys/bus/pci/devices/0000:41:00.0/virtfn4")" ../0000:41:01.0 "VFs run over into the next device"
is "$(readlink "$bus/mtty")" ../../devices/virtual/mtty/mtty "mtty is a virtual device"
is "$(cat "$(type_dir mtty mtty-1)/name")" "Single port serial" "its types have names with blanks"
fails "and no description" test -e "$(type_dir mtty mtty-1)/description"
fails "GVT-g's types have no names" test -e "$(type_dir 0000:00:02.0 i915-GVTg_V5_4)/name"

is "$(create $t4 nvidia-222 "$(uuid 1)") $(create $t4 nvidia-222 "$(uuid 171)")" "ok ok" "devices are created"
dev=$mdevs/$(uuid 1)
is "$(readlink "$dev")" "../../../devices/pci0000:84/$t4/$(uuid 1)" "bus/mdev leads to it"
is "$(readlink "$dev/iommu_group")" ../../../../kernel/iommu_groups/0 "it has the lowest free group"

find "$bus/0000:85:00.0/" >"$tmp/before"
create 0000:85:00.0 nvidia-222 "$(uuid 80)" >/dev/null
find "$bus/0000:85:00.0/" >"$tmp/after"
is "$(diff "$tmp/before" "$tmp/after" | grep -c "/$(uuid 80)$")" 2 "a listing that was read before shows it at once"
remove "$(uuid 80)" >/dev/null
is "$(find "$bus/0000:85:00.0/" | diff - "$tmp/before")" "" "and no longer when it is gone"

### What fits
is "$(capacity 0000:85:00.0 nvidia-223)" 8 "what is on one T4 does not touch the other"
vf=0000:41:00.4
is "$(create $vf nvidia-563 "$(uuid 10)")" ok "one of 12 GiB is created on a VF"
for i in 5 6 7; do create 0000:41:00.$i nvidia-563 "$(uuid 1$i)"; done >/dev/null
is "$(capacity 0000:41:01.0 nvidia-563)" 0 "four of 12 GiB fill an A40, whatever VFs are left"
is "$(create 0000:41:01.0 nvidia-563 "$(uuid 20)")" "Input/output error" "a fifth is refused"

is "$(capacity mtty mtty-1) $(capacity mtty mtty-2)" "24 12" "mtty has 24 ports"
create mtty mtty-2 "$(uuid 30)" >/dev/null
is "$(capacity mtty mtty-1) $(capacity mtty mtty-2)" "22 11" "its types share them"
for i in $(seq 31 41); do create mtty mtty-2 "$(uuid "$i")"; done | sort | uniq -c >"$tmp/out"
is "$(capacity mtty mtty-1)" 0 "twelve times two fill it"
is "$(create mtty mtty-1 "$(uuid 50)")" "No space left on device" "then it is ENOSPC"
for i in 60 61 62 63; do create mdpy mdpy-vga "$(uuid $i)"; done >/dev/null
is "$(capacity mdpy mdpy-hd)" 0 "mdpy takes four of any type"
is "$(create mdpy mdpy-hd "$(uuid 64)")" "Too many users" "then the mdev core says EUSERS"
is "$(capacity mbochs mbochs-small) $(capacity mbochs mbochs-medium) $(capacity mbochs mbochs-large)" "64 16 4" "mbochs has 256 MB"
create mbochs mbochs-large "$(uuid 90)" >/dev/null
create mbochs mbochs-small "$(uuid 91)" >/dev/null
is "$(capacity mbochs mbochs-small) $(capacity mbochs mbochs-medium) $(capacity mbochs mbochs-large)" "47 11 2" "its three sizes share them"
is "$(cat "$mdevs/$(uuid 90)/vendor/memory")" "64 MB" "a device tells its own"
create mbochs mbochs-large "$(uuid 92)" >/dev/null
create mbochs mbochs-large "$(uuid 93)" >/dev/null
is "$(create mbochs mbochs-large "$(uuid 94)")" "No space left on device" "without capacity it is ENOSPC"
is "$(capacity 0000:06:00.0 mlx5_core-local)" 16 "a ConnectX has sixteen of one type"
gvt=0000:00:02.0
create $gvt i915-GVTg_V5_4 "$(uuid 70)" >/dev/null
is "$(for t in 1 2 4 8; do capacity $gvt i915-GVTg_V5_$t; done | paste -sd' ')" "1 2 4 5" "one of them makes less of all"
create $gvt i915-GVTg_V5_1 "$(uuid 71)" >/dev/null
is "$(create $gvt i915-GVTg_V5_1 "$(uuid 72)")" "No space left on device" "without capacity it is ENOSPC"

### Groups
is "$(remove "$(uuid 1)")" ok "a device is removed"
fails "its node is gone" test -e "$root/dev/vfio/0"
is "$(create $t4 nvidia-230 "$(uuid 1)")" ok "the UUID is free again"
is "$(node_of "$(uuid 1)")" "$root/dev/vfio/0" "the lowest free group number is taken again"
for text in x ' 1' 1x -1; do is "$(put "$text" "$dev/remove")" "Invalid argument" "'$text' is no number"; done

is "$(awk '$2 == "create" && $6 == "EUSERS" { print $3, $4, $5 }' "$control/log")" "mdpy mdpy-hd $(uuid 64)" \
	"the log has every attempt with its result"
is "$(awk '$2 == "remove" { print $6 }' "$control/log" | paste -sd' ')" "ok ok EINVAL EINVAL EINVAL EINVAL" "of removals, too"
control log clear
is "$(cat "$control/log")" "" "it can be cleared"
tap_done
