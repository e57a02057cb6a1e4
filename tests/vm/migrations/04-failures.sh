# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# migrations that fail, each in its way: the guest goes on, and host2 is as before
# shellcheck disable=SC2154 # arrives and migration are pair.sh's
lenient=('reserve_ttl = 2' 'start_grace = 2')
there policy "${lenient[@]}"
record_calls
there record_calls

goes_on() { lives mover "$U1"; }

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
is_refused_with "no capacity" M_CAP_REACHED 1
check "no capacity: it is one line" same "$(grep -c 'vgpu-lease: domain mover: target host [^ ]*: vGPU' <<<"$OUT") $(wc -l <<<"$OUT")" "1 1"
there eval "echo 1 >/sys/bus/mdev/devices/$U2/remove"
there policy "${lenient[@]}"
after "no capacity" "migrate"

there eval "printf '%s\n' '[nonsense]' >>$CONF"
is_refused "a broken configuration" "$CONF:"
there policy "${lenient[@]}"
after "a broken configuration" "migrate"

# What the device handler of the source would have said.
facts() { virsh -q metadata mover urn:vgpu-lease:domain:1 --key vgpu --live --set "<lease><device uuid='$U1' $*/></lease>"; }
facts "type='nvidia-7' name='GRID T4-1B' model='10de:1eb8'"
is_refused_with "no such type" M_UNKNOWN_TYPE nvidia-7 -- M_ON_THE_SOURCE "GRID T4-1B" 10de:1eb8
after "no such type" "migrate"
facts "type='mtty-2' name='Single port serial'"
is_refused_with "another type" M_OTHER_ON_SOURCE_NO_MODEL "Single port serial" mtty-2 "Dual port serial"
virsh -q metadata mover urn:vgpu-lease:domain:1 --live --remove
after "another type" "migrate"

there other_hook migrate 'echo "not today" >&2; exit 1'
is_refused "another hook refuses" "not today"
after "another hook refuses" "migrate"
there other_hook migrate 'echo "<domain><broken"'
is_refused "another hook prints what is no XML" "broken"
after "another hook prints what is no XML" "migrate"
there other_hook migrate 'sed s/32768/65536/'
is_refused "another hook changes the memory" "65536"
after "another hook changes the memory" "migrate"
there no_other_hook

there domain other mover
there sed -i "s/$(uuid_of mover)/$(uuid_of other)/" "$WORK/other.xml"
there virsh -q define "$WORK/other.xml"
is_refused "the name is taken" "already exists"
there virsh -q undefine mover
after "the name is taken" "migrate"

### Refused later

for op in prepare start started; do
	there other_hook "$op" 'echo "not today" >&2; exit 1'
	is_refused "another hook refuses at $op" "not today"
	after "another hook refuses at $op" "${arrives%%"$op"*}$op stopped release:failed"
done
there no_other_hook

there eval "rm $IMAGES/mover.img; mkdir $IMAGES/mover.img"
is_refused "QEMU does not start" "mover.img"
there eval "rmdir $IMAGES/mover.img; truncate -s 1M $IMAGES/mover.img"
after "QEMU does not start" "migrate prepare start stopped release:failed"

is_refused "QEMU cannot listen" "" --migrateuri tcp://host2:22
after "QEMU cannot listen" "migrate prepare start stopped release:failed"

### Something is killed

libvirtd_is_killed_at migrate prepare start started
host2_is_killed
libvirtd_is_killed_at_the_end

### Given up on host1

set_out "aborted"
run virsh domjobabort mover
ended "aborted"
after "aborted" "$arrives stopped release:failed"

set_out "connection lost"
kill -KILL "$migration"
ended "connection lost"
after "connection lost" "$arrives stopped release:destroyed"

libvirtd_of_host1_is_killed '*'
libvirtd_of_host1_is_killed destroyed --p2p

set_out "guest killed"
kill_guest mover
ended "guest killed"
check "guest killed: on host2 the hook is called for all" there within 30 called "$arrives stopped release:failed"
check "guest killed: on host1 for its end" within 30 called "stopped release:crashed"
check "guest killed: nothing is left on host1" within 30 nothing_left
check "guest killed: nothing is left on host2" there within 30 nothing_left
