#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `inventory` and `types` say. First of cards as they were seen on real hosts: what sysfs shows of their types, right to
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
# Remembers the types of this model, for when the card is in use.
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

### vgpu-lease inventory and types: what the host has, what each card serves, how much of it is left
new_host gvt-g+t4+a40/4+mtty
rm "$root/etc/vgpu-lease.conf"

# json COMMAND: its JSON. The names of cards come from this machine's hardware database, if it has one.
json() { vgpu_lease --root "$root" "$1" --json | sed -E 's/"model": ".*"/"model": null/'; }

# row COMMAND NAME: the line of its table that begins with this, its columns parted by one space.
row() { vgpu_lease --root "$root" "$1" 2>/dev/null | sed -nE "/^$2 /{s/  +/ /g;p}"; }

# object COMMAND KEY VALUE: the object of its list that has this first member, on one line.
object() { json "$1" | sed -n "/\"$2\": \"$3\"/,/^    }/p" | sed 's/^ *//' | tr -d '\n'; }

# offer CARD TYPE: the object of one type on one card.
offer() {
	json inventory | sed -n "/\"address\": \"$1\"/,/^    }/p" | sed -n "/\"id\": \"$2\"/,/}/p" | sed 's/^ *//' | tr -d '\n'
}

vl_works "without a configuration it works" inventory
like "$(row inventory mtty)" "mtty - - 0 - - - - $(message M_NO_CONF "$root/etc/vgpu-lease.conf" "No such file or directory")" \
	"and nothing is in the pool"

configure 'nvidia-222@0000:84:00.0, 0000:99:00.0' 'max_instances = 3' 'mdev_class = CUSTOM_T4' nvidia-558@10de:2235 \
	mtty-2@mtty_mtty 'i915-GVTg_V5_4@0000:00:02.0, mdpy'

vl_works "with one it has no complaint" inventory
is "$(head -n 1 <<<"$out" | sed -E 's/  +/|/g')" "PGPU|MODEL|NUMA|VFS|TYPE|CAPACITY|USED|AVAILABLE|REASON" "a heading"
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * 0 0 nvidia-222 16 0 3 -" "a card with a cap on it"
like "$(row inventory 0000:41:00.0)" "0000:41:00.0 * 0 4 nvidia-558 4 0 4 -" "one with VFs: as many as there are VFs"
is "$(row inventory mtty)" "mtty - - 0 mtty-2 12 0 12 -" "a virtual parent, in Nova's spelling"
like "$(row inventory 0000:00:02.0)" "0000:00:02.0 * - 0 i915-GVTg_V5_4 5 0 5 -" "a card whose driver names no number"
is "$(row inventory 0000:99:00.0)" "0000:99:00.0 - - - nvidia-222 - - - $(message M_NO_PCI_DEVICE)" "an absent card"
is "$(row inventory mdpy)" "mdpy - - - i915-GVTg_V5_4 - - - $(message M_NO_PARENT)" "and a parent"

out=$(json inventory)
like "$out" $'{\n  "version": 1,\n  "driver": {\n    "nvidia": "550.90.05"\n  },\n  "pgpus": [[]\n*' "the JSON begins with the driver"
like "$(object inventory address 0000:84:00.0)" '"address": "0000:84:00.0","framework": "mdev","vendor": "10de","device": "1eb8","model": null,"numa_node": 0,"vfs": 0,"type": "nvidia-222","in_pool": true,"ready": true,"reason": null,"types": [[]{"id": *' \
	"a card as JSON"
is "$(offer 0000:84:00.0 nvidia-222)" '"id": "nvidia-222","name": "GRID T4-1B","class": "CUSTOM_T4","framebuffer_mib": 1024,"heads": 4,"resolution": "5120x2880","capacity": 16,"used": 0,"available": 3,"reason": null,"configured": true},' \
	"a type that it serves"
is "$(offer 0000:84:00.0 nvidia-223)" '"id": "nvidia-223","name": "GRID T4-2B","class": null,"framebuffer_mib": 2048,"heads": 4,"resolution": "5120x2880","capacity": 8,"used": 0,"available": 8,"reason": null,"configured": false},' \
	"and one that it could"
is "$(offer mtty mtty-1)" '"id": "mtty-1","name": "Single port serial","class": null,"framebuffer_mib": null,"heads": null,"resolution": null,"capacity": 24,"used": 0,"available": 24,"reason": null,"configured": false},' \
	"what the driver does not say is null"
is "$(object inventory address 0000:99:00.0)" '"address": "0000:99:00.0","framework": null,"vendor": null,"device": null,"model": null,"numa_node": null,"vfs": null,"type": "nvidia-222","in_pool": false,"ready": false,"reason": "'"$(message M_NO_PCI_DEVICE)"'","types": []},' \
	"a card that the host does not have"
like "$(object inventory address 0000:00:02.0)" '*"numa_node": null,*' "a NUMA node that the kernel gives as -1 is null"

is "$(object types id nvidia-222)" '"id": "nvidia-222","name": "GRID T4-1B","class": "CUSTOM_T4","framebuffer_mib": 1024,"heads": 4,"resolution": "5120x2880","framework": "mdev","capacity": 16,"used": 0,"available": 3,"host": {"capacity": 16,"used": 0,"available": 3},"pgpus": [{"address": "0000:84:00.0","in_pool": true,"capacity": 16,"used": 0,"available": 3}]},' \
	"types: the same turned round"
like "$(row types nvidia-222)" "nvidia-222 GRID T4-1B CUSTOM_T4 1024 4 5120x2880 16 0 3 3 0000:84:00.0[*]" "for people, with a star where it is served"
like "$(row types nvidia-223)" "nvidia-223 GRID T4-2B - 2048 4 5120x2880 0 0 0 8 0000:84:00.0" "and none where it is not"

call prepare begin 1 nvidia-222
call migrate begin 2 nvidia-222 >/dev/null
create mtty mtty-1 3
create 0000:41:00.4 nvidia-558 4
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * nvidia-222 16 1 1 -" "a reservation is not used, and not available"
like "$(row inventory 0000:41:00.0)" "0000:41:00.0 * nvidia-558 4 1 3 -" "a foreign vGPU counts on the pGPU of its VF"
like "$(row inventory mtty)" "mtty * mtty-2 11 0 11 -" "one of another type takes capacity"
like "$(offer 0000:84:00.0 nvidia-223)" '*"capacity": 8,"used": 0,"available": 0,*' "of another framebuffer size nothing fits now"
like "$(object types id mtty-1)" '*"host": {"capacity": 24,"used": 1,"available": 23},*' "what is used and what is left make the capacity"
call prepare begin 5 nvidia-222
vl_ends "where nothing is available, a plan says no" 1 plan <(domain 6 "$(uuid 6)" nvidia-222)
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * nvidia-222 16 2 0 $(message M_CAP_REACHED 3)" "and the inventory says why"

echo '0000:41:00.0 off' >"$root/.kernel/control/register"
like "$(row inventory 0000:41:00.0)" "0000:41:00.0 * 4 nvidia-558 - - - $(message M_NOT_REGISTERED)*" "a card that is not ready says why"
like "$(object inventory address 0000:41:00.0)" '*"in_pool": false,"ready": false,"reason": "'"$(message M_NOT_REGISTERED)*" "as JSON"

configure <<<'[nonsense]'
vl_like "a broken configuration is a warning" "0|*|$(message M_WARNING "*/vgpu-lease.conf:1: *")" inventory
like "$(row inventory mtty)" "mtty * $root/etc/vgpu-lease.conf:1: *" "and the reason why nothing is in the pool"
vl_like "for types, too" "0|*|$(message M_WARNING "*/vgpu-lease.conf:1: *")" types

new_host t4:8 nvidia-222@0000:84:00.0 'max_instances = 2'
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * nvidia-222 16 0 2 -" "of a card with a cap inventory says what can be made"
like "$(row types nvidia-222)" "nvidia-222 * 5120x2880 16 0 2 114 0000:84:00.0[*], *" "types says the same of the pool, and apart what all cards could make"
like "$(row types nvidia-223)" "nvidia-223 * 5120x2880 0 0 0 64 0000:84:00.0, *" "of a type that nothing serves the pool has none"
like "$(object types id nvidia-222)" '*"capacity": 16,"used": 0,"available": 2,"host": {"capacity": 128,"used": 0,"available": 114},*' "JSON has both"
like "$(object types id nvidia-222)" '*{"address": "0000:84:00.0","in_pool": true,*,{"address": "0000:85:00.0","in_pool": false,*' "and which cards are in the pool"

new_host t4+flex 'nvidia-222@10de:1eb8, 8086:56c0'
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * nvidia-222 16 0 16 -" "of two cards that a section matches one is in the pool"
like "$(row inventory 0000:4d:00.0)" "0000:4d:00.0 * - nvidia-222 - - - ?*" "and the other is listed, with the reason"
vl_counts "once" "0 1" '^0000:4d:00.0' inventory
like "$(object inventory address 0000:4d:00.0)" '*"vendor": "8086","device": "56c0",*"in_pool": false,"ready": false,"reason": "*","types": []}*' \
	"as JSON with what is known of it"
sed -i 's/^enabled_mdev_types.*/enabled_mdev_types = nvidia-999/; s/nvidia-222/nvidia-999/' "$root/etc/vgpu-lease.conf"
like "$(object inventory address 0000:84:00.0)" '*,"type": "nvidia-999","in_pool": false,"ready": true,"reason": "'"$(message M_NOT_OFFERED nvidia-999)"'",*' \
	"a type that it is configured for and does not offer is named"
tap_done
