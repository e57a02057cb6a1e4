#!/bin/bash
# NVIDIA's own VFIO framework on the simulated host: what a VF shows, and what each write answers, errno by errno.
set -u
. "${srcdir:?}/tests/lib/sim.sh"

holds "a host with a T4 on mdev and an L40S on variant VFs starts" "$sim" "$root" t4+l40s/6+rtxpro6000/8

pci=$root/sys/bus/pci/devices
vf=0000:26:00.4
other=0000:26:00.5

# current VF; set_type VF TEXT; fits VF ID: the list of the VF has this id
current() { cat "$pci/$1/nvidia/current_vgpu_type"; }
set_type() { put "$2" "$pci/$1/nvidia/current_vgpu_type"; }
fits() { awk '{ print $1 }' "$pci/$1/nvidia/creatable_vgpu_types" | grep -qx "$2"; }
listed() { tail -n +2 "$pci/$1/nvidia/creatable_vgpu_types" | wc -l; }
vf_node() { echo "$root/dev/vfio/$(basename "$(readlink "$pci/$1/iommu_group")")"; }

### What is where
fails "a PF has no directory nvidia" test -e "$pci/0000:26:00.0/nvidia"
is "$(cd "$pci/$vf/nvidia" && stat -c '%n %a' -- * | paste -sd,)" \
	"creatable_vgpu_types 444,current_vgpu_type 644,gpu_instance_id 644,placement_id 644,vgpu_params 644,warm_update 644" \
	"a VF has one, with the driver's files and modes"
is "$(head -n 3 "$pci/$vf/nvidia/creatable_vgpu_types")" $'ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n1146  : NVIDIA L40S-2B' \
	"its list has the driver's format"
is "$(tail -n 1 "$pci/$vf/nvidia/creatable_vgpu_types")" "2164  : NVIDIA L40S-3B" "to its end"
is "$(listed $vf)" 23 "an L40S has 23 types"
is "$(basename "$(readlink "$pci/$vf/driver")")" nvidia "the VF stays with NVIDIA's driver"
group=$(basename "$(readlink "$pci/$vf/iommu_group")")
holds "it has a group with a node" test -e "$root/dev/vfio/$group"
holds "and a vfio device with one" test -e "$root/dev/vfio/devices/$(ls "$pci/$vf/vfio-dev")"
is "$(readlink "$root/sys/kernel/iommu_groups/$group/devices/$vf")" "../../../../devices/pci0000:26/$vf" "the group leads back"
is "$(ls "$bus")" 0000:84:00.0 "class/mdev_bus has the T4 only"
is "$(cat "$pci/$vf/subsystem_device" "$pci/0000:26:00.0/subsystem_device" | paste -sd' ')" "0x0000 0x1851" \
	"a VF has no subsystem device of its own"
is "$(readlink "$pci/0001:c8:00.0/virtfn0")" ../0001:c8:00.2 "Blackwell's first VF is .2, and its PF may be in domain 1"
is "$(cat "$pci/0001:c8:00.0/sriov_offset" "$pci/0001:c8:00.0/sriov_numvfs" | paste -sd' ')" "2 8" "the PF says so"
is "$(put 4 "$pci/0001:c8:00.0/sriov_numvfs")" "No such file or directory" "writing sriov_numvfs is refused"

### Before there is a vGPU
is "$(current $vf)" 0 "no type is 0"
for file in gpu_instance_id placement_id vgpu_params warm_update; do
	is "$( (cat <"$pci/$vf/nvidia/$file") 2>&1 | sed 's/.*: //')" "No such device or address" "$file is ENXIO until then"
done
is "$(put x=1 "$pci/$vf/nvidia/vgpu_params")" "No such device or address" "so is writing parameters"
is "$(put "" "$(vf_node $vf)"; (true 9<>"$(vf_node $vf)") 2>&1 | sed 's/.*: //')" $'No such device\nNo such device' \
	"opening it is ENODEV"
is "$(set_type $vf 0)" "Operation not permitted" "clearing none is EPERM"

### Setting a type
for text in x "" $'\n' " 1147" "1147 " 0x47b 99999999999999999999 -1; do
	[ -n "$text" ] || continue
	is "$(set_type $vf "$text")" "Invalid argument" "'${text//$'\n'/newline}' is no number"
done
is "$(set_type $vf 9999)" "Input/output error" "an unknown number is EIO"
is "$(set_type $vf 1147$'\n')" ok "a known one is taken, with a newline"
is "$(current $vf)" 1147 "it reads back"
is "$(set_type $vf 1147)" "Operation not permitted" "a VF that is taken is EPERM, also for the same type"
is "$(set_type $vf 1148)" "Operation not permitted" "and for another"
is "$(cat "$pci/$vf/nvidia/creatable_vgpu_types")" "ID    : vGPU Name" "its list is empty then"
is "$(awk 'NR > 1 { print $4 }' "$pci/$other/nvidia/creatable_vgpu_types" | sed 's/.*-//' | paste -sd' ')" "1B 1Q 1A" \
	"that of its siblings has this framebuffer size only"
is "$(set_type $other 1148)" "Input/output error" "another size is EIO"
is "$(set_type $other 1157)" ok "another series of this size is not"
is "$(cat "$pci/$vf/nvidia/placement_id" "$pci/$vf/nvidia/gpu_instance_id" "$pci/$vf/nvidia/warm_update" | paste -sd,)" \
	"Not Applicable,Not Applicable,0" "the files have something to say now"

### vgpu_params
params=$pci/$vf/nvidia/vgpu_params
is "$(put $'frame_rate_limiter=0\n' "$params")" ok "parameters are written"
is "$(cat "$params")" frame_rate_limiter=0 "and read back"
put enable_uvm=1 "$params" >/dev/null
is "$(cat "$params")" enable_uvm= "a write loses its last byte"
knob inject "params $vf EPERM"
is "$(put x=1 "$params")" "Operation not permitted" "a write can fail"

### In use
exec 9<>"$(vf_node $vf)"
is "$(set_type $vf 0)" "Operation not permitted" "clearing is EPERM while it is open"
is "$(put $'x\n' "$params")" "Operation not permitted" "so are parameters"
exec 9<&-
is "$(set_type $vf 0)" ok "closed, it is cleared"
is "$(current $vf)" 0 "and reads so"
is "$(set_type $vf 0)" "Operation not permitted" "clearing it twice is EPERM"
is "$(set_type $other 0)" ok "the other one as well"
is "$(listed $vf)" 23 "all of the list is back"

### Full
is "$(set_type $vf 1156)" ok "a whole L40S is one vGPU"
is "$(listed $other)" 0 "no other fits"
is "$(set_type $other 1156)" "Input/output error" "a second is EIO"
set_type $vf 0 >/dev/null

### Slow, and wrong
knob create_delay_ms "0000:26:00.0 1000"
set_type $vf 1147 >"$tmp/out" &
holds "a creation is under way" within 5 grep -q "create $vf nvidia-1147" "$control/pending"
is "$(current $vf)" 0 "meanwhile the type reads 0"
fails "but its room is taken: no other size fits" fits $other 1148
is "$(set_type $vf 1147)" "Operation not permitted" "and nobody else gets the VF"
wait
is "$(cat "$tmp/out") $(current $vf)" "ok 1147" "then it is there"
knob create_delay_ms "0000:26:00.0 0"
knob inject "create 0000:26:00.0 EIO"
is "$(set_type $other 1147)" "Input/output error" "an ordered error comes on a VF of the card"
is "$(current $other)" 0 "it has no type then"
holds "and took no room" fits $other 1157
is "$(set_type $other 1147)" ok "the next is created"
knob inject "remove $other EBUSY"
is "$(set_type $other 0)" "Device or resource busy" "a removal can fail"
is "$(current $other)" 1147 "the type stays"
set_type $other 0 >/dev/null

knob plugin_delay_ms 1000
true 9<>"$(vf_node $vf)"
began=$(now)
is "$(set_type $vf 0)" ok "a clearing waits until vgpu-mgr lets go"
holds "that takes a while" test $(($(now) - began)) -ge 500
knob plugin_delay_ms 60000
set_type $vf 1147 >/dev/null
true 9<>"$(vf_node $vf)"
is "$(set_type $vf 0)" "Device or resource busy" "after five seconds it is EBUSY"
is "$(current $vf)" 1147 "and the type stays"
knob plugin_delay_ms 0
is "$(awk -v vf=$vf '$3 == vf && $2 == "remove" { print $6 }' "$control/log" | tail -n 2 | paste -sd' ')" "ok EBUSY" \
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
knob register "0001:c8:00.2 on"

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
knob vfs "$blackwell.0 off"
knob vfs "$blackwell.0 on"
is "$(grep $blackwell "$control/mixed")" "$blackwell.0 off" "the mode goes with sriov-manage"
knob mig "$blackwell.0 on"
is "$(listed $blackwell.2)" 0 "in MIG mode nothing fits before there is a GPU instance"
is "$(set_type $blackwell.2 1561)" "Input/output error" "and setting a type is EIO"
is "$(put "$blackwell.0 1g.24gb" "$control/mig")" ok "a GPU instance is made"
is "$(listed $blackwell.2) $(listed $blackwell.7)" "2 2" "then its types fit, on every VF"
is "$(set_type $blackwell.2 1561)" ok "one takes it"
is "$(cat "$pci/$blackwell.2/nvidia/gpu_instance_id" "$pci/$blackwell.2/nvidia/placement_id" | paste -sd' ')" "3 0" \
	"and tells which it was"
is "$(listed $blackwell.7)" 0 "no other fits"
is "$(put "$blackwell.0 3 off" "$control/mig")" "Device or resource busy" "an instance in use stays"
set_type $blackwell.2 0 >/dev/null
is "$(put "$blackwell.0 3 off" "$control/mig")" ok "a free one is destroyed"
tap_done
