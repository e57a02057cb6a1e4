#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a refusal for no capacity gives as its causes, and as the fix: equal causes in one clause, and a fix that fits both the
# cause and the line that libvirt shows.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:8+l40s/4:1+flex/4:1
refused() { # TYPE: the refusal is in $said
	typed "$1" >"$work/typed.xml"
	said=$(prepare "$work/typed.xml" 2>&1)
}
told() { # SENTENCE KEY [ARG...] [-- KEY...]: the refusal says so
	local sentence=$1
	shift
	holds "$sentence" says "$@" <<<"$said"
}
configure nvidia-222@10de:1eb8 nvidia-1147@10de:26b9 vf_flex@8086:56c0 \
	'mdev_class = CUSTOM_FLEX' policy 'driver_cleanup = 0' 'release_wait = 5' 'reclaim = never'
cards=$(cd "$root/sys/class/mdev_bus" && printf '%s\n' 0000:8*)
is "$(wc -l <<<"$cards")" 8 "a host with eight cards of a kind"

### A driver that fails
for card in $cards; do control inject "create $card EIO 1000"; done
refused nvidia-222
told "eight cards with one error take one clause, the advice included" \
	M_DRIVER_REFUSED "${cards//$'\n'/, }" "Input/output error" -- M_SEE_DMESG
is "$(grep -o 'Input/output error' <<<"$said" | wc -l)" 1 "and are told of once"
tap_verdict "$([ ${#said} -lt 1000 ]; echo $?)" "in a line that libvirt shows whole" "${#said}"
told "with the end that says where there is more" M_SEE_INVENTORY
fails "nothing is to be freed" says M_FIX_FREE <<<"$said"
control inject clear
for card in $cards; do control inject "create $card EBUSY 1000"; done
refused nvidia-222
is "$(grep -o 'resource busy' <<<"$said" | wc -l)" 1 "likewise of another error"
control inject clear

### Another framework, another card
refused nvidia-1147
told "a type that is made as VFs is refused with the hostdev that it takes" M_MAKES_VFS -- M_FIX_HOSTDEV pci
fails "nothing is to be freed there" says M_FIX_FREE <<<"$said"
refused CUSTOM_FLEX
told "so is a class that VFs have alone" M_MADE_AS_VFS_DO CUSTOM_FLEX
fails "without a list of other types" says M_ENABLED_TYPES <<<"$said"
refused 'NVIDIA L40S-48Q'
told "and a name that VFs have alone" M_MADE_AS_VFS 'NVIDIA L40S-48Q'
refused nvidia-223
told "a type that no card serves requests one" M_SERVES nvidia-222 -- M_FIX_ENABLE nvidia-223
refused CUSTOM_NONE
tap_verdict "$([ ${#said} -lt 700 ]; echo $?)" "the types that are known fill no line" "$said"

### What blocks a card, in the inventory
make_device 0000:84:00.0 nvidia-223 "${u1%??}aa"
row() { lease inventory | grep "^$1 "; }
holds "a card that carries another type says what blocks it" says M_HOLDS nvidia-223 2048 < <(row 0000:84:00.0)
holds "so does its JSON" says M_HOLDS nvidia-223 2048 < <(lease inventory --json)
remove_device "${u1%??}aa"
fails "a free card says nothing" says M_HOLDS < <(row 0000:84:00.0)
tap_done
