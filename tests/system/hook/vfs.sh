#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Domains with several VFs: what becomes of their addresses where some of them cannot be had here.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s:2
settings() { # ADDRESSES_1147 ADDRESSES_1150: two cards, a type each
	configure "nvidia-1147@$1" "nvidia-1150@$2" policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 2'
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
domain 2 $a=nvidia-1147 0000:99:00.4=nvidia-1147 >"$work/2.xml"
arrives "one that is taken and one that is not here" "$b 0000:26:00.6 0000:26:00.6 $b " "$work/2.xml"

# What the XML names otherwise.
domain 2 $a=nvidia-1147 0000:99:00.4=nvidia-1147 | sed "s|</v:lease>|<v:device address='$b' type='nvidia-1147'/>&|" >"$work/2.xml"
arrives "a <vgpu:device> without a hostdev keeps its address to itself" "0000:26:00.6 0000:26:00.7 0000:26:00.7 0000:26:00.6 $b " "$work/2.xml"
domain 2 $a=nvidia-1147 $b >"$work/2.xml"
is "$(addresses "$(lease rewrite "$work/2.xml" 2>&1)")" "0000:26:00.6 $b 0000:26:00.6 " \
	"so does a hostdev of which the metadata say nothing: rewrite"

# VFs that are given to the pool one by one, so that there is no choice.
settings "$a, $b" 0000:27:00.4
domain 2 $a=nvidia-1147 $b=nvidia-1150 >"$work/2.xml"
arrives "one moves to where the other was, which moves on" "$b 0000:27:00.4 0000:27:00.4 $b " "$work/2.xml"
hook vm2 migrate begin - <"$work/2.xml" >"$work/there.xml"
holds "and starts there" hook vm2 prepare begin - <"$work/there.xml"
hook vm2 release end - <"$work/there.xml"
hook vm1 release end - <"$work/one.xml"
settings $a 0000:27:00.4
domain 2 $a=nvidia-1150 0000:27:00.4=nvidia-1147 >"$work/2.xml"
arrives "two change places" "0000:27:00.4 $a $a 0000:27:00.4 " "$work/2.xml"
hook vm2 migrate begin - <"$work/2.xml" >"$work/there.xml"
holds "and start there" hook vm2 prepare begin - <"$work/there.xml"
is "$(vf_type $a) $(vf_type 0000:27:00.4)" "1147 1150" "each with its type"
hook vm2 release end - <"$work/there.xml"
domain 3 $a=nvidia-1147 | hook vm3 prepare begin -
domain 2 $a=nvidia-1147 0000:99:00.4=nvidia-1147 >"$work/2.xml"
reports "where there is no capacity for one, that is said of it" hook vm2 migrate begin - <"$work/2.xml" -- M_REFUSED_THERE vm2 "$root" $a -- M_NO_CAPACITY nvidia-1147 -- M_NO_FREE_VF 0000:26:00.0 1 1
is "$(listed id)" "$a" "and nothing is reserved"
tap_done
