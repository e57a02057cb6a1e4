# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What NVIDIA's vendor-specific VFIO framework does, sentence by sentence: what each file reads and which errno each step
# answers. The simulator (tests/system/sim/vf.sh) and the test machines' driver (tests/vm/driver/nvidia.c) are both
# held to it. Sourced, with an L40S twice, each with four VFs at least and no vGPU; the caller defines before:
#
#     sys                   where /sys is, and dev where /dev is
#     cards                 both cards (PFs)
#     fail_at STEP ERRNO    each create, remove or params (a write to vgpu_params) on the first card fails so
#     hold_at STEP          each create, or each read of `current` or `list` on the first card waits;
#     plugin_lag MS         vgpu-mgr holds on to a vGPU for so long after its close
#     no_trouble            none of it any longer: what waits goes on
#     open_vf VF            opens the VF through VFIO until close_vf; `opened` is ok or what the system answers

# shellcheck disable=SC2154 # sys, dev and cards are the caller's
pci=$sys/bus/pci/devices
vf_of() { basename "$(readlink "$pci/$1/virtfn$2")"; } # CARD NUMBER
a=$(vf_of "${cards[0]}" 0) b=$(vf_of "${cards[0]}" 1) c=$(vf_of "${cards[0]}" 2) d=$(vf_of "${cards[0]}" 3)
beside=$(vf_of "${cards[1]}" 0)

# get VF FILE: its text, or what the system says of it
get() {
	local said
	if said=$( (cat <"$pci/$1/nvidia/$2") 2>&1); then echo "$said"; else echo "${said##*: }"; fi
}
current() { get "$1" current_vgpu_type; }
set_type() { put "$2" "$pci/$1/nvidia/current_vgpu_type"; }
params() { put "$2" "$pci/$1/nvidia/vgpu_params"; }
creatable() { tail -n +2 "$pci/$1/nvidia/creatable_vgpu_types"; }
listed() { creatable "$1" | wc -l; }
series() { creatable "$1" | sed 's/.*L40S-//' | paste -sd' '; }
fits() { creatable "$1" | grep -q "^$2 "; }      # VF ID
has_type() { [ "$(current "$1")" = "$2" ]; }    # VF ID
fits_not() { ! fits "$@"; }
clear_types() { local vf; for vf; do set_type "$vf" 0; done | paste -sd' '; }

### What is where
is "$(cd "$pci/$a/nvidia" && stat -c '%n %a' -- * | paste -sd,)" \
	"creatable_vgpu_types 444,current_vgpu_type 644,gpu_instance_id 644,placement_id 644,vgpu_params 644,warm_update 644" \
	"a VF has a directory nvidia, with the driver's files and modes"
fails "a PF has none" test -e "$pci/${cards[0]}/nvidia"
is "$(get "$a" creatable_vgpu_types | head -n 3)" $'ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n1146  : NVIDIA L40S-2B' \
	"the list of types has the driver's format"
is "$(creatable "$a" | tail -n 1)" "2164  : NVIDIA L40S-3B" "to its end"
is "$(listed "$a") $(listed "$d") $(listed "$beside")" "23 23 23" "each VF of an empty L40S lists its 23 types"
is "$(basename "$(readlink "$pci/$a/driver")") $(basename "$(readlink "$pci/${cards[0]}/driver")")" "nvidia nvidia" \
	"VF and PF are bound to the driver nvidia"
holds "which has a version" grep -qE '^[0-9]+\.[0-9]+(\.[0-9]+)?$' "$sys/module/nvidia/version"
is "$(cat "$pci/$a"/{vendor,device,subsystem_device} "$pci/${cards[0]}"/{vendor,device,subsystem_device} | paste -sd' ')" \
	"0x10de 0x26b9 0x0000 0x10de 0x26b9 0x1851" "a VF is of its PF's model, but has no subsystem device"
is "$(readlink "$pci/$a/physfn")" "../${cards[0]}" "it leads to its PF"
holds "it has an IOMMU group with a node" test -e "$dev/vfio/$(basename "$(readlink "$pci/$a/iommu_group")")"
is "$(ls "$pci/$a/iommu_group/devices")" "$a" "of its own"
holds "and a VFIO device" test -d "$(echo "$pci/$a/vfio-dev"/vfio*)"
fails "it is not a parent of mdevs" test -e "$sys/class/mdev_bus/$a"
is "$(put 2 "$pci/${cards[0]}/sriov_numvfs")" "No such file or directory" "a write to sriov_numvfs is ENOENT: the driver leaves it to sriov-manage"
is "$(put x "$pci/$a/nvidia/creatable_vgpu_types")" "Permission denied" "a write to the list is EACCES, root's too"
is "$(put x "$pci/$a/nvidia/new")" "Permission denied" "so is one to a file that is not there"
refusal() { (cd "$pci/$a/nvidia" && "$@") 2>&1 | sed 's/.*: //'; }
is "$(refusal mkdir new),$(refusal ln -s x new),$(refusal mv vgpu_params new),$(refusal rm vgpu_params)" \
	"Operation not permitted,Operation not permitted,Operation not permitted,Operation not permitted" \
	"making a directory or a link, renaming and removing are EPERM"

### Without a type
is "$(current "$a")" 0 "no type reads 0"
for file in gpu_instance_id placement_id vgpu_params warm_update; do
	is "$(get "$a" $file)" "No such device or address" "$file: ENXIO"
done
is "$(params "$a" $'x=1\n')" "No such device or address" "a write of parameters as well"
is "$(set_type "$a" 0)" "Operation not permitted" "clearing is EPERM"
open_vf "$a"
is "$opened" "No such device" "opening is ENODEV"

### Setting a type
for text in x $'\n' " 1147" "1147 " $'1147\n\n' 0x47b 1147.0 99999999999999999999 -1 - +; do
	is "$(set_type "$a" "$text")" "Invalid argument" "'${text//$'\n'/\\n}' is EINVAL"
done
is "$(set_type "$a" 9999)" "Input/output error" "an unknown number is EIO"
is "$( (printf 11 && printf 47) 2>&1 >"$pci/$a/nvidia/current_vgpu_type" | sed 's/.*: //')" \
	"Input/output error" "each write is a whole number: 11 and 47 are unknown"
is "$(current "$a") $(listed "$a")" "0 23" "what is refused changes nothing"
printf '1147\0x' >"$pci/$a/nvidia/current_vgpu_type"
is "$(current "$a") $(clear_types "$a")" "1147 ok" "a number ends at a NUL"
is "$(set_type "$a" 1147$'\n')" ok "a known number is taken, with a newline"
is "$(current "$a")" 1147 "it reads back"
is "$(dd if="$pci/$a/nvidia/current_vgpu_type" bs=1 status=none)" 1147 "byte by byte as well"
is "$(set_type "$a" 1147)" "Operation not permitted" "setting it again is EPERM"
is "$(set_type "$a" 1148)" "Operation not permitted" "so is another type"
is "$(set_type "$a" 9999)" "Operation not permitted" "and an unknown one"
is "$(get "$a" creatable_vgpu_types)" "ID    : vGPU Name" "the list of this VF is its heading"
is "$(series "$b")" "1B 1Q 1A" "those of its siblings have this framebuffer size only"
is "$(listed "$beside")" 23 "another card's is as it was"
is "$(set_type "$b" 1148)" "Input/output error" "another size is EIO on this card"
is "$(set_type "$beside" +1148)" ok "not on another, with a sign"
is "$(current "$beside")" 1148 "which is not read back"
is "$(set_type "$b" 1157)" ok "another series of this size fits"
is "$(get "$a" placement_id),$(get "$a" gpu_instance_id),$(get "$a" warm_update)" "Not Applicable,Not Applicable,0" \
	"the other files of a time-sliced vGPU have their texts"
is "$(put 1 "$pci/$a/nvidia/placement_id")" "Input/output error" "none of which can be changed"
is "$(set_type "$c" "$(printf '%040d' 1145)")" ok "a number is decimal, with any zeros"
is "$(clear_types "$a" "$b" "$c" "$beside")" "ok ok ok ok" "all are cleared"
is "$(current "$a") $(listed "$a") $(listed "$b") $(listed "$beside")" "0 23 23 23" "then all is as it was"

### Capacity
is "$(set_type "$a" 1156)" ok "one vGPU may be the whole card"
is "$(listed "$b") $(set_type "$b" 1156)" "0 Input/output error" "then nothing fits"
is "$(clear_types "$a") $(set_type "$a" 1155) $(set_type "$b" 1155)" "ok ok ok" "or two a half each"
is "$(listed "$c") $(set_type "$c" 1165)" "0 Input/output error" "a third is EIO"
is "$(clear_types "$a") $(series "$a") $(series "$c")" "ok 24Q 24A 24Q 24A" "without one of them, all free VFs list this size"
clear_types "$b" >/dev/null
is "$(set_type "$a" 1154) $(set_type "$b" 1164) $(set_type "$c" 1154) $(set_type "$d" 1154)" "ok ok ok Input/output error" \
	"of three thirds no fourth"
clear_types "$a" "$b" "$c" >/dev/null

### vgpu_params
set_type "$a" 1147 >/dev/null
is "$(get "$a" vgpu_params)" "" "a new vGPU has no parameters"
is "$(params "$a" $'frame_rate_limiter=0\n')" ok "they are set"
is "$(get "$a" vgpu_params)" frame_rate_limiter=0 "and read back"
params "$a" enable_uvm=1 >/dev/null
is "$(get "$a" vgpu_params)" enable_uvm= "a write replaces all, and loses its last byte"
is "$(params "$a" "$(printf '%01025d' 0)")" "Argument list too long" "1025 bytes are E2BIG"
is "$(get "$a" vgpu_params)" enable_uvm= "what is refused changes nothing"
is "$(params "$a" "$(printf '%01023d' 0)"$'\n')" ok "1024 are not"
is "$(get "$a" vgpu_params)" "$(printf '%01023d' 0)" "and read back"
is "$(params "$a" $'\n')|$(get "$a" vgpu_params)" "ok|" "an empty line clears them"
params "$a" $'x=1\n' >/dev/null
clear_types "$a" >/dev/null
set_type "$a" 1147 >/dev/null
is "$(get "$a" vgpu_params)" "" "the next vGPU does not inherit them"

### In use
open_vf "$a"
is "$opened" ok "a VF with a type is opened"
is "$(set_type "$a" 0)" "Operation not permitted" "clearing an open one is EPERM"
is "$(params "$a" $'x=1\n')" "Operation not permitted" "so are parameters"
is "$(set_type "$a" 1147) $(set_type "$a" 1148)" "Operation not permitted Operation not permitted" "and any type"
is "$(current "$a")" 1147 "the type stays"
close_vf
is "$(set_type "$a" 0)" ok "once closed, it is cleared"
is "$(set_type "$a" 0)" "Operation not permitted" "clearing it twice is EPERM"

### Errors of the driver
fail_at create EAGAIN
is "$(set_type "$a" 1147)" "Resource temporarily unavailable" "a creation fails with the driver's errno"
is "$(current "$a") $(listed "$b")" "0 23" "and nothing is left of it"
is "$(set_type "$beside" 1147) $(clear_types "$beside")" "ok ok" "another card creates"
no_trouble
is "$(set_type "$a" 1147)" ok "so does this one, later"
fail_at params EINVAL
is "$(params "$a" $'x=1\n')" "Invalid argument" "parameters fail"
is "$(get "$a" vgpu_params)" "" "and are as they were"
no_trouble
fail_at remove EIO
is "$(set_type "$a" 0)" "Input/output error" "a removal fails"
is "$(current "$a") $(series "$b")" "1147 1B 1Q 1A" "and the vGPU stays"
no_trouble
clear_types "$a" >/dev/null

### While it creates
answer=$(mktemp)
hold_at create
set_type "$a" 1147 >"$answer" &
writer=$!
holds "a creation under way takes its place" within 20 fits_not "$b" 1148
is "$(current "$a")" 0 "the type reads 0 until it ends"
is "$(listed "$a")" 0 "the VF lists nothing"
is "$(set_type "$a" 1147)" "Operation not permitted" "nobody else gets the VF"
is "$(set_type "$a" 0)" "Operation not permitted" "nobody clears it"
is "$(get "$a" vgpu_params)" "No such device or address" "it has no parameters yet"
open_vf "$a"
is "$opened" "No such device" "and is not opened"
is "$(set_type "$b" 1148)" "Input/output error" "another size is EIO"
is "$(set_type "$beside" 1148) $(clear_types "$beside")" "ok ok" "another card creates meanwhile"
no_trouble
wait $writer
is "$(cat "$answer") $(current "$a")" "ok 1147" "then it is there"
clear_types "$a" >/dev/null

hold_at create
printf 1147 >"$pci/$a/nvidia/current_vgpu_type" &
writer=$!
disown
within 20 fits_not "$b" 1148
kill -9 $writer
no_trouble
holds "what a killed writer began is completed" within 20 has_type "$a" 1147
is "$(clear_types "$a")" ok "and can be cleared"

### Reads that hang
set_type "$a" 1147 >/dev/null
hold_at current
current "$a" >"$answer" &
reader=$!
is "$(current "$beside")" 0 "where a read of the type hangs, another card answers"
is "$(series "$b")" "1B 1Q 1A" "and so does the list"
is "$(cat "$answer")" "" "the read still waits"
no_trouble
wait $reader
is "$(cat "$answer")" 1147 "then it has the answer"
hold_at list
listed "$b" >"$answer" &
reader=$!
is "$(listed "$beside") $(current "$a")" "23 1147" "where a read of the list hangs, another card's and the type are read"
is "$(cat "$answer")" "" "the read still waits"
no_trouble
wait $reader
is "$(cat "$answer")" 3 "then it has the answer"
rm "$answer"

### vgpu-mgr lags
plugin_lag 3000
open_vf "$a"
close_vf
began=${EPOCHREALTIME/./}
is "$(set_type "$a" 0) $(current "$a")" "ok 0" "a removal waits until vgpu-mgr has let go"
holds "which takes a while" test $((${EPOCHREALTIME/./} - began)) -ge 500000
plugin_lag 9000
set_type "$a" 1147 >/dev/null
open_vf "$a"
is "$opened" ok "with a vgpu-mgr that does not"
close_vf
is "$(set_type "$a" 0)" "Device or resource busy" "it is EBUSY after five seconds"
is "$(current "$a")" 1147 "and the type stays"
clears() { [ "$(clear_types "$1")" = ok ]; }
holds "a later attempt clears it" within 20 clears "$a"
no_trouble
is "$(current "$a") $(listed "$a")" "0 23" "in the end nothing is left"
