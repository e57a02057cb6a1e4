# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What NVIDIA's mdev framework does, sentence by sentence: what each file reads and which errno each step answers. The
# simulator (tests/system/sim/mdev.sh) and the test machines' driver (tests/vm/driver/mdev.c) are both held to it. Sourced,
# with a T4 without VFs and an A40 with four VFs at least, no vGPU on either; the caller defines before:
#
#     sys                   where /sys is, and dev where /dev is
#     t4, vfs               that card, and four VFs of the other one
#     fail_at STEP ERRNO    each create on the first card fails so
#     hold_at STEP          each create on the first card waits
#     no_trouble            none of it any longer: what waits goes on
# shellcheck disable=SC2154 # sys, dev, t4 and vfs are the caller's

. "${BASH_SOURCE[0]%/*}/mdevs.sh"
linked() { basename "$(readlink "$1")"; }
remove_all() { local n; for n; do remove "$(uuid "$n")"; done | paste -sd' '; }
pf=$(linked "$bus/${vfs[0]}/physfn") dir=$(type_dir "$t4" nvidia-222)

### What is where
is "$(linked "$bus/$t4")" "$t4" "class/mdev_bus leads to the card"
is "$(stat -c %a "$dir"/{create,available_instances,name,description,device_api} | paste -sd' ')" "200 444 444 444 444" \
	"a type's files have the kernel's modes"
is "$(cat "$dir"/{name,device_api} | paste -sd,)" "GRID T4-1B,vfio-pci" "a type has its name, and VFIO's"
described() { cat "$(type_dir "$1" "nvidia-$2")/description"; }
is "$(described "$t4" 222)" "num_heads=4, frl_config=45, framebuffer=1024M, max_resolution=5120x2880, max_instance=16" "and its description"
is "$(described "$t4" 230)" "num_heads=4, frl_config=60, framebuffer=1024M, max_resolution=5120x2880, max_instance=16" \
	"another series has another frame rate"
is "$(described "$t4" 231)" "num_heads=4, frl_config=60, framebuffer=2048M, max_resolution=7680x4320, max_instance=8" \
	"another size another resolution"
is "$(described "${vfs[0]}" 555)" "num_heads=4, frl_config=45, framebuffer=1024M, max_resolution=5120x2880, max_instance=32" \
	"there are no more of them than the card can have, whatever its framebuffer"
is "$(linked "$bus/$t4/driver") $(linked "$bus/${vfs[3]}/driver")" "nvidia nvidia" "card and VF are bound to the driver nvidia"
holds "which has a version" grep -qE '^[0-9]+\.[0-9]+(\.[0-9]+)?$' "$sys/module/nvidia/version"
is "$(linked "$bus/${vfs[3]}/physfn")" "$pf" "all VFs lead to their PF"
fails "a PF with VFs has no types itself" test -e "$sys/bus/pci/devices/$pf/mdev_supported_types"
is "$(capacity "$t4" nvidia-222) $(capacity "$t4" nvidia-231) $(capacity "$t4" nvidia-234)" "16 8 1" "an empty card has all of its places"
is "$(for vf in "${vfs[@]:0:4}"; do capacity "$vf" nvidia-557; done | paste -sd' ')" "1 1 1 1" "an empty VF has one"

### What create takes
is "$(create "$t4" nvidia-222 zzz)" "Invalid argument" "a word is no UUID"
is "$(create "$t4" nvidia-222 "$(uuid 1 | cut -c2-)")" "Invalid argument" "nor are 35 characters"
is "$(create "$t4" nvidia-222 "$(uuid 1)extra")" "Invalid argument" "nor 41"
is "$(create "$t4" nvidia-222 "{$(uuid 1 | cut -c3-)}")" "Invalid argument" "nor one in braces"
is "$(create "$t4" nvidia-222 "")" ok "an empty write is none: nothing reaches the driver"
is "$(create "$t4" nvidia-222 $'\n')" "Invalid argument" "an empty line is no UUID"
is "$( (uuid 1 | head -c 18; uuid 1 | tail -c +19) | dd bs=18 of="$dir/create" 2>&1 | grep -c 'Invalid argument')" 1 \
	"a UUID in two writes is refused"
is "$(capacity "$t4" nvidia-222)" 16 "what is refused changes nothing"
is "$(create "$t4" nvidia-222 "$(uuid 1)"$'\n')" ok "a newline behind it is taken"
is "$(create "$t4" nvidia-222 "$(uuid 171 | tr a-f A-F)")" ok "so are capital letters"
holds "the device has small ones" test -d "$mdevs/$(uuid 171)"
is "$(create "${vfs[0]}" nvidia-557 "$(uuid 1)")" "File exists" "a UUID is used once on a host, whatever the card"
is "$(capacity "${vfs[0]}" nvidia-557)" 1 "where it is refused it takes no place"
is "$(create "$t4" nvidia-999 "$(uuid 2)")" "No such file or directory" "a type that is not there has no file"
is "$(put x "$dir/name")" "Permission denied" "a file that is read only is refused to root, too"
is "$( (cat <"$dir/create") 2>&1 | sed 's/.*: //')" "Permission denied" "and so is reading one that is written only"
is "$(put x "$dir/new")" "Permission denied" "nobody makes files here"

### What a device looks like
made=$mdevs/$(uuid 1)
is "$(linked "$made") $(basename "$(dirname "$(readlink "$made")")")" "$(uuid 1) $t4" "bus/mdev leads to the device, below its parent"
is "$(readlink "$made/mdev_type")" ../mdev_supported_types/nvidia-222 "it leads to its type"
is "$(readlink "$dir/devices/$(uuid 1)")" "../../../$(uuid 1)" "the type leads back"
is "$(linked "$made/driver") $(stat -c %a "$made/remove")" "nvidia-vgpu-vfio 200" "it has a driver, and its remove is written only"
node=$dev/vfio/$(linked "$made/iommu_group")
holds "its group has a node" test -e "$node"

### vgpu_params
params=$made/nvidia/vgpu_params
is "$(cat "$params")" "" "a new vGPU has no parameters"
is "$(put $'frame_rate_limiter=0,disable_vnc=1\n' "$params")" ok "parameters are written"
is "$(cat "$params")" frame_rate_limiter=0,disable_vnc=1 "and read back"
put enable_uvm=1 "$params" >/dev/null
is "$(cat "$params")" enable_uvm= "a write replaces all, and loses its last byte"
is "$(put "$(printf '%01030d' 0)" "$params")" "Argument list too long" "too long a text is refused"
is "$(cat "$params")" enable_uvm= "and changes nothing"

### What fits
is "$(capacity "$t4" nvidia-222) $(capacity "$t4" nvidia-230) $(capacity "$t4" nvidia-231)" "14 14 0" \
	"a T4 has one framebuffer size: the capacity of that size is shared, the rest gone"
is "$(capacity "${vfs[0]}" nvidia-558)" 1 "another card is not touched"
is "$(create "$t4" nvidia-231 "$(uuid 2)")" "Input/output error" "another size is refused with EIO"
is "$(create "$t4" nvidia-230 "$(uuid 2)")" ok "another series of this size is not"

is "$(create "${vfs[0]}" nvidia-558 "$(uuid 10)")" ok "a vGPU is created on a VF"
is "$(capacity "${vfs[0]}" nvidia-558) $(capacity "${vfs[1]}" nvidia-558) $(capacity "${vfs[1]}" nvidia-557)" "0 1 0" \
	"then the VF is full, and the others take this size only"
is "$(create "${vfs[0]}" nvidia-558 "$(uuid 11)") $(create "${vfs[1]}" nvidia-557 "$(uuid 11)")" \
	"Input/output error Input/output error" "all else is EIO"
is "$(remove_all 10) $(create "${vfs[1]}" nvidia-566 "$(uuid 10)")" "ok ok" "empty again, it can be one vGPU's whole card"
is "$(capacity "${vfs[2]}" nvidia-557) $(capacity "${vfs[2]}" nvidia-566) $(create "${vfs[2]}" nvidia-566 "$(uuid 11)")" \
	"0 0 Input/output error" "whatever VFs are left"
is "$(remove_all 10)" ok "until it is removed"

### remove
is "$(put 0 "$made/remove")" ok "0 is taken"
holds "and does nothing" test -e "$made/remove"
is "$(put x "$made/remove")" "Invalid argument" "a word is no number"
is "$(remove_all 1)" ok "1 removes"
fails "the device is gone" test -e "$made"
fails "its type's link is gone" test -e "$dir/devices/$(uuid 1)"
fails "its node is gone" test -e "$node"
is "$(capacity "$t4" nvidia-222)" 14 "its capacity is back"
is "$(remove_all 1)" "No such file or directory" "what is gone cannot be opened"
is "$(create "$t4" nvidia-230 "$(uuid 1)")" ok "the UUID is free again"
is "$(cat "$made/nvidia/vgpu_params")" "" "and inherits no parameters"
is "$(remove_all 1 2 171)" "ok ok ok" "all are removed"
is "$(capacity "$t4" nvidia-222) $(capacity "$t4" nvidia-234)" "16 1" "then the card is as it was"
is "$(create "$t4" nvidia-234 "$(uuid 1)") $(create "$t4" nvidia-234 "$(uuid 2)")" "ok Input/output error" "a whole T4 is one vGPU"
remove_all 1 >/dev/null

### A driver that fails, or takes its time
fail_at create EAGAIN
is "$(create "$t4" nvidia-222 "$(uuid 1)")" "Resource temporarily unavailable" "a creation fails with the driver's errno"
fails "and leaves no device" test -e "$made"
is "$(capacity "$t4" nvidia-222)" 16 "nor takes a place"
is "$(create "${vfs[0]}" nvidia-557 "$(uuid 1)") $(remove_all 1)" "ok ok" "another card creates"
no_trouble
answer=$(mktemp)
hold_at create
create "$t4" nvidia-222 "$(uuid 1)" >"$answer" &
writer=$!
holds "a creation under way takes its place" within 20 fits "$t4" nvidia-222 15
is "$(capacity "$t4" nvidia-231) $(create "$t4" nvidia-231 "$(uuid 2)")" "0 Input/output error" "another size does not fit beside it"
is "$(create "$t4" nvidia-222 "$(uuid 1)")" "File exists" "its UUID is taken"
is "$(create "${vfs[0]}" nvidia-557 "$(uuid 3)") $(remove_all 3)" "ok ok" "another card creates meanwhile"
no_trouble
wait $writer
is "$(cat "$answer")" ok "then it is there"
holds "with its type" test -e "$dir/devices/$(uuid 1)"
is "$(remove_all 1) $(capacity "$t4" nvidia-222)" "ok 16" "in the end nothing is left"
rm "$answer"
