#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease release takes a vGPU from its domain, unless somebody has it open; retype frees a card of all that it has.
. "$(dirname "$0")/../../lib/cli.sh"
host mtty mtty-1 policy 'release_timeout = 1' 'reuse = never'

lease() { cat "$root/run/vgpu-lease/leases/$(uuid "$1")" 2>/dev/null; }

vl_fails "an ID that nobody knows" 1 release "$(uuid 1)" -- M_NO_LEASE "$(uuid 1)"
create mtty mtty-1 1
vl_fails "a device that is in no lease" 1 release "$(uuid 1)" -- M_NOT_LEASED "$(uuid 1)"
holds "stays" exists 1

call prepare begin 1
before=$(lease 1)
vl release --dry-run "$(uuid 1)"
is "$status|$out|$err|$(lease 1)" "0|keep the device and drop the lease of $(uuid 1), mtty-1 on mtty||$before" "a dry run tells of an adopted device"
hold 1
vl_is "and is refused as the release is" "1||$(message M_PROGRAM "$(uuid 1): $(message M_HELD_OPEN $$ vm1)$(message M_SHUT_DOWN_FIRST)")" \
	release --dry-run "$(uuid 1)"
vl_is "an open device is refused" "1||$(message M_PROGRAM "$(uuid 1): $(message M_HELD_OPEN $$ vm1)$(message M_SHUT_DOWN_FIRST)")" \
	release "$(uuid 1)"
is "$(lease 1)" "$before" "and its lease is what it was"
holds "the device, too" exists 1
leave
vl_is "of an adopted device the lease is dropped" "0|$(message M_DROPPED "$(uuid 1)" mtty-1 mtty vm1)|" release "$(uuid 1)"
is "$(lease 1)" "" "and gone"
holds "the device is left" exists 1

call prepare begin 2
vl_is "a dry run tells of one that we made" "0|remove $(uuid 2), mtty-1 on mtty|" release --dry-run "$(uuid 2)"
holds "which stays" exists 2
runs 2
vl release "$(tr '[:lower:]' '[:upper:]' <<<"$(uuid 2)")"
is "$status|$out" "0|$(message M_REMOVED "$(uuid 2)" mtty-1 mtty vm2)" "one that we made is removed"
is "$err" "$(message M_WARNING "$(message M_RUNS_CLOSED "$(uuid 2)" vm2)")" "with a word where its domain runs"
fails "it is gone" exists 2
is "$(lease 2)" "" "and so is its lease"

call prepare begin 3
remove_device "$(uuid 3)"
vl_is "a dry run tells of a lease whose device is gone" "0|drop the lease of $(uuid 3), mtty-1 on mtty|" release --dry-run "$(uuid 3)"
vl_is "a lease whose device is gone is dropped" "0|$(message M_DROPPED "$(uuid 3)" mtty-1 mtty vm3)|" release "$(uuid 3)"

call migrate begin 4 >/dev/null
vl_is "or of a reservation" "0|drop the reservation of $(uuid 4), mtty-1 on mtty|" release --dry-run "$(uuid 4)"
vl release "$(uuid 4)"
is "$status|$out|$(lease 4)" "0|$(message M_DROPPED "$(uuid 4)" mtty-1 mtty vm4)|" "a reservation is dropped"

# The hook's dry run: all leases of a domain, each by its state and origin, and whether its device exists.
create mtty mtty-1 11
for n in 11 12 13 14; do call prepare begin $n; done
call migrate begin 15 >/dev/null
remove_device "$(uuid 13)"
for n in 12 13 15; do sed -i "s/^domain=.*/domain=$(domain_uuid 11)/" "$root/run/vgpu-lease/leases/$(uuid $n)"; done
is "$(domain 11 "$(uuid 11)" | "$hook" --root "$root" --dry-run -- vm11 release end - 2>&1 >/dev/null)" \
	"keep the device and drop the lease of $(uuid 11), mtty-1 on mtty
remove $(uuid 12), mtty-1 on mtty
drop the lease of $(uuid 13), mtty-1 on mtty
drop the reservation of $(uuid 15), mtty-1 on mtty" "the hook's dry run tells what becomes of each lease of the domain"
for n in 11 12 13 14 15; do vl release "$(uuid $n)"; done

call prepare begin 7
hold 7
call release end 7
vl_is "where the domain has ended, the process is what must end" \
	"1||$(message M_PROGRAM "$(uuid 7): $(message M_HELD_OPEN $$ vm7)$(message M_END_PROCESS_FIRST)")" release "$(uuid 7)"
leave
call restore begin 7 >/dev/null
for option in '' --dry-run; do
	vl_like "one that is kept for its arriving domain is refused, with '$option'" \
		"1||$(message M_PROGRAM "vGPU $(uuid 7): $(message M_KEPT_FOR '*')")" release "$(uuid 7)" $option
done

call prepare begin 5
echo 'remove mtty EIO 99' >"$root/.kernel/control/inject"
vl_like "what the kernel says is passed on" "1||$(message M_PROGRAM "$(message M_REMOVING "$(uuid 5)" "Input/output error*")")" release "$(uuid 5)"
like "$(lease 5)" "*state=releasing*" "the lease stays, for gc"
echo clear >"$root/.kernel/control/inject"

configure <<<'[nonsense]'
vl_like "it works under a broken configuration" \
	"0|$(message M_REMOVED "$(uuid 5)" mtty-1 mtty vm5)|$(message M_WARNING "*/vgpu-lease.conf:1: *")" release "$(uuid 5)"

for args in "release $(uuid 1)" gc; do
	said=$(in_words as_nobody vgpu-lease "$args" 2>&1)
	is "$?|$said" "1|$(message M_PROGRAM "$(message M_NEEDS_ROOT)")" "${args%% *} needs root"
done

### vgpu-lease retype: a card is freed for another type; what stands in the way is named
new_host mtty+t4
# serve TYPE [LINE]: what the configuration has mtty serve.
serve() { configure "$1@mtty" nvidia-222@0000:84:00.0 policy 'reclaim_grace = 0' "release_timeout = ${timeout:-1}" "${@:2}"; }
made() { ls "$root/sys/bus/mdev/devices"; }
told() { holds "$1" says "${@:2}" < <(tr -s ' ' <<<"$out"); }

serve mtty-2
vl_ends "a call without a type" 2 retype mtty
vl_like "a card that is not there" "1|*|vgpu-lease: nosuch: *" retype nosuch mtty-1
vl_fails "a type that the card does not make" 1 retype mtty nvidia-222 -- M_RETYPE_NOT_MADE mtty nvidia-222 mtty
vl_fails "the configuration is changed first" 1 retype mtty mtty-1 -- M_RETYPE_CONFIGURE mtty mtty-1 mtty-1
configure mtty-2@mtty mtty-1@0000:99:00.0
vl_says "also where another card has the type" 1 retype mtty mtty-1 -- M_RETYPE_CONFIGURE mtty mtty-1 mtty-1

for n in {1..12}; do orphan mtty mtty-2 "$n"; done
create 0000:84:00.0 nvidia-222 20
serve mtty-1
holds "a start that needs the capacity makes it by itself" call prepare begin 30 mtty-1
is "$(made | wc -l)" 13 "by removing one orphan"
vl release "$(uuid 30)"
before=$(made)
vl retype mtty mtty-1 --dry-run
told "a dry run says what would go" M_RETYPE_WOULD_GO "$(uuid 12)" mtty-2 mtty -- M_ORPHAN
told "and what would be free then" M_RETYPE_WOULD_BE_FREE mtty mtty-1
is "$status|$(made)" "0|$before" "and nothing goes"
serve mtty-1 "reclaim = never"
vl retype mtty mtty-1
is "$status|$err" "1|$(message M_PROGRAM "$(message M_RETYPE_NOT_FREE mtty mtty-1 "11 vGPUs")")" \
	"orphans that the configuration keeps stand in the way"
told "with that reason" M_RETYPE_STAYS "$(uuid 12)" mtty-2 mtty -- M_FOREIGN_STAYS
serve mtty-1
exec 8<>"$(node_of "$(uuid 12)")"
mdevctl_has mtty "$(uuid 11)" mtty-2 auto
mdevctl_has mtty "$(uuid 10)" mtty-2
vl_ends "what is open or mdevctl's stays" 1 retype mtty mtty-1
holds "and how many are in the way" says M_RETYPE_NOT_FREE mtty mtty-1 "2 vGPUs" <<<"$err"
told "each with its reason" M_RETYPE_STAYS "$(uuid 11)" mtty-2 mtty -- M_MDEVCTL_STARTS
told "also what is open" M_RETYPE_STAYS "$(uuid 12)" mtty-2 mtty -- M_PROCESS_HAS_IT
told "the others are gone, with their manual definitions" M_RETYPE_GONE "$(uuid 10)" mtty-2 mtty -- M_DEFINITION_GOES
is "$(ls "$root/etc/mdevctl.d/mtty")|$(made | wc -l)" "$(uuid 11)|3" "and no more than those"
rm "$root/etc/mdevctl.d/mtty/$(uuid 11)"
exec 8>&-
vl_ends "then the card is freed" 0 retype mtty mtty-1
for n in 11 12; do told "of number $n" M_RETYPE_GONE "$(uuid $n)" mtty-2 mtty; done
told "and says for how many" M_RETYPE_FREE mtty mtty-1 24 0
is "$(made)" "$(uuid 20)" "a vGPU on another card stays"
holds "a domain starts with the new type" call prepare begin 31 mtty-1
orphan mtty mtty-2 41
vl_works "nor does a lease of that type" retype mtty mtty-1
told "an orphan beside it goes" M_RETYPE_GONE "$(uuid 41)" mtty-2 mtty
vl_is "vGPUs of that type are no obstacle" "0|$(message M_RETYPE_FREE mtty mtty-1 23 1)|" retype mtty_mtty mtty-1

create mtty mtty-1 40
runs 31
serve mtty-2
before=$(made)
vl_ends "a card with a lease of another type stays as it is" 1 retype mtty mtty-2
told "the lease is named, with its domain" M_RETYPE_STAYS_LEASED "$(uuid 31)" mtty-1 mtty vm31 -- M_ITS_DOMAIN_RUNS
told "and so is what it keeps" M_RETYPE_STAYS "$(uuid 40)" mtty-1 mtty -- M_KEPT_BESIDE_LEASE
is "$err" "$(message M_PROGRAM "$(message M_RETYPE_NOT_FREE mtty mtty-2 "2 vGPUs")")" "and the call is refused"
vl_ends "a dry run says the same" 1 retype mtty mtty-2 --dry-run
told "and not that anything would go" M_RETYPE_STAYS "$(uuid 40)" mtty-1 mtty -- M_KEPT_BESIDE_LEASE
is "$(made)" "$before" "nothing is removed then"
rm "$root/run/libvirt/qemu/vm31.xml"
age 31
vl_makes "a lease whose domain is gone is no obstacle" "0 $(uuid 20)" made retype mtty mtty-2

timeout=20
serve mtty-1
create mtty mtty-2 21
control remove_delay_ms 4000
seen=$(on_terminal 80 "$builddir/vgpu-lease" --root "$root" retype mtty mtty-1)
is "$(made)" "$(uuid 20)" "a slow removal"
like "$seen" "*$(message M_PROGRESS_RETYPE mtty)"$'\r'*$' \r'*"$(message M_RETYPE_FREE mtty mtty-1 "*" 0)"* \
	"is told on a terminal, until it is done"
serve mtty-2
orphan mtty mtty-1 22
vl retype mtty mtty-2
is "$status|$(made)|$err" "0|$(uuid 20)|" "and nowhere else"

for n in {50..61}; do create mtty mtty-2 "$n"; done
vl_is "a full card" "0|$(message M_RETYPE_FREE mtty mtty-2 0 12)|" retype mtty mtty-2
vl_is "a dry run claims no capacity" "0|$(message M_RETYPE_WOULD_BE_FREE mtty mtty-2)|" retype mtty mtty-2 --dry-run
remove_device "$(uuid 61)"
orphan mtty mtty-1 62
configure mtty-2@mtty 'max_instances = 11' policy 'reclaim_grace = 0'
vl retype mtty mtty-2
told "also if max_instances is reached" M_RETYPE_FREE mtty mtty-2 0 11
tap_done
