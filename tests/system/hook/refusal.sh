#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a refusal for no capacity says: to be read by whoever typed `virsh start`.
# And a project's quota.
. "$(dirname "$0")/../../lib/hook.sh"

### Equal causes are one clause, and the fix fits both the cause and the line that libvirt shows
host t4:8+l40s/4:1+flex/4:1
asks_for() { said=$(typed "$1" | prepare /dev/stdin 2>&1); } # TYPE: the refusal is in $said
told() { holds "$1" says "${@:2}" <<<"$said"; } # SENTENCE KEY [ARG...] [-- KEY...]: the refusal says so
configure nvidia-222@10de:1eb8 nvidia-1147@10de:26b9 vf_flex@8086:56c0 \
	'mdev_class = CUSTOM_FLEX' policy 'driver_cleanup = 0' 'release_wait = 5' 'reclaim = never'
cards=$(cd "$root/sys/class/mdev_bus" && printf '%s\n' 0000:8*)
is "$(wc -l <<<"$cards")" 8 "a host with eight cards of a kind"

### A driver that fails
for card in $cards; do control inject "create $card EIO 1000"; done
asks_for nvidia-222
told "eight cards with one error take one clause, the advice included" \
	M_DRIVER_REFUSED "${cards//$'\n'/, }" "Input/output error" -- M_SEE_DMESG
is "$(grep -o 'Input/output error' <<<"$said" | wc -l)" 1 "and are told of once"
holds "in a line that libvirt shows whole" test ${#said} -lt 1000
told "with the end that says where there is more" M_SEE_INVENTORY
fails "nothing is to be freed" says M_FIX_FREE <<<"$said"
control inject clear
for card in $cards; do control inject "create $card EBUSY 1000"; done
asks_for nvidia-222
is "$(grep -o 'resource busy' <<<"$said" | wc -l)" 1 "likewise of another error"
control inject clear

### Another framework, another card
asks_for CUSTOM_FLEX
told "a class that VFs have alone is refused with the hostdev that it takes" M_MADE_AS_VFS_DO CUSTOM_FLEX
fails "without a list of other types" says M_ENABLED_TYPES <<<"$said"
asks_for 'NVIDIA L40S-48Q'
told "and a name that VFs have alone" M_MADE_AS_VFS 'NVIDIA L40S-48Q'
asks_for CUSTOM_NONE
holds "the types that are known fill no line" test ${#said} -lt 700

### What blocks a card, in the inventory
make_device 0000:84:00.0 nvidia-223 "${u1%??}aa"
row() { lease inventory | grep "^$1 "; }
holds "a card that carries another type says what blocks it" says M_HOLDS nvidia-223 2048 < <(row 0000:84:00.0)
holds "so does its JSON" says M_HOLDS nvidia-223 2048 < <(lease inventory --json)
remove_device "${u1%??}aa"
fails "a free card says nothing" says M_HOLDS < <(row 0000:84:00.0)

### What it advises works: each is tried here
new_host t4:1+l40s/4+mtty nvidia-222 mtty-1 nvidia-558@0000:99:00.0 policy 'driver_cleanup = 1' 'release_wait = 1'
refusal() { typed "$1" | lease plan - 2>&1 | grep 'unknown type'; }
planned() { typed "$1" | lease plan - >/dev/null 2>&1; }

said=$(refusal nvidia-9)
holds "an unknown type is answered with the enabled types that a pGPU here has" says M_ENABLED_TYPES "nvidia-222" <<<"$said"
holds "and with the command that lists all" says M_SEE_TYPES <<<"$said"
advised=${said##*enabled: } advised=${advised%%;*}
fails "not with one for which no pGPU is left" grep -q mtty-1 <<<"$said"
for type in ${advised//,/}; do holds "$type, which is advised, would do" planned "$type"; done
said=$(refusal "GRID T4-3B")
holds "a name that is unknown is answered with names" says M_ENABLED_TYPES "nvidia-222 (GRID T4-1B)" <<<"$said"
holds "which would do" planned "GRID T4-1B"

prepare
release
sed "s/$vm_uuid/${vm_uuid%??}77/; s/one-vgpu/other/" "$vm" >"$work/other.xml"
holds "a UUID whose release is under way is waited for, where no other UUID is needed" prepare "$work/other.xml"

### The driver of the only pGPU of a type is not loaded: what is remembered of its vGPUs says which one it was
new_host mtty+mdpy mtty-2
prepare && release
end_host
rm -rf "${root:?}/run/vgpu-lease"
host mdpy
reports "a start names the pGPU that is missing, and what to do" prepare -- M_NO_CAPACITY "$(message M_ONLY_TYPE mtty-2)" -- M_NO_PARENT
fails "and no other" grep -q mdpy <<<"$said"
holds "so does check" says M_NO_PARENT_HERE < <(lease check)
holds "and inventory" grep -q '^mtty ' < <(lease inventory)
rm -rf "${root:?}/var/lib/vgpu-lease/affinity"
fails "where nothing is remembered, nothing is guessed" says M_NO_PARENT_HERE < <(lease check)
end_host
host mtty+mdpy
prepare 1 && release 1
fails "where it is loaded, nothing is missing" says M_NO_PARENT_HERE < <(lease check)

### A project's quota: it holds on each way a vGPU comes to a domain
new_host t4:1 nvidia-222 policy 'driver_cleanup = 0' 'reclaim = never' quota 'default = 1' 'none = unlimited'
u() { echo "${u1%??}$1"; }
project="<metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1' project='blue'/></metadata>"
for i in 11 12; do another $i | sed "s|</uuid>|&$project|" >"$work/$i.xml"; done
full=(M_QUOTA blue 1 1)

holds "the first of a project's domains starts" prepare "$work/11.xml"
make_device 0000:84:00.0 nvidia-222 "$(u 0c)"
reports "one that arrives where its device was made beforehand is refused" migrate "$work/12.xml" -- "${full[@]}"
is "$(leases)" 1 "nothing is reserved for it"
is "$(restore "$work/12.xml" 2>&1)$?" 0 "a restore says nothing and ends with 0, as its failure would delete the image"
is "$(leases)" 1 "but it reserves nothing"
reports "and the prepare that follows refuses" prepare "$work/12.xml" -- "${full[@]}"
is "$(refusals quota) $(refusals request)" "2 0" "the metrics tell the quota from what is wrong with a domain"

tap_done
