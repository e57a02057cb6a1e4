# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a running guest goes there and back, five times, and finds its UUID taken each time
start_clock
there start_clock
total=0 hook=0
# A device that it never had before.
new_device() { [ -n "$1" ] && [[ $seen != *" $1 "* ]]; }
# tell_time MIGRATION-MS HOOK-MS
tell_time() {
	echo "# $1 ms, for $2 of which it waited for the hook"
	total=$((total + $1)) hook=$((hook + $2)) seen+="$device "
}

MIGRATABLE=1 define mover "$U1"
run virsh start mover
check "the guest has its device on host1" lives mover "$U1"
device=$U1 seen=" $U1 "
for trip in {1..5}; do
	there taken "$device"
	migrate_to 2 mover
	check "trip $trip: the guest goes to host2" succeeded
	# Before anything else calls the hook there.
	waited=$(there waited)
	there given_up
	device=$(there device_in mover)
	check "trip $trip: it has a device that it never had before" new_device "$device"
	check "trip $trip: that and its lease are the only ones on host2, where it runs" there within 20 lives mover "$device"
	check "trip $trip: nothing stays on host1" within 20 nothing_left
	tell_time "$MS" "$waited"

	taken "$device"
	there migrate_to 1 mover
	check "trip $trip: it comes back" there succeeded
	waited=$(waited)
	given_up
	device=$(device_in mover)
	check "trip $trip: it has another new device" new_device "$device"
	check "trip $trip: that and its lease are the only ones on host1, where it runs" within 20 lives mover "$device"
	check "trip $trip: nothing stays on host2" there within 20 nothing_left
	tell_time "$(there took)" "$waited"
done
echo "# on average a migration took $((total / 10)) ms, for $((hook / 10)) of which it waited for the hook"
run virsh destroy mover
check "at last nothing is left" within 20 nothing_left
