#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Types that are given to single VFs of one card: the address of a VF assigns that VF, not its card.
. "$(dirname "$0")/../../lib/hook.sh"
host a100d+l40s
mdevs=0000:71:00 vfs=0000:26:00
for setting in on 1g.10gb 2g.20gb 2g.20gb; do control mig "$mdevs.0 $setting"; done
control mixed "$vfs.0 on"

# settings [LINE...]: a card in MIG mode and one of mixed sizes, as nova.conf has them; these lines are of [policy].
settings() {
	nova_has "nvidia-700@$mdevs.4,$mdevs.5,$mdevs.6" nvidia-699@$mdevs.7 "nvidia-1150@$vfs.4, $vfs.5" nvidia-1147@$vfs.6
	configure devices 'nova_conf = /etc/nova/nova.conf' policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 2' "$@"
}

mdev() { # N [TYPE]: a domain, whose metadata may ask for a type
	# shellcheck disable=SC2016 # It is the quotes of the XML.
	another "$1" | sed "s|<memory |<metadata><v:lease xmlns:v='urn:vgpu-lease:domain:1'>${2:+<v:device uuid='$(numbered "$1")' type='$2'/>}</v:lease></metadata>&|"
}
vf() { vf_domain $((0xf0 + $1)) "$vfs.$1" no "${@:2}"; } # FUNCTION [TYPE]
starts() { mdev "$@" >"$work/$1.xml"; prepare "$work/$1.xml" 2>"$work/said"; }
ends() { for n; do release "$work/$n.xml"; done; }
on() { parent_of "$(numbered "$1")"; }
vf_starts() { vf "$@" >"$work/vf$1.xml"; prepare "$work/vf$1.xml" 2>"$work/said"; }
current() { vf_type "$vfs.$1"; }
# The findings of check on these cards that are not well, and all that Nova counts.
findings() {
	lease check --json | jq -r '.checks[] | select(.what == ("pgpu", "nova", "type")) |
		if .status != "PASS" then "\(.status) \(.what) \(.where) \(.message) \(.fix)" elif .what == "nova" then .message | split(" ")[:4] | join(" ") else empty end'
}
counted=$'Nova counts no nvidia-1150\nNova counts no nvidia-1147\nNova counts 3 nvidia-700:\nNova counts 1 nvidia-699:'

for option in "" "pgpu_types = several"; do
	settings "$option"
	with=${option:+, with several types on a card}
	is "$(findings)" "$counted" "nothing is wrong with two types on VFs of one card$with"
	is "$(lease export nova-pci | grep -o 'address": "[^"]*\|^alias.*nvidia-[0-9]*' | grep -o '[^"]*$' | paste -sd' ')" \
		"$vfs.4 $vfs.5 $vfs.6 nvidia-1150 nvidia-1147" "each VF is exported with its type$with"
	is "$(lease inventory --json | jq -c '[.pgpus[].in_pool]')" "[true,true]" "both cards are in the pool$with"

	# mdevs
	holds "a type gets one of its VFs$with" starts 1 nvidia-699
	is "$(on 1)" $mdevs.7 "the only one there is$with"
	holds "the other type, too$with" starts 2 nvidia-700
	is "$(on 2)" $mdevs.4 "its first$with"
	is "$(findings | grep -v ^WARN.type)" "$counted" "Nova's count stays what it was, and no retype is advised$with"
	ends 1
	mdevctl_has $mdevs.6 "$(numbered 3)" nvidia-700
	mdevctl_has $mdevs.7 "$(numbered 4)" nvidia-699
	starts 3
	starts 4
	is "$(on 3) $(on 4)" "$mdevs.6 $mdevs.7" "a missing mdev is made on the VF that its definition names, with that type$with"
	is "$(lease retype --dry-run $mdevs.0 nvidia-699 2>&1)" "$(message M_RETYPE_FULL $mdevs.0 nvidia-699 "no VF is free (1 of 1 in use)")" \
		"of the vGPUs on other VFs none is in the way$with"
	ends 2 3 4
	for n in 3 4; do remove_device "$(numbered $n)"; done
	rm -r "$root/etc/mdevctl.d"

	# VFs that take a type
	holds "a VF gets its own type, without a word about it$with" vf_starts 6
	holds "and so does another$with" vf_starts 4
	is "$(current 6) $(current 4)" "1147 1150" "each that of its section$with"
	fails "another VF's type is refused$with" vf_starts 5 nvidia-1147
	holds "with what the VF is configured for$with" says M_VF_SERVES $vfs.5 nvidia-1150 <"$work/said"
	fails "a VF that no section names is not in the pool$with" vf_starts 7 nvidia-1147
	release "$work/vf6.xml"
	holds "and becomes, on arrival, one of its type$with" grep -q $vfs.6 <(lease plan --op migrate "$work/vf7.xml")
	release "$work/vf4.xml"
	is "$(leases)$(current 6)$(current 4)" 000 "all is released$with"
done

# The address of a VF goes before that of its card, and before a match.
for card in "device_addresses = $vfs.0" "device_match = 10de:26b9"; do
	configure nvidia-1147 "$card" nvidia-1150@$vfs.5 policy 'driver_cleanup = 0'
	holds "a VF has its own type where its card has another (${card%% *})" vf_starts 5
	vf_starts 4
	is "$(current 5) $(current 4)" "1150 1147" "which is the other VFs' (${card%% *})"
	release "$work/vf5.xml"
	release "$work/vf4.xml"
done

# Plain VFs
new_host flex vf_small@0000:4d:00.1 vf_large@0000:4d:00.2
is "$(lease check | grep -c '^PASS  type ')" 2 "plain VFs of one card can have two names, and a start with each would succeed"
tap_done
