#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cards as they were seen on real hosts: what sysfs shows of their types, and what `inventory` and `types` make of it, right to
# the last number. tests/system/cli/golden/ has, for each, the files of one parent's types (NAME.sysfs: the capacity, device_api, name
# and description) and the JSON of inventory, one type a line.
. "$(dirname "$0")/../../lib/cli.sh"
golden=$srcdir/tests/system/cli/golden

# For comparing: one object a line, without blanks; names of cards come from this machine's hardware database, if it has one.
plain() {
	sed -E 's/"model": ".*"/"model": null/' | tr -d '\n' | sed -E 's/ +/ /g; s/ ?([][{}:,]) ?/\1/g; s/\},?/}\n/g'
}

# Each type of a parent: its files on one line.
files() {
	local dir
	for dir in "$root/sys/bus/pci/devices/$1/mdev_supported_types"/*; do
		echo "$1 ${dir##*/} $(cat "$dir/available_instances")|$(cat "$dir/device_api")|$(cat "$dir/name" 2>/dev/null)|$(
			paste -sd';' "$dir/description" | sed 's/;/; /g')"
	done | sort -V
}

# The JSON of `types` for the pGPUs of an inventory, none of which is in the pool.
# shellcheck disable=SC2016 # they are jq's variables
types_of='[.pgpus[] as $pgpu | $pgpu.types[] | {
	type: ({id, name, class, framebuffer_mib, heads, resolution} + {framework: $pgpu.framework}),
	pgpu: ({address: $pgpu.address, in_pool: $pgpu.in_pool} + {capacity, used, available})}] as $all |
	def sum(member): map(member) | add;
	{version, types: (reduce $all[].type as $type ([]; if any(.[]; .id == $type.id) then . else . + [$type] end) |
		map(.id as $id | [$all[] | select(.type.id == $id).pgpu] as $pgpus |
			. + {capacity: 0, used: 0, available: 0, $pgpus, host: ($pgpus |
				{capacity: sum(.capacity), used: sum(.used), available: sum(.available)})}))}'

# commands NAME SENTENCE: what they say of this host.
commands() {
	vl inventory --json
	nothing "$2: so has inventory" "$(diff <(plain <"$golden/$1.inventory.json") <(plain <<<"$out"))"
	vl types --json
	nothing "$2: so has types" "$(diff <(jq -S "$types_of" "$golden/$1.inventory.json") <(jq -S . <<<"$out"))"
}

# card NAME MODEL SENTENCE [PARENT TYPE]...: the host of this model, with a vGPU on each PARENT.
card() {
	local name=$1 sentence=$3 n=0

	new_host "$2"
	shift 3
	for (( ; $# > 0; n++)); do
		create "$1" "$2" $n
		shift 2
	done
	is "$(files "$(cut -d' ' -f1 "$golden/$name.sysfs" | head -n 1)")" "$(cat "$golden/$name.sysfs")" \
		"$sentence: sysfs has what a real one has"
	commands "$name" "$sentence"
}

# variant NAME MODEL SENTENCE VF: the same with a card whose VFs take a type.
variant() {
	new_host "$2"
	is "$(cat "$root/sys/bus/pci/devices/$4/nvidia/creatable_vgpu_types")" \
		"$(jq -r '"ID    : vGPU Name", (.pgpus[0].types[] | "\(.id[7:] + " " * (13 - (.id | length))): \(.name)")' \
			"$golden/$1.inventory.json")" "$3: sysfs has what a real one has"
	commands "$1" "$3"
}

card m60 m60:2 "an empty M60"
card p4 p4 "a P4 that is one vGPU" 0000:01:00.0 nvidia-66
card p100 p100 "a P100 with two halves" 0000:3b:00.0 nvidia-294 0000:3b:00.0 nvidia-294
card rtxa6000 rtxa6000@0000:01:00.0 "a RTX A6000 with one vGPU of 2 GiB" 0000:01:00.0 nvidia-525
card a2 a2 "an A2 with two vGPUs of 4 GiB on its VFs" 0000:08:00.4 nvidia-746 0000:08:00.5 nvidia-746
card gvt-g gvt-g "GVT-g without names"
card gvt-g-256 gvt-g-256 "GVT-g with a small aperture"

variant rtx6000ada rtx6000ada@0000:c1:00.0 "a RTX 6000 Ada" 0000:c1:00.4
variant rtxpro6000 rtxpro6000 "a RTX PRO 6000 in PCI domain 1" 0001:c8:00.2
variant a10 a10 "an A10" 0000:d8:01.2
variant l40s l40s "a L40S" 0000:26:00.4
# What the types of this model are is remembered from here on, for when the card is in use.
vl gc
for vf in 00.4=1149 00.5=1149 01.0=1159; do set_vf_type "0000:26:${vf%=*}" "${vf#*=}"; done
commands l40s-used "a L40S with three vGPUs of 3 GiB, two of one series and one of another"

### An A100 in MIG mode: one free GPU instance shows on every free VF
new_host a100d/4+l40s-mdev/4
is "$(cat "$root"/sys/bus/pci/devices/0000:71:00.?/mdev_supported_types/nvidia-69{7,9}/available_instances | xargs)" \
	"1 1 1 1 0 0 0 0" "without MIG an A100 takes its time-sliced types"
for setting in on 1g.10gb; do control mig "0000:71:00.0 $setting"; done
is "$(files 0000:71:00.4 | grep nvidia-699)" "0000:71:00.4 nvidia-699 1|vfio-pci|GRID A100D-1-10C|num_heads=1, frl_config=60, \
framebuffer=10240M, max_resolution=4096x2160, max_instance=7" "its type says what it is"
create 0000:71:00.5 nvidia-699 1
is "$(files 0000:59:00.4 | grep nvidia-1145)" "0000:59:00.4 nvidia-1145 1|vfio-pci|NVIDIA L40S-1B|num_heads=4, frl_config=45, \
framebuffer=1024M, max_resolution=5120x2880, max_instance=32" "an L40S with mdevs says what its first type is"

# numbers TYPE: its capacity, how many are used, and how many can be made.
numbers() {
	vl types --json
	plain <<<"$out" | sed -n "s/.*\"id\":\"$1\".*\"host\":{\"capacity\":\([0-9]*\),\"used\":\([0-9]*\),\"available\":\([0-9]*\).*/\1 \2 \3/p"
}
for profile in 1g.10gb 3g.40gb; do control mig "0000:71:00.0 $profile"; done
is "$(numbers nvidia-699)" "4 1 1" "of a MIG-backed type at least one can be made while an instance is free"
is "$(numbers nvidia-701)" "2 0 1" "also of a larger one beside it"
create 0000:71:00.6 nvidia-699 2
is "$(numbers nvidia-699)" "4 2 0" "and none when all are taken"
is "$(numbers nvidia-697)" "2 0 0" "nor any that share the card in time"

### Sizes side by side: what is left of 96 GiB decides
new_host rtxpro6000
vl gc
control mixed "0001:c8:00.0 on"
for vf in 00.2=1519 00.3=1540; do set_vf_type "0001:c8:${vf%=*}" "${vf#*=}"; done
is "$(numbers nvidia-1519) $(numbers nvidia-1540)" "32 1 15 2 1 0" "with 48 and 3 GiB in use there is capacity for fifteen of 3 GiB"
is "$(numbers nvidia-1518) $(numbers nvidia-1543)" "32 0 22 1 0 0" "for 22 of 2 GiB, and for none that takes all"

### A T4 with mdevs beside an L40S without
new_host t4+l40s/4
vl gc # remembers the types
create 0000:84:00.0 nvidia-230 3
set_vf_type 0000:26:00.5 1149
vl inventory --json
is "$(sed -n 's/.*"\(address\|framework\)": "\(.*\)",/\2/p' <<<"$out" | paste -sd' ')" "0000:26:00.0 variant 0000:84:00.0 mdev" \
	"a host has cards of two frameworks"
is "$(numbers nvidia-230) $(numbers nvidia-222) $(numbers nvidia-231)" "16 1 15 16 0 15 8 0 0" "each with the numbers of its own"
is "$(numbers nvidia-1149) $(numbers nvidia-1159) $(numbers nvidia-1150)" "4 1 3 4 0 3 4 0 0" "and with those of its VFs"
tap_done
