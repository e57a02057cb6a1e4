# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# migrations that fail, each in its way: the guest goes on, and host2 is as before
lenient=('reserve_ttl = 2' 'start_grace = 2')
there policy "${lenient[@]}"
record_calls
there record_calls

# What libvirt calls for a migration that gets so far, on host2.
arrives='migrate prepare start started'

# after WHAT CALLS-ON-HOST2 [CALLS-ON-HOST1]: the hook was called so, on host1 not at all, and no harm is done.
after() {
	check "$1: on host2 the hook is called for $2" there within 30 called "$2"
	check "$1: on host1 for ${3:-nothing}" within 30 called "${3:-}"
	check "$1: the guest runs on, with its device and its lease" within 30 lives mover "$U1"
	check "$1: in the end nothing is left on host2" there within 30 tidy
	forget_calls
	there forget_calls
}
# refused WHAT TEXT [OPTION...]: a migration fails at once, and who asked for it reads why.
refused() {
	migrate_to 2 mover "${@:3}"
	check "$1: the migration fails" failed
	check "$1: who asked for it reads why" shows "$2"
}
# refused_with WHAT KEY [ARG...]: likewise, with a message of ours.
refused_with() {
	migrate_to 2 mover
	check "$1: the migration fails" failed
	check "$1: who asked for it reads why" tells "${@:2}"
}
# A migration over a line so slow that it does not end by itself; its process is `migration`.
set_out() {
	virsh migrate --live --bandwidth 1 "${@:2}" mover qemu+tcp://host2/system >"$WORK/migrate.log" 2>&1 &
	migration=$!
	check "$1: the migration is under way" within 90 under_way
}
under_way() { virsh domjobinfo mover | grep -q '^Memory processed: .*[1-9]'; }
ended() {
	wait "$migration" 2>/dev/null
	# shellcheck disable=SC2034 # for `failed`
	STATUS=$?
	OUT=$(<"$WORK/migrate.log")
	check "$1: the migration fails" failed
}
# Its memory has gone over, and host2 has to finish it, which virsh does not ask it to do: it goes on with `ask_to_finish`.
set_out_to_finish() {
	set_out "$1"
	kill -STOP "$migration"
	virsh -q migrate-setmaxdowntime mover 20000
	virsh -q migrate-setspeed mover 1000
	check "$1: nothing is left to do but to finish" within 60 is_state mover paused
	sleep 1
}
ask_to_finish() { kill -CONT "$migration"; }
back_again() { virsh -q migrate-setmaxdowntime mover 1; }

# A guest that cannot be migrated.
define fixed "$U1"
run virsh start --paused fixed
forget_calls
migrate_to 2 fixed
check "the source cannot send its device: the migration fails" failed
check "the source cannot send its device: on host2 the hook is called for all" there within 30 called "$arrives stopped release:failed"
check "the source cannot send its device: on host1 for nothing" called
check "the source cannot send its device: the guest keeps it" has fixed "$U1"
check "the source cannot send its device: nothing is left on host2" there within 30 nothing_left
run virsh destroy fixed
within 20 nothing_left
forget_calls
there forget_calls

truncate -s 1M "$IMAGES/mover.img"
there truncate -s 1M "$IMAGES/mover.img"
DISK=$IMAGES/mover.img GUEST=busy MIGRATABLE=1 define mover "$U1"
run virsh start mover
check "the guest runs on host1" lives mover "$U1"
# One page that the guest writes to is enough to keep a migration going.
back_again
forget_calls

### Refused on host2, before its libvirtd has begun

there make_device "$U2"
there policy "${lenient[@]}" 'reclaim = never' 'reuse = never'
there capacity 1
refused_with "no capacity" M_CAP_REACHED 1
check "no capacity: it is one line" same "$(grep -c 'vgpu-lease: domain mover: vGPU' <<<"$OUT") $(wc -l <<<"$OUT")" "1 1"
there eval "echo 1 >/sys/bus/mdev/devices/$U2/remove"
there policy "${lenient[@]}"
after "no capacity" "migrate"

there eval "printf '%s\n' '[nonsense]' >>$CONF"
refused "a broken configuration" "$CONF:"
there policy "${lenient[@]}"
after "a broken configuration" "migrate"

# What the device handler of the source would have said.
facts() { virsh -q metadata mover urn:vgpu-lease:domain:1 --key vgpu --live --set "<lease><device uuid='$U1' $*/></lease>"; }
facts "type='nvidia-7' name='GRID T4-1B' model='10de:1eb8'"
refused_with "no such type" M_UNKNOWN_TYPE nvidia-7 -- M_ON_THE_SOURCE "GRID T4-1B" 10de:1eb8
after "no such type" "migrate"
facts "type='mtty-2' name='Single port serial'"
refused_with "another type" M_OTHER_ON_SOURCE_NO_MODEL "Single port serial" mtty-2 "Dual port serial"
virsh -q metadata mover urn:vgpu-lease:domain:1 --live --remove
after "another type" "migrate"

there other_hook migrate 'echo "not today" >&2; exit 1'
refused "another hook refuses" "not today"
after "another hook refuses" "migrate"
there other_hook migrate 'echo "<domain><broken"'
refused "another hook prints what is no XML" "broken"
after "another hook prints what is no XML" "migrate"
there other_hook migrate 'sed s/32768/65536/'
refused "another hook changes the memory" "65536"
after "another hook changes the memory" "migrate"
there no_other_hook

there domain other mover
there sed -i "s/$(uuid_of mover)/$(uuid_of other)/" "$WORK/other.xml"
there virsh -q define "$WORK/other.xml"
refused "the name is taken" "already exists"
there virsh -q undefine mover
after "the name is taken" "migrate"

### Refused later

for op in prepare start started; do
	there other_hook "$op" 'echo "not today" >&2; exit 1'
	refused "another hook refuses at $op" "not today"
	after "another hook refuses at $op" "${arrives%%"$op"*}$op stopped release:failed"
done
there no_other_hook

there eval "rm $IMAGES/mover.img; mkdir $IMAGES/mover.img"
refused "QEMU does not start" "mover.img"
there eval "rmdir $IMAGES/mover.img; truncate -s 1M $IMAGES/mover.img"
after "QEMU does not start" "migrate prepare start stopped release:failed"

refused "QEMU cannot listen" "" --migrateuri tcp://host2:22
after "QEMU cannot listen" "migrate prepare start stopped release:failed"

### Something is killed

# libvirtd is killed by another hook, after ours: nobody calls release.
for op in migrate prepare start; do
	there other_hook "$op" 'systemctl kill -s KILL --kill-whom=main libvirtd'
	refused "libvirtd killed at $op" ""
	there no_other_hook
	check "libvirtd killed at $op: it is back" there within 60 answers
	after "libvirtd killed at $op" "${arrives%%"$op"*}$op"
done
there other_hook started 'systemctl kill -s KILL --kill-whom=main libvirtd'
refused "libvirtd killed at started" ""
there no_other_hook
check "libvirtd killed at started: it is back" there within 60 answers
after "libvirtd killed at started" "$arrives* stopped release:daemon"

there other_hook started "kill -KILL \$(cat /run/libvirt/qemu/mover.pid)"
refused "QEMU killed at started" ""
there no_other_hook
after "QEMU killed at started" "$arrives stopped release:*"

set_out "QEMU killed in between"
there kill_guest mover
ended "QEMU killed in between"
after "QEMU killed in between" "$arrives stopped release:*"

set_out "libvirtd killed in between"
there kill_libvirtd
ended "libvirtd killed in between"
check "libvirtd killed in between: it is back" there within 60 answers
after "libvirtd killed in between" "$arrives stopped release:daemon"

set_out_to_finish "QEMU killed at the end"
there kill_guest mover
# libvirt 11.3 can come to a standstill when it is asked to finish in the very moment in which it sees QEMU's end.
check "QEMU killed at the end: libvirt sees it" there within 60 called "$arrives stopped release:*"
ask_to_finish
ended "QEMU killed at the end"
after "QEMU killed at the end" "$arrives stopped release:*"
back_again

set_out_to_finish "libvirtd killed at the end"
there kill_libvirtd
ask_to_finish
ended "libvirtd killed at the end"
check "libvirtd killed at the end: it is back" there within 60 answers
after "libvirtd killed at the end" "$arrives stopped release:daemon"
back_again

### Given up on host1

set_out "aborted"
run virsh domjobabort mover
ended "aborted"
after "aborted" "$arrives stopped release:failed"

set_out "connection lost"
kill -KILL "$migration"
ended "connection lost"
after "connection lost" "$arrives stopped release:destroyed"

set_out "libvirtd of host1 killed"
kill_libvirtd
ended "libvirtd of host1 killed"
check "libvirtd of host1 killed: it is back" within 60 answers
after "libvirtd of host1 killed" "$arrives stopped release:*" reconnect
back_again

set_out "libvirtd of host1 killed, peer to peer" --p2p
kill_libvirtd
ended "libvirtd of host1 killed, peer to peer"
check "libvirtd of host1 killed, peer to peer: it is back" within 60 answers
after "libvirtd of host1 killed, peer to peer" "$arrives stopped release:destroyed" reconnect
back_again

set_out "guest killed"
kill_guest mover
ended "guest killed"
check "guest killed: on host2 the hook is called for all" there within 30 called "$arrives stopped release:failed"
check "guest killed: on host1 for its end" within 30 called "stopped release:crashed"
check "guest killed: nothing is left on host1" within 30 nothing_left
check "guest killed: nothing is left on host2" there within 30 nothing_left
