#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease inventory and types: what the host has, what each card serves, how much of it is left.
. "$(dirname "$0")/../../lib/cli.sh"

host gvt-g+t4+a40/4+mtty
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

# What is made, promised and held.
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

# Of eight cards one is configured: the numbers are those of the pool.
new_host t4:8 nvidia-222@0000:84:00.0 'max_instances = 2'
like "$(row inventory 0000:84:00.0)" "0000:84:00.0 * nvidia-222 16 0 2 -" "of a card with a cap inventory says what can be made"
like "$(row types nvidia-222)" "nvidia-222 * 5120x2880 16 0 2 114 0000:84:00.0[*], *" "types says the same of the pool, and apart what all cards could make"
like "$(row types nvidia-223)" "nvidia-223 * 5120x2880 0 0 0 64 0000:84:00.0, *" "of a type that nothing serves the pool has none"
like "$(object types id nvidia-222)" '*"capacity": 16,"used": 0,"available": 2,"host": {"capacity": 128,"used": 0,"available": 114},*' "JSON has both"
like "$(object types id nvidia-222)" '*{"address": "0000:84:00.0","in_pool": true,*,{"address": "0000:85:00.0","in_pool": false,*' "and which cards are in the pool"

# A card that the configuration matches, and that makes no vGPUs of this kind.
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
