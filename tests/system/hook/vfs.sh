#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Several VFs: what becomes of the addresses of a domain that has some which cannot be had here, and types that are given
# to single VFs of one card.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s:2
settings() { # ADDRESSES_1147 ADDRESSES_1150: two cards, a type each
	configure "nvidia-1147@$1" "nvidia-1150@$2" policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 10'
}
settings 0000:26:00.0 0000:27:00.0
ns=urn:vgpu-lease:domain:1 a=0000:26:00.4 b=0000:26:00.5

hostdev() { # ADDRESS: in quotes and an order that libvirt never writes
	local domain bus slot function
	IFS=:. read -r domain bus slot function <<<"$1"
	printf '  <hostdev managed="no" type="pci" mode="subsystem"><source>\n'
	printf '    <address function="%s" bus='"'0x%s'"' slot = "0x%s" domain="0x%s"/></source></hostdev><!-- %s -->\n' "$function" "$bus" "$slot" "$domain" "$1"
}
# domain N [ADDRESS=TYPE]...: hostdevs in this order, the metadata in the other; one of them without "=" has no metadata.
domain() {
	local n device devices=
	printf -v n %02x "$1"
	shift
	for device; do
		[[ $device != *=* ]] || devices="<v:device address='${device%=*}' type='${device#*=}'/>"$'\n'"$devices"
	done
	printf '<domain type="kvm"><name>vm%s</name><uuid>%s</uuid>\n<metadata><v:lease xmlns:v="%s">%s</v:lease></metadata><devices>\n' \
		"$n" "${vm_uuid%??}$n" "$ns" "$devices"
	for device; do hostdev "${device%=*}"; done
	echo '</devices></domain>'
}
addresses() { # of the hostdevs, in their order, then those of the metadata
	sed -n 's/.*<address function="\(0x\)\?\([^"]*\)" bus=.\(0x\)\?\([^"'"'"']*\). slot = "\(0x\)\?\([^"]*\)" domain="\(0x\)\?\([^"]*\)".*/\8:\4:\6.\2/p' <<<"$1" | tr '\n' ' '
	grep -o "device address='[^']*'" <<<"$1" | cut -d"'" -f2 | tr '\n' ' '
}
plain() { sed "s/ name='[^']*' framework='variant' model='[^']*' driver='[^']*'//"; } # without the facts of this host
reserved() { lease list --json | awk -F'"' '$2 == "id" { id = $4 } $2 == "state" && $4 == "reserved" { printf "%s ", id }'; }
drop() { lease release "$1" >/dev/null; }

# arrives SENTENCE EXPECTED FILE: what migrate, restore and rewrite make of the XML is the same, to the byte, and is this.
arrives() {
	local op migrated
	migrated=$(hook vm migrate begin - <"$3" 2>&1)
	is "$(addresses "$migrated")" "$2" "$1: migrate"
	for id in $(reserved); do drop "$id"; done
	is "$(hook vm restore begin - <"$3" 2>&1)" "$migrated" "$1: restore has the same, to the byte"
	for id in $(reserved); do drop "$id"; done
	is "$(lease rewrite "$3" 2>&1)" "$(plain <<<"$migrated")" "$1: rewrite, too"
	is "$(for op in migrate restore; do lease plan --op $op "$3" | grep -c ^reserve; done)" "$(printf '2\n2')" "$1: and plan says so"
}

domain 1 $a >"$work/one.xml"
holds "a domain has the first VF" hook vm1 prepare begin - <"$work/one.xml"

domain 2 $a=nvidia-1147 $b=nvidia-1147 >"$work/2.xml"
arrives "one whose address is taken gets a third, the other keeps its own" "0000:26:00.6 $b $b 0000:26:00.6 " "$work/2.xml"
hook vm2 migrate begin - <"$work/2.xml" >"$work/there.xml"
is "$(plain <"$work/there.xml")" "$(sed "s/address='$a'/address='0000:26:00.6'/; s/function=\"4\"/function=\"0x6\"/" "$work/2.xml")" \
	"everything else is as it came"
holds "the start that follows gets both" hook vm2 prepare begin - <"$work/there.xml"
is "$(listed id)" "$a $b 0000:26:00.6" "so that three are leased"
holds "and releases both" hook vm2 release end - <"$work/there.xml"
is "$(listed id)" "$a" "to the last"

domain 2 $b=nvidia-1147 $a=nvidia-1147 >"$work/2.xml"
arrives "in the other order, too" "$b 0000:26:00.6 0000:26:00.6 $b " "$work/2.xml"

domain 2 $a=nvidia-1147 $b >"$work/2.xml"
is "$(addresses "$(lease rewrite "$work/2.xml" 2>&1)")" "0000:26:00.6 $b 0000:26:00.6 " \
	"a hostdev of which the metadata say nothing keeps its address to itself: rewrite"

# VFs that are given to the pool one by one, so that there is no choice.
settings "$a, $b" 0000:27:00.4
domain 2 $a=nvidia-1147 $b=nvidia-1150 >"$work/2.xml"
arrives "one moves to where the other was, which moves on" "$b 0000:27:00.4 0000:27:00.4 $b " "$work/2.xml"
hook vm2 migrate begin - <"$work/2.xml" >"$work/there.xml"
holds "and starts there" hook vm2 prepare begin - <"$work/there.xml"
for file in there one; do release "$work/$file.xml"; done
settings $a 0000:27:00.4
domain 2 $a=nvidia-1150 0000:27:00.4=nvidia-1147 >"$work/2.xml"
arrives "two change places" "0000:27:00.4 $a $a 0000:27:00.4 " "$work/2.xml"
hook vm2 migrate begin - <"$work/2.xml" >"$work/there.xml"
holds "and start there" hook vm2 prepare begin - <"$work/there.xml"
is "$(vf_type $a) $(vf_type 0000:27:00.4)" "1147 1150" "each with its type"
hook vm2 release end - <"$work/there.xml"

### Types that are given to single VFs of one card: the address of a VF assigns that VF, not its card
new_host a100d+l40s
mdevs=0000:71:00 vfs=0000:26:00
for setting in on 1g.10gb 2g.20gb 2g.20gb; do control mig "$mdevs.0 $setting"; done
control mixed "$vfs.0 on"

# assigned [LINE...]: a card in MIG mode and one of mixed sizes, as nova.conf has them; these lines are of [policy].
assigned() {
	nova_has "nvidia-700@$mdevs.4,$mdevs.5,$mdevs.6" nvidia-699@$mdevs.7 "nvidia-1150@$vfs.4, $vfs.5" nvidia-1147@$vfs.6
	configure devices 'nova_conf = /etc/nova/nova.conf' policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 10' "$@"
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
	assigned "$option"
	with=${option:+, with several types on a card}
	is "$(findings)" "$counted" "nothing is wrong with two types on VFs of one card$with"
	is "$(lease export nova-pci | grep -o 'address": "[^"]*\|^alias.*nvidia-[0-9]*' | grep -o '[^"]*$' | paste -sd' ')" \
		"$vfs.4 $vfs.5 $vfs.6 nvidia-1150 nvidia-1147" "each VF is exported with its type$with"
	is "$(lease inventory --json | jq -c '[.pgpus[].in_pool]')" "[true,true]" "both cards are in the pool$with"

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
	is "$(lease retype --dry-run $mdevs.0 nvidia-699 2>&1)" "$(message M_RETYPE_WOULD_BE_FREE $mdevs.0 nvidia-699)" \
		"of the vGPUs on other VFs none is in the way$with"
	ends 2 3 4
	for n in 3 4; do remove_device "$(numbered $n)"; done
	rm -r "$root/etc/mdevctl.d"

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
	for n in 5 4; do release "$work/vf$n.xml"; done
done

new_host flex vf_small@0000:4d:00.1 vf_large@0000:4d:00.2
is "$(lease check | grep -c '^PASS  type ')" 2 "plain VFs of one card can have two names, and a start with each would succeed"
tap_done
