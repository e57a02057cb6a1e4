# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# migrations of a guest with a VF that fail, each in its way: the guest goes on, and host2 is as before
# shellcheck disable=SC2154 # arrives and migration are pair.sh's
configure_nvidia "$PF1"
there configure_nvidia "$PF2" 'reserve_ttl = 2' 'start_grace = 2'
both load_nvidia
for side in '' there; do
	$side record_calls
done
vf=${PF1%0}1
goes_on() { runs_with mover 1147 "$vf"; }

GUEST=busy MIGRATABLE=1 define_vf mover "$vf" 1147
run virsh start mover
check "the guest runs on host1" goes_on
back_again
forget_calls

for op in prepare started; do
	there other_hook "$op" 'echo "not today" >&2; exit 1'
	is_refused "another hook refuses at $op" "not today"
	after "another hook refuses at $op" "${arrives%%"$op"*}$op stopped release:failed"
done
there no_other_hook

# At migrate only a reservation of a VF is left.
libvirtd_is_killed_at migrate prepare started
host2_is_killed
libvirtd_is_killed_at_the_end
libvirtd_of_host1_is_killed '*'
libvirtd_of_host1_is_killed destroyed --p2p

set_out "aborted"
run virsh domjobabort mover
ended "aborted"
after "aborted" "$arrives stopped release:failed"

set_out "virsh killed"
kill -KILL "$migration"
ended "virsh killed"
after "virsh killed" "$arrives stopped release:destroyed"

set_out "guest killed"
kill_guest mover
ended "guest killed"
check "guest killed: on host2 the hook is called for all" there within 30 called "$arrives stopped release:failed"
check "guest killed: on host1 for its end" within 30 called "stopped release:crashed"
check "guest killed: nothing is left on host1" within 30 no_types
check "guest killed: nothing is left on host2" there within 30 no_types
