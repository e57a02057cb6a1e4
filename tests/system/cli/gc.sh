#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease gc: what may go, goes; what stays says why; a dry run writes nothing.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2+mtty+l40s/2 nvidia-222 mtty-1@mtty policy 'reclaim_grace = 0' 'driver_cleanup = 0' 'reuse = never'

# verdict N: what gc says of the vGPU number N: the word, and why.
verdict() {
	sed -nE "/ $(uuid "$1") /{s/^([a-z]+) .*(  |- )([^ ].*)$/\1: \3/;s/idle for [0-9]+ s/idle for N s/;p}" <<<"$out"
}
gc_judges() { vl gc; like "$(verdict "$2")" "$3" "$1"; }

vl_works "without anything to collect it is done" gc
is "$(find "$root/run/vgpu-lease" -mindepth 2 | wc -l)" 0 "and has written nothing down"

orphan 0000:84:00.0 nvidia-222 1
orphan mtty mtty-1 2
for n in 3 4 5 6; do call prepare begin $n nvidia-222; done
call migrate begin 7 nvidia-222 >/dev/null
runs 3
hold 4
with_handler call release end 4
age 5 && age 6 && age 7
create 0000:84:00.0 nvidia-222 8
domain 8 "$(uuid 8)" | libvirt_has vm8
create 0000:84:00.0 nvidia-222 9
mdevctl_has 0000:84:00.0 "$(uuid 9)" nvidia-222 auto
mdevctl_has mtty "$(uuid 2)" mtty-1
before=$(cd "$root" && find run var etc sys/bus/mdev/devices | sort; cat "$root"/run/vgpu-lease/leases/*)

check_verdicts() {
	is "$(verdict 1)" "$1: $(message M_ORPHAN N)" "an orphan goes"
	is "$(verdict 3)" "stays: $(message M_ITS_DOMAIN_RUNS)" "a lease whose domain runs stays"
	is "$(verdict 4)" "stays: $(message M_PROCESS_HAS_IT $$)" "what is open stays"
	is "$(verdict 5)" "$1: $(message M_DOMAIN_ENDED)" "a lease whose domain no longer runs goes"
	is "$(verdict 7)" "$2: $(message M_RESERVATION_EXPIRED)" "an expired reservation goes"
	is "$(verdict 8)" "stays: $(message M_NAMED_BY vm8)" "a device that a domain's XML names stays"
	is "$(verdict 9)" "stays: $(message M_MDEVCTL_STARTS /etc/mdevctl.d/0000:84:00.0)" "one that mdevctl starts stays"
}

vl_works "a dry run" gc --dry-run --type nvidia-222
check_verdicts remove drop
is "$(verdict 2)" "" "orphans of other types are left out with --type"
is "$(cd "$root" && find run var etc sys/bus/mdev/devices | sort; cat "$root"/run/vgpu-lease/leases/*)" "$before" \
	"a dry run changes nothing at all"
judged=(gc --dry-run --no-headings -o ID)
vl_is "--pgpu considers what is on one pGPU" "0|$(uuid 2)|" "${judged[@]}" --pgpu mtty_mtty
vl_is "--domain considers a domain's leases, and no orphan" "0|$(uuid 5)|" "${judged[@]}" --domain vm5
vl_json "also by its UUID" "0 $(uuid 6)" '.items[].id' gc --dry-run --domain "$(domain_uuid 6)"
vl_is "--state those in this state, and no orphan" "0|$(uuid 7)|" "${judged[@]}" --state reserved
vl_is "filters are combined" "0||" "${judged[@]}" --state releasing --domain vm5
vl_says "a domain that the host does not know is refused" 1 gc --domain vm55 -- M_NO_SUCH_DOMAIN vm55
fails "another number is not similar" says M_SIMILAR <<<"$err"
vl_like "a state that there is not is a usage error" "2||?*" gc --state idle
vl_like "one that the host does not have is refused" "1||?*" gc --dry-run --pgpu 0000:84:00.1
vl_like "a dry run as JSON" '0|{*"version": 1,*"items": [[]*"outcome": "remove"*"outcome": "stays"*|' gc --dry-run --json
is "$(grep -c '"id"' <<<"$out")" 9 "names each lease and each foreign device once"
is "$(sed -n "/$(uuid 7)/,/}/p" <<<"$out" | sed 's/^ *//' | tr -d '\n')" \
	"\"id\": \"$(uuid 7)\",\"type\": \"nvidia-222\",\"framework\": \"mdev\",\"parent\": \"0000:84:00.0\",\"pgpu\": \"0000:84:00.0\",\"state\": \"reserved\",\"domain\": {\"uuid\": \"$(domain_uuid 7)\",\"name\": \"vm7\"}," \
	"with its lease"

vl_is "of a domain without leases nothing is collected" "0||" gc --domain vm8 --no-headings
holds "nor are the orphans" exists 1
vl_works "it does what it said" gc --type nvidia-222
check_verdicts removed dropped
fails "the orphan is gone" exists 1
holds "that of another type is not" exists 2
fails "the device of the lease is gone" exists 5
is "$(find "$root/run/vgpu-lease/leases" -type f -printf '%f\n' | sort)" "$(uuid 3; echo; uuid 4)" "and so are the leases"
gc_judges "without --type the other orphan goes" 2 "removed: $(message M_DEFINITION_GOES "$(message M_ORPHAN N)")"
fails "with its manual definition" test -e "$root/etc/mdevctl.d/mtty/$(uuid 2)"
leave
gc_judges "what was open goes when it is closed" 4 "removed: $(message M_PENDING)"

orphan mtty mtty-1 2
control inject 'remove mtty EBUSY 999'
configure nvidia-222 policy 'reclaim_grace = 0' 'release_timeout = 1' 'driver_cleanup = 0'
gc_judges "what cannot be removed says so" 2 "failed: $(message M_FAILED "$(message M_ORPHAN N)" "$(message M_REMOVING "$(uuid 2)" "Device or resource busy*")")"
is "$status|$err" "1|$(message M_PROGRAM "$(message M_SOME_FAILED 1)")" "and is a failure"
vl_like "also as JSON" '1|*"outcome": "failed",*"error": "*' gc --json
# The child that writes holds the lock until it ends.
flock "$(card_lock mtty)" true
control inject clear

configure nvidia-222 policy 'reuse = never' 'driver_cleanup = 0'
gc_judges "a device that has not been idle for long stays" 2 "stays: $(message M_IDLE N 600)"
sed -i 's/^[0-9]*/1/' "$root/run/vgpu-lease/seen/$(uuid 2)"
remove_device "$(uuid 2)"
orphan mtty mtty-1 2
gc_judges "one that was made anew with the UUID of another begins anew" 2 "stays: $(message M_IDLE N 600)"

# Leases that were written before a boot that /run survived: their times can lie ahead of this boot's.
for n in 30 31 32; do call prepare begin $n nvidia-222; done
sed -i 's/^boot=.*/boot=11111111-2222-4333-8444-555555555555/; s/^since_ms=.*/since_ms=9000000000000/' "$root/run/vgpu-lease/leases/$(uuid 30)"
sed -i '/^boot=/d; s/^since_ms=.*/since_ms=9000000000000/' "$root/run/vgpu-lease/leases/$(uuid 31)"
sed -i '/^boot=/d' "$root/run/vgpu-lease/leases/$(uuid 32)"
vl list
is "$(grep -c "$(uuid 30)\|$(uuid 31)" <<<"$out")|$(grep -c "$(uuid 32)" <<<"$out")" "0|1" \
	"leases of another boot are void; one that does not name its boot is not, unless it is from the future"
domain 40 "$(uuid 30)" nvidia-222 | hook vm40 prepare begin -
is "$?|$(sed -n 's/^origin=//p' "$root/run/vgpu-lease/leases/$(uuid 30)")" "0|adopted" \
	"a device that is there in this boot is another's: any domain can have it"
vl gc
is "$(find "$root/run/vgpu-lease/leases" -name "$(uuid 31)")" "" "gc drops a lease of another boot"
holds "and keeps a device that is there" exists 31
for n in 30 32; do call release end $n; done
domain 40 "$(uuid 30)" | hook vm40 release end -
for n in 30 31; do remove_device "$(uuid $n)"; done

call prepare begin 2
age 2
gc_judges "of an adopted device only the lease is dropped" 2 "dropped: $(message M_DOMAIN_ENDED)"
holds "the device stays" exists 2

for n in 20 21 22; do call prepare begin $n nvidia-222 && cut_off $n; done
remove_device "$(uuid 20)"
age 22
gc_judges "without a device it is void at once" 20 "dropped: $(message M_CUT_OFF_VOID)"
is "$(verdict 21)" "stays: $(message M_CUT_OFF_RECENT)" "with one it has its time"
is "$(verdict 22)" "removed: $(message M_CUT_OFF)" "and goes then"
fails "with the device" exists 22

echo rubbish >"$root/run/vgpu-lease/leases/$(uuid 66)"
vl_like "a broken record is told" "0|*|$(message M_WARNING "$(message M_SET_ASIDE "*/leases" /run/vgpu-lease/garbage)")" gc
holds "and set aside" test -e "$root/run/vgpu-lease/garbage/$(uuid 66)"

configure <<<'[nonsense]'
create mtty mtty-1 1
call prepare begin 10 2>/dev/null
vl_like "it works under a broken configuration" "0|*|$(message M_WARNING "*/vgpu-lease.conf:1: *")" gc
is "$(verdict 1)" "stays: $(message M_FOREIGN_NO_CONF)" "but removes nothing foreign"
under nvidia-222 policy 'reclaim = never' -- gc_judges "nor where reclaim says never" 1 "stays: $(message M_FOREIGN_STAYS)"

# While its VF has no type, the lease of an interrupted creation is void, unless a process is at work on it.
configure nvidia-1147@10de:26b9
vf=0000:26:00.4
set_type() { set_vf_type "$vf" "$1"; }
told() { vl gc --dry-run --json && jq -r --arg id $vf '.items[] | select(.id == $id) | "\(.state) \(.outcome)"' <<<"$out"; }
start_vf 50 $vf no nvidia-1147
vf_domain 50 $vf | libvirt_runs vm50
set_type 0
is "$(told)" "active stays" "that of a domain that runs is not"
rm "$root/run/libvirt/qemu/vm50.xml"
sed -i -E 's/^state=.*/state=creating/; s/^writer=.*/writer=4194305/' "$root/run/vgpu-lease/leases/$vf"
is "$(told)" "creating drop" "one of a creation that was cut off is"
set_type 1147
is "$(told)" "creating stays" "not where it has the type"
set_type 0
control create_delay_ms 5000
start_vf 50 $vf no nvidia-1147 &
holds "a start makes it once more" eventually pending create
is "$(told)" "creating stays" "nor while somebody is at work on it"
wait $!

new_host t4:3 nvidia-222 policy 'placement = spread' 'driver_cleanup = 0' 'release_timeout = 60' 'release_wait = 0' 'create_timeout = 1'
# One vGPU on each of three cards; the removals of the first hang, and their leases have been releasing for an hour.
for n in 1 2 3; do call prepare begin $n; done
sed -i 's/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/' "$root"/run/vgpu-lease/leases/*
control remove_delay_ms "0000:84:00.0 8000"
only_first_left() { [ "$(ls "$root/run/vgpu-lease/leases")" = "$(uuid 1)" ] && pending 'remove 0000:84'; }
vgpu_lease --root "$root" gc >"$tmp/gc" 2>&1 &
gc=$!
holds "gc finishes what it can while a release hangs" eventually only_first_left
wait $gc
is "$(ls "$root/run/vgpu-lease/leases")$(wc -l <"$tmp/gc")" 4 "and that release when it no longer hangs"
tap_done
