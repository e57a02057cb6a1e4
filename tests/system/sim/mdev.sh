#!/bin/bash
# The simulated mdev framework by its files: layout, modes, capacities, and what each write answers, errno by errno.
set -u
. "${srcdir:?}/tests/lib/sim.sh"

holds "a host of several models starts" "$sim" "$root" t4:2+a40/6+mtty+mdpy+gvt-g+mbochs+mlx5

### What is where
t4=0000:84:00.0
dir=$(type_dir $t4 nvidia-222)
is "$(readlink "$bus/$t4")" "../../devices/pci0000:84/$t4" "class/mdev_bus leads to the card"
is "$(stat -c %a "$dir"/{create,available_instances,name,description,device_api} | paste -sd' ')" "200 444 444 444 444" \
	"a type's files have the kernel's modes"
is "$(cat "$dir/name")" "GRID T4-1B" "a type has its name"
is "$(cat "$dir/description")" \
	"num_heads=4, frl_config=45, framebuffer=1024M, max_resolution=5120x2880, max_instance=16" "and its description"
is "$(find "$bus/$t4/mdev_supported_types/" -mindepth 1 -maxdepth 1 | wc -l)" 17 "a T4 has 17 types"
is "$(cat "$bus/$t4/numa_node" "$bus/0000:85:00.0/numa_node" | paste -sd' ')" "0 1" "every other card is on node 1"
is "$(cat "$root/sys/devices/system/node/node1/cpulist")" 16-31 "a node has its CPUs"
is "$(basename "$(readlink "$bus/$t4/driver")")" nvidia "a card has its driver"
is "$(cat "$root/sys/module/nvidia/version")" 550.90.05 "the driver has a version"
is "$(readlink "$bus/0000:41:00.4/physfn")" ../0000:41:00.0 "a VF leads to its PF"
is "$(readlink "$root/sys/bus/pci/devices/0000:41:00.0/virtfn4")" ../0000:41:01.0 "VFs run over into the next device"
fails "a PF with VFs has no types itself" test -e "$root/sys/bus/pci/devices/0000:41:00.0/mdev_supported_types"
is "$(readlink "$bus/mtty")" ../../devices/virtual/mtty/mtty "mtty is a virtual device"
is "$(cat "$(type_dir mtty mtty-1)/name")" "Single port serial" "its types have names with blanks"
fails "and no description" test -e "$(type_dir mtty mtty-1)/description"
fails "GVT-g's types have no names" test -e "$(type_dir 0000:00:02.0 i915-GVTg_V5_4)/name"
is "$(wc -l <"$(type_dir 0000:00:02.0 i915-GVTg_V5_4)/description")" 5 "but descriptions of five lines"

### What create takes
is "$(create $t4 nvidia-222 zzz)" "Invalid argument" "a word is no UUID"
is "$(create $t4 nvidia-222 "$(uuid 1 | cut -c2-)")" "Invalid argument" "nor are 35 characters"
is "$(create $t4 nvidia-222 "$(uuid 1)extra")" "Invalid argument" "nor 41"
is "$(create $t4 nvidia-222 "{$(uuid 1 | cut -c3-)}")" "Invalid argument" "nor one in braces"
is "$(create $t4 nvidia-222 "")" ok "an empty write is none: nothing reaches the driver"
is "$(create $t4 nvidia-222 $'\n')" "Invalid argument" "an empty line is no UUID"
is "$( (uuid 1 | head -c 18; uuid 1 | tail -c +19) | dd bs=18 of="$dir/create" 2>&1 | grep -c 'Invalid argument')" 1 \
	"a UUID in two writes is refused"
is "$(create $t4 nvidia-222 "$(uuid 1)"$'\n')" ok "a newline behind it is taken"
is "$(create $t4 nvidia-222 "$(uuid 171 | tr a-f A-F)")" ok "so are capital letters"
holds "the device has small ones" test -d "$mdevs/$(uuid 171)"
is "$(create mtty mtty-1 "$(uuid 1)")" "File exists" "a UUID is used once on a host, whatever the driver"
is "$(create $t4 nvidia-999 "$(uuid 2)")" "No such file or directory" "a type that is not there has no file"
is "$(put x "$dir/name")" "Permission denied" "a file that is read only is refused to root, too"
is "$(cat <"$dir/create" 2>&1 | sed 's/.*: //')" "Permission denied" "and so is reading one that is written only"
is "$(put x "$dir/new")" "Permission denied" "nobody makes files here"

### What a device looks like
dev=$mdevs/$(uuid 1)
is "$(readlink "$dev")" "../../../devices/pci0000:84/$t4/$(uuid 1)" "bus/mdev leads to the device"
is "$(readlink "$dev/mdev_type")" ../mdev_supported_types/nvidia-222 "it leads to its type"
is "$(readlink "$dir/devices/$(uuid 1)")" "../../../$(uuid 1)" "the type leads back"
is "$(readlink "$dev/iommu_group")" ../../../../kernel/iommu_groups/0 "it has a group"
is "$(readlink "$dev/driver")" ../../../../bus/mdev/drivers/nvidia-vgpu-vfio "and a driver"
is "$(stat -c %a "$dev/remove")" 200 "its remove is written only"
holds "its group has a node" test -e "$root/dev/vfio/0"

find "$bus/0000:85:00.0/" >"$tmp/before"
create 0000:85:00.0 nvidia-222 "$(uuid 80)" >/dev/null
find "$bus/0000:85:00.0/" >"$tmp/after"
is "$(diff "$tmp/before" "$tmp/after" | grep -c "/$(uuid 80)$")" 2 "a listing that was read before shows it at once"
remove "$(uuid 80)" >/dev/null
is "$(find "$bus/0000:85:00.0/" | diff - "$tmp/before")" "" "and no longer when it is gone"

### vgpu_params
params=$dev/nvidia/vgpu_params
is "$(put $'frame_rate_limiter=0,disable_vnc=1\n' "$params")" ok "parameters are written"
is "$(cat "$params")" frame_rate_limiter=0,disable_vnc=1 "and read back"
put enable_uvm=1 "$params" >/dev/null
is "$(cat "$params")" enable_uvm= "a write replaces all, and loses its last byte"
is "$(put "$(printf '%01030d' 0)" "$params")" "Argument list too long" "too long a text is refused"

### What fits
is "$(capacity $t4 nvidia-222) $(capacity $t4 nvidia-230) $(capacity $t4 nvidia-223)" "14 14 0" \
	"a T4 has one framebuffer size: the capacity of that size is shared, the rest gone"
is "$(capacity 0000:85:00.0 nvidia-223)" 8 "the other T4 is not touched"
is "$(create $t4 nvidia-223 "$(uuid 2)")" "Input/output error" "NVIDIA refuses another size with EIO"
is "$(create 0000:85:00.0 nvidia-234 "$(uuid 2)")" ok "a whole T4 is one vGPU"
is "$(create 0000:85:00.0 nvidia-234 "$(uuid 3)")" "Input/output error" "NVIDIA refuses with EIO when full"

vf=0000:41:00.4
is "$(capacity $vf nvidia-563)" 1 "a VF has capacity for one"
is "$(create $vf nvidia-563 "$(uuid 10)")" ok "one is created there"
is "$(capacity $vf nvidia-563) $(capacity 0000:41:00.5 nvidia-563) $(capacity 0000:41:00.5 nvidia-562)" "0 1 0" \
	"then the VF is full, and the others take this size only"
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
is "$(for t in 1 2 4 8; do capacity $gvt i915-GVTg_V5_$t; done | paste -sd' ')" "1 2 5 7" "GVT-g's capacities are those of a real host"
create $gvt i915-GVTg_V5_4 "$(uuid 70)" >/dev/null
is "$(for t in 1 2 4 8; do capacity $gvt i915-GVTg_V5_$t; done | paste -sd' ')" "1 2 4 5" "one of them makes less of all"
create $gvt i915-GVTg_V5_1 "$(uuid 71)" >/dev/null
is "$(create $gvt i915-GVTg_V5_1 "$(uuid 72)")" "No space left on device" "without capacity it is ENOSPC"

### remove
is "$(put 0 "$dev/remove")" ok "0 is taken"
holds "and does nothing" test -e "$dev/remove"
is "$(put x "$dev/remove")" "Invalid argument" "a word is no number"
is "$(remove "$(uuid 1)")" ok "1 removes"
fails "the device is gone" test -e "$dev"
fails "its type's link is gone" test -e "$dir/devices/$(uuid 1)"
fails "its node is gone" test -e "$root/dev/vfio/0"
is "$(capacity $t4 nvidia-222)" 15 "its capacity is back"
is "$(remove "$(uuid 1)")" "No such file or directory" "what is gone cannot be opened"
is "$(create $t4 nvidia-230 "$(uuid 1)")" ok "the UUID is free again"
is "$(node "$(uuid 1)")" "$root/dev/vfio/0" "the lowest free group number is taken again"

### The log
is "$(awk '$2 == "create" && $6 == "EUSERS" { print $3, $4, $5 }' "$control/log")" "mdpy mdpy-hd $(uuid 64)" \
	"the log has every attempt with its result"
is "$(awk '$2 == "remove" { print $6 }' "$control/log" | paste -sd' ')" "ok ok EINVAL ok" "of removals, too"
knob log clear
is "$(cat "$control/log")" "" "it can be cleared"
tap_done
