# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# migrations that fail: the guest goes on, and host2 is as before
there policy 'reserve_ttl = 3'
DISK=$IMAGES/busy.img MIGRATABLE=1 define mover "$U1"
run virsh start mover
check "the guest runs on host1" lives mover "$U1"
# One page that the guest writes to is enough to keep a migration going.
run virsh migrate-setmaxdowntime mover 1

# unharmed WHAT: all is well after a migration that failed so.
unharmed() {
	check "$1: the guest runs on, with its device and its lease" lives mover "$U1"
	check "$1: after reserve_ttl and one gc, nothing is left on host2" there within 6 tidy
}
# refused WHAT TEXT
refused() {
	check "$1: the migration fails" failed
	check "$1: who asked for it reads why" says "$2"
	unharmed "$1"
}
# A migration over a line so slow that it does not end by itself; its process is `mover`.
set_out() {
	virsh migrate --live --bandwidth 1 mover qemu+tcp://host2/system >"$WORK/migrate.log" 2>&1 &
	mover=$!
	check "$1: the migration is under way" within 60 under_way
}
under_way() { virsh domjobinfo mover | grep -q '^Memory processed: .*[1-9]'; }
ended() {
	wait "$mover" 2>/dev/null
	# shellcheck disable=SC2034 # for `failed`
	STATUS=$?
	OUT=$(<"$WORK/migrate.log")
	check "$1: the migration fails" failed
}

there make_device "$U2"
there policy 'reserve_ttl = 3' 'reclaim = never' 'reuse = never'
there room 1
migrate_to 2 mover
check "no room: the migration fails" failed
check "no room: who asked for it reads it in one line" same "$(grep -c 'vgpu-lease: domain mover: vGPU' <<<"$OUT") $(wc -l <<<"$OUT")" "1 1"
there eval "echo 1 >/sys/bus/mdev/devices/$U2/remove; policy 'reserve_ttl = 3'"
unharmed "no room"

there other_hook migrate 'echo "not today" >&2; exit 1'
migrate_to 2 mover
refused "another hook refuses" "not today"
there other_hook migrate 'echo "<domain><broken"'
migrate_to 2 mover
refused "another hook prints what is no XML" "broken"
there other_hook migrate 'sed s/32768/65536/'
migrate_to 2 mover
refused "another hook changes the memory" "65536"
there no_other_hook

there eval "mv $IMAGES/busy.img $IMAGES/away.img; mkdir $IMAGES/busy.img"
migrate_to 2 mover
check "QEMU cannot start: the migration fails" failed
unharmed "QEMU cannot start"
there eval "rmdir $IMAGES/busy.img; mv $IMAGES/away.img $IMAGES/busy.img"

set_out "QEMU killed"
there kill_guest mover
ended "QEMU killed"
unharmed "QEMU killed"

set_out "libvirtd killed"
there systemctl kill -s KILL --kill-whom=main libvirtd
ended "libvirtd killed"
check "libvirtd killed: host2's libvirtd is back" there within 30 answers
unharmed "libvirtd killed"

set_out "aborted"
run virsh domjobabort mover
ended "aborted"
unharmed "aborted"

set_out "connection lost"
kill -KILL "$mover"
ended "connection lost"
unharmed "connection lost"

set_out "guest killed"
kill_guest mover
ended "guest killed"
check "guest killed: nothing is left on host1" within 10 nothing_left
check "guest killed: after reserve_ttl and one gc, nothing is left on host2" there within 6 tidy
