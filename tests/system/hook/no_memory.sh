#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# There is no memory left, at each allocation in turn: the exit status is that of the operation, and nothing stays half made.
. "$(dirname "$0")/../../lib/hook.sh"
needs "$builddir/tests/system/hook/no_memory"
host t4:2 nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 1'
none() { [ "$(devices)$(leases)" = 0 ]; }
out_of_memory=$(message M_OUT_OF_MEMORY)

# starved AT OPERATION...: the hook, which finds no memory at allocation number AT. Its status is in $status.
starved() {
	rm -f "$work/seen"
	NO_MEMORY_AT=$1 NO_MEMORY_SEEN=$work/seen "$builddir/tests/system/hook/no_memory" --root "$root" -- vm "${@:2}" \
		<"$vm" >"$work/out" 2>"$work/said"
	status=$?
	[ -e "$work/seen" ]
}

# each FAILS BEFORE AFTER OPERATION...: for each allocation the operation between BEFORE and AFTER, which ends with a host
# as it was. `wrong` has what is not as it should be, `statuses` which there were, and `n` the number of allocations.
each() {
	local fails=$1 before=$2 after=$3
	wrong='' statuses='' n=1
	for (( ; n < 1000; n++)); do
		$before || wrong+="$n: not begun; "
		starved $n "${@:4}" || break
		statuses+="$status "
		[ "$status" = 0 ] || [ "$(cat "$work/said")" = "$out_of_memory" ] || wrong+="$n: $(cat "$work/said"); "
		[ "$status" = 0 ] && [ "$fails" = 1 ] && [ "$(lease_has state)" != "$given" ] && wrong+="$n: $status, $(lease_has state); "
		$after || wrong+="$n: afterwards; "
		eventually none || wrong+="$n: $(devices) $(leases) left; "
	done
	statuses=$(tr ' ' '\n' <<<"$statuses" | sort -u | xargs)
	$after && eventually none
}
starts_and_ends() { prepare "$vm" && release "$vm"; }
loses_its_lease() { prepare "$vm" && rm "$root/run/vgpu-lease/leases/$u1"; }
gets_its_lease() { hook vm reconnect begin - <"$vm" && [ "$(lease_has state)" = active ] && release "$vm"; }

given=active
each 1 true release prepare begin -
is "$wrong" "" "a start without memory fails, and its release leaves nothing"
holds "wherever that was ($n allocations)" test "$n" -gt 20
is "${statuses##* }" 1 "with the status of a refusal"

given=reserved
each 1 true starts_and_ends migrate begin -
is "$wrong" "" "an arrival without memory fails, and the next one finds the host as it was"
is "${statuses##* }" 1 "with the status of a refusal"

each 0 true starts_and_ends restore begin -
is "$wrong$statuses" 0 "a restore goes on, as its failure would lose the saved guest"

each 0 loses_its_lease gets_its_lease reconnect begin -
is "$wrong$statuses" 0 "a reconnect goes on, as its failure would kill the guest"

each 0 prepare release release end destroyed
is "$wrong$statuses" 0 "a release ends well, and what it left goes with the next"

starved 1 started begin -
is $status 0 "an operation that is not ours goes on"
tap_done
