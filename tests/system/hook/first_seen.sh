#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A card of NVIDIA's variant driver that carries vGPUs when it is seen for the first time: what it can make is not known,
# and what the configuration names is in the pool all the same.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s:2
grace=0
settings() { # RECLAIM SECTION_LINE...
	configure nvidia-1147 "${@:2}" policy "reclaim = $1" "reclaim_grace = $grace" 'driver_cleanup = 0' 'release_wait = 10'
}
card=0000:26:00.0 a=0000:26:00.4 b=0000:26:00.5 c=0000:26:00.6
forget() { rm -rf "$root/var/lib/vgpu-lease/types"; }
start() { start_vf 1 "$1"; } # ADDRESS
end() { end_vf 1 "$1"; }
card_is() { lease inventory --json | awk -F'"' -v key="$1" '$2 == "address" { is = $4 == "'$card'" } is && $2 == key { sub(/^[^:]*: /, ""); sub(/,$/, ""); print; exit }'; }

# Both cards are in use, so that none tells what it could make.
set_vf_type $b 1150
set_vf_type 0000:27:00.4 1150
settings never "device_addresses = $card"
is "$(card_is in_pool) $(card_is ready)" "true true" "a card that the configuration names by its address is in the pool"
settings never "device_match = 10de:26b9"
is "$(card_is in_pool)" true "also one that it names by what it is"
settings never "device_addresses = $a, $c"
is "$(card_is in_pool)" true "or by its VFs"
reports "a start is told what is in the way; retype leaves a VF that is not named" start $a \
	-- M_NO_CAPACITY -- M_BLOCKED $card 1 nvidia-1150 -- M_FIX_UNLEASED
settings never "device_addresses = $card"
reports "where the card is named, it is told what lists it, as somebody made it in advance" start $a \
	-- M_NO_CAPACITY -- M_BLOCKED $card 1 nvidia-1150 -- M_RETYPE_LISTS $card nvidia-1147
for_guest $b nvidia-1150 $b
reports "and what frees the card of it, where it was made for a guest" start $a \
	-- M_NO_CAPACITY -- M_BLOCKED $card 1 nvidia-1150 -- M_RETYPE_WITH_RECLAIM $card nvidia-1147
is "$(vf_type $a) $(vf_type $b) $(leases)" "0 1150 0" "and nothing has changed"
rm "$root/var/lib/vgpu-lease/affinity/$b"
configure nvidia-1150@10de:26b9 nvidia-1147@10de:26b9 policy 'pgpu_types = several' 'reclaim = never'
is "$(lease inventory --json | grep -c '"configured": true')" 4 "with several types each card is for all that it is matched for"
settings never ""
is "$(card_is in_pool)" false "a card that no section names is not in the pool on a guess"
holds "and its reason says how it would be" says M_NOT_KNOWN_YET nvidia-1147 < <(card_is reason)

reports "retype of a card that no section names says what to write" lease retype $card nvidia-1147 -- M_RETYPE_CONFIGURE $card nvidia-1147 nvidia-1147
settings never "device_addresses = $card"
holds "retype tells what stays, and why" says M_RETYPE_STAYS $b nvidia-1150 $b -- M_RECLAIM_NEVER < <(lease retype $card nvidia-1147 2>&1 | tr -s ' ')
settings orphans "device_addresses = $card"
said=$(lease retype --dry-run $card nvidia-1147 2>&1 | tr -s ' ')
is "$(tail -n +2 <<<"$said")" "$(message M_RETYPE_WOULD_GO $b nvidia-1150 $b "$(message M_UNUSED "not started by mdevctl, " 0)")"$'\n'"$(message M_RETYPE_WOULD_BE_FREE $card nvidia-1147)" "with --dry-run what would go"
holds "retype frees the card" lease retype $card nvidia-1147
is "$(vf_type $b)" 0 "of what was in the way"
is "$(card_is in_pool)" true "and then it is known what the card makes"
forget

# The command that a refusal advises frees the card, as it is printed.
advised() { # the command of the refusal, run
	local words
	read -ra words < <(sed -n "s/.*'vgpu-lease .*\\(retype [^']*\\)' frees it.*/\\1/p" <<<"$said")
	[ "${words[0]-}" = retype ] && lease "${words[@]}" >/dev/null
}
make_orphan $b nvidia-1150 $b
settings never "device_addresses = $card"
said=$(start $a 2>&1)
settings orphans "device_addresses = $card"
holds "with reclaim set as advised, the command frees the card" advised
is "$(vf_type $b)" 0 "of what was in the way"
for policy in orphans never; do
	forget
	set_vf_type $b 1150
	grace=600
	settings $policy "device_addresses = $card"
	holds "within reclaim_grace, reclaim = $policy: nor does the advice that lists a VF made in advance" \
		says M_RETYPE_LISTS_NOW $card nvidia-1147 < <(start $a 2>&1)
	for_guest $b nvidia-1150 $b
	said=$(start $a 2>&1)
	if [ $policy = orphans ]; then key=M_RETYPE_FREES_NOW; else key=M_RETYPE_NOW_WITH_RECLAIM; fi
	holds "within reclaim_grace, reclaim = $policy: the advice does not wait for it" says $key $card nvidia-1147 <<<"$said"
	holds "check gives the same" says $key $card nvidia-1147 < <(lease check 2>&1)
	settings orphans "device_addresses = $card"
	holds "and the command frees the card" advised
	is "$(vf_type $b)" 0 "at once"
done
grace=0
set_vf_type $b 0
settings orphans "device_addresses = $card"
sed -i s/1147/1150/ "$root/etc/vgpu-lease.conf"
start $b
sed -i s/1150/1147/ "$root/etc/vgpu-lease.conf"
forget
reports "one that is leased has to be released first" start_vf 2 $a -- M_BLOCKED $card 1 nvidia-1150 -- M_FIX_FREE
fails "and no command is promised to free it" advised
end $b
forget

# No command is advised that retype would refuse, as for an orphan that is open or named by a definition.
kept() { # POLICY HOW RETYPE_SAYS...
	settings "$1" "device_addresses = $card"
	reports "$2, reclaim = $1: the advice is to look" start $a -- M_BLOCKED $card 1 nvidia-1150 -- M_RETYPE_SHOWS_WHY $card nvidia-1147
	fails "and no command is promised to free the card" advised
	settings orphans "device_addresses = $card"
	reports "that command gives the reason" lease retype --dry-run $card nvidia-1147 -- "${@:3}"
}
for grace in 0 600; do
	set_vf_type $b 1150
	exec 9<>"$(node_of $b)"
	for policy in orphans never; do kept $policy "an orphan that is open, reclaim_grace = $grace" M_PROCESS_HAS_IT $$; done
	exec 9>&-
	vf_domain 3 $b | libvirt_has vm3
	for policy in orphans never; do kept $policy "one that a definition names, reclaim_grace = $grace" M_NAMED_BY vm3; done
	rm "$root/etc/libvirt/qemu/vm3.xml"
	set_vf_type $b 0
	forget
done
grace=0
settings orphans "device_addresses = $card"

for vf in $b $c; do make_orphan "$vf" nvidia-1150 "$vf"; done
exec 9<>"$(node_of $c)"
reports "where one of two orphans is open a start is refused" start $a -- M_BLOCKED_MANY $card 2 nvidia-1150
is "$(vf_type $b) $(vf_type $c)" "1150 1150" "and the other is not removed in vain"
exec 9>&-
holds "where nobody has either, both make capacity" start $a
is "$(vf_type $a) $(vf_type $b) $(vf_type $c)" "1147 0 0" "for the type that the configuration names"
end $a

forget
settings orphans "device_addresses = $a, $b"
for asks in '' nvidia-1147; do
	for vf in $a $b; do make_orphan "$vf" nvidia-1150 "$vf"; done
	arrived=$(vf_domain 1 $a no $asks | hook vm1 migrate begin -)
	vf=$(listed id)
	is "$(listed id,type,state)" "$vf nvidia-1147 reserved" "an arrival that asks for ${asks:-no type} is promised the VF of an orphan"
	holds "and starts with it" hook vm1 prepare begin - <<<"${arrived:-$(vf_domain 1 $a no $asks)}"
	is "$(vf_type "$vf") $(listed id,type)" "1147 $vf nvidia-1147" "and with the type that it was promised"
	hook vm1 release end - <<<"${arrived:-$(vf_domain 1 $a no $asks)}"
	forget
done
for vf in $a $b; do make_orphan "$vf" nvidia-1150 "$vf"; done
vf_domain 1 $a | hook vm1 migrate begin - >/dev/null
vf=$(listed id)
sed -i 's/^deadline_ms=.*/deadline_ms=1/' "$root/run/vgpu-lease/leases/$vf"
holds "after its reservation has expired the domain starts" start "$vf"
is "$(listed type,origin)" "nvidia-1150 adopted" "with the type that is there"
end "$vf"
for vf in $a $b; do set_vf_type "$vf" 0; done
forget
settings orphans "device_addresses = $card"

forget
make_orphan $b nvidia-1150 $b
sed -i 's/nvidia-1147/nvidia-99/' "$root/etc/vgpu-lease.conf"
reports "a type that turns out to be none of the card's is refused as such" start $a -- M_NOT_OFFERED nvidia-99
is "$(leases) $(vf_type $a)" "0 0" "and nothing is leased"
tap_done
