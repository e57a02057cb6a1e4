# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a running guest goes back and forth, ten migrations in all
for side in '' there; do
	$side policy 'migrate_uuid = fresh'
	$side start_clock
done
new_device() { [ -n "$1" ] && [[ $seen != *" $1 "* ]]; }

MIGRATABLE=1 define mover "$U1"
run virsh start mover
check "the guest has its device on host1" lives mover "$U1"
seen=" $U1 "
for trip in 1 2 3 4 5; do
	migrate_to 2 mover
	check "trip $trip: the guest goes to host2" succeeded
	device=$(there device_in mover)
	check "trip $trip: it gets a device that it never had before" new_device "$device"
	check "trip $trip: it runs on host2, with the only device and lease there" there lives mover "$device"
	check "trip $trip: nothing stays on host1" within 10 nothing_left
	echo "# $MS ms, for $(there waited) of which it waited for the hook"
	seen+="$device "

	there migrate_to 1 mover
	check "trip $trip: the guest comes back to host1" there succeeded
	device=$(device_in mover)
	check "trip $trip: it gets another new device" new_device "$device"
	check "trip $trip: it runs on host1, with the only device and lease there" lives mover "$device"
	check "trip $trip: nothing stays on host2" there within 10 nothing_left
	echo "# $(there took) ms, for $(waited) of which it waited for the hook"
	seen+="$device "
done
run virsh destroy mover
check "at last nothing is left" within 15 nothing_left
