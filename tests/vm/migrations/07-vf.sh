# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a guest with a VF goes there and back several times, while host1's other processor is busy, each time to another address
TRIPS=${TRIPS:-4} # ten take some minutes more
configure_nvidia "$PF1"
there configure_nvidia "$PF2"
for side in '' there; do
	$side load_nvidia
	$side start_clock
done
keep_busy
total=0 hook=0
# tell_time MIGRATION-MS HOOK-MS
tell_time() {
	echo "# $1 ms, for $2 of which it waited for the hook"
	total=$((total + $1)) hook=$((hook + $2))
}
vf=${PF1%0}1 beside=${PF2%0}1

MIGRATABLE=1 define_vf mover "$vf" 1147
run virsh start mover
check "the guest has its VF on host1" runs_with mover 1147 "$vf"
for ((trip = 1; trip <= TRIPS; trip++)); do
	migrate_to 2 mover
	check "trip $trip: the guest goes to host2" succeeded
	check "trip $trip: it has host2's VF and lease, nothing else, and it runs" there runs_with mover 1147 "$beside"
	check "trip $trip: its XML names that VF, and its metadata" there names mover "$beside"
	check "trip $trip: nothing stays on host1" within 20 no_types
	tell_time "$MS" "$(there waited)"

	there migrate_to 1 mover
	check "trip $trip: it comes back" there succeeded
	check "trip $trip: it has host1's VF and lease, nothing else, and it runs" runs_with mover 1147 "$vf"
	check "trip $trip: its XML names that VF, and its metadata" names mover "$vf"
	check "trip $trip: nothing stays on host2" there within 20 no_types
	tell_time "$(there took)" "$(waited)"
done
check "its vGPU's state has come along, $((2 * TRIPS)) times" same "$(moves "$vf")" $((2 * TRIPS))
echo "# on average a migration took $((total / 2 / TRIPS)) ms, for $((hook / 2 / TRIPS)) of which it waited for the hook"
rest
run virsh destroy mover
check "at last nothing is left" within 20 no_types
