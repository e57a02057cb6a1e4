#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease release: takes a vGPU from its domain, unless somebody has it open.
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

# Its domain has ended: there is nothing to shut down.
call prepare begin 7
hold 7
call release end 7
vl_is "where the domain has ended, the process is what must end" \
	"1||$(message M_PROGRAM "$(uuid 7): $(message M_HELD_OPEN $$ vm7)$(message M_END_PROCESS_FIRST)")" release "$(uuid 7)"
leave

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
tap_done
