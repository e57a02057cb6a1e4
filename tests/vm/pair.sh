#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# pair.sh MIGRATION   runs migrations/MIGRATION.sh in the first of two test machines, host1, which commands host2
# pair.sh --serve     the side of host2: carries out each line of standard input
#
# Written as the scenarios of inside.sh, with `there` before what is to be done or to be so on host2. Both hosts are without
# domains, leases and devices at first.
# shellcheck disable=SC2034 # some variables are for the migrations
set -u
# shellcheck source=tests/vm/inside.sh
. "$(dirname "$0")/inside.sh"

### What both hosts can do

# migrate_to HOST NAME [OPTION...]: as `run`, with the time in milliseconds in MS.
migrate_to() {
	local host=$1 start=$EPOCHREALTIME
	shift
	run timeout 300 virsh migrate --live "$@" "qemu+tcp://host$host/system"
	MS=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
	return "$STATUS"
}

took() { echo "$MS"; }

# has NAME DEVICE [ORIGIN]: this domain and its device, its lease and nothing else are here.
has() {
	uses "$1" "$2" && held_by "$2" "$1" "${3:-created}" && only "$2" && same "$(leases | jq '.leases | length')" 1
}
# lives NAME DEVICE [ORIGIN]: it has this, and it runs.
lives() { has "$@" && is_state "$1" running; }
# The states of all leases.
states() { leases | jq -r '.leases[].state' | xargs; }
# Each running domain's device, the leases and the kernel's devices are the same.
in_order() {
	local name domains
	domains=$(virsh list --name | while read -r name; do
		[ -z "$name" ] || echo "$(device_in "$name") $name"
	done | sort)
	same "$(leases | jq -r '.leases[] | select(.state == "active") | "\(.id) \(.domain.name)"' | sort)" "$domains" &&
		same "$(leases | jq '.leases | length')" "$(grep -c . <<<"$domains")" &&
		same "$(devices)" "$(cut -d ' ' -f 1 <<<"$domains" | xargs)"
}
# taken UUID: another domain has this device, until `given_up`.
taken() { domain holder holder "$1" && virsh -q create --paused "$WORK/holder.xml" >/dev/null; }
given_up() { virsh -q destroy holder; }
# There is a reservation, and nothing else.
only_reserved() { same "$(states) $(devices)" "reserved "; }
# How many domains run, and are not paused.
running() { virsh list --state-running --name | grep -c .; }
# What a reservation, or a release that was interrupted, leaves is gone as soon as gc may take it.
tidy() {
	vgpu-lease gc && nothing_left && { ! compgen -G "$PCI/*/nvidia/current_vgpu_type" >/dev/null || no_types; }
}
# The hook printed XML, and libvirt used it.
rewritten() { journal | grep -q "name='$1'.*hook-script"; }

# policy LINE...: lines of the section [policy], in place of those that were there.
policy() { configure_mtty policy "$@"; }

# record_calls: from now on, WORK/calls has each call of the hook: the operation, and for release the reason.
record_calls() {
	mkdir -p /etc/libvirt/hooks/qemu.d
	cat >/etc/libvirt/hooks/qemu.d/00-record <<-END
		#!/bin/sh
		[ "\$2" = release ] && set -- "\$1" "\$2:\$4"
		echo "\$2" >>$WORK/calls
	END
	chmod 755 /etc/libvirt/hooks/qemu.d/00-record
	forget_calls
}
forget_calls() { : >"$WORK/calls"; }
# called [PATTERN]...: were these called since then, in this order, and nothing else?
called() {
	local got
	got=$(xargs <"$WORK/calls")
	# shellcheck disable=SC2053 # patterns they are
	[[ $got == $* ]] || { printf 'got:  %s\nexpected: %s\n' "$got" "$*"; return 1; }
}

# other_hook OPERATION COMMAND: another hook, which libvirt runs after ours.
other_hook() {
	mkdir -p /etc/libvirt/hooks/qemu.d
	cat >/etc/libvirt/hooks/qemu.d/zz-other <<-END
		#!/bin/sh
		[ "\$2" = $1 ] || exit 0
		$2
	END
	chmod 755 /etc/libvirt/hooks/qemu.d/zz-other
}
kill_guest() { kill -KILL "$(pid_of "$1")"; }
# The last processor has no time for anybody else, until `rest` or the end.
keep_busy() {
	taskset -c $(($(nproc) - 1)) sh -c 'while :; do :; done' &
	busy=$!
	trap rest EXIT
}
rest() {
	trap - EXIT
	kill "$busy"
}
# capacity NUMBER: so many devices may be there.
capacity() { sed -i "/^\[mdev_mtty-2/a max_instances = $1" "$CONF"; }
# places NUMBER: as that, of the type of which mtty has most.
places() { sed -i "s/mtty-2/mtty-1/; /^\[mdev/a max_instances = $1" "$CONF"; }
no_other_hook() { rm -f /etc/libvirt/hooks/qemu.d/zz-other; }
kill_libvirtd() { systemctl kill -s KILL --kill-whom=main libvirtd; }

# The hook's own time, from its start to its end: from now on, each call leaves "OPERATION MILLISECONDS" in WORK/clock.
start_clock() {
	mv /etc/libvirt/hooks/qemu /etc/libvirt/hooks/timed
	cat >/etc/libvirt/hooks/qemu <<-END
		#!/bin/bash
		start=\${EPOCHREALTIME/./}
		/etc/libvirt/hooks/timed "\$@"
		status=\$?
		echo "\$2 \$(((\${EPOCHREALTIME/./} - start) / 1000))" >>$WORK/clock
		exit \$status
	END
	chmod 755 /etc/libvirt/hooks/qemu
}
# Of the domain that came last: how long migrate and prepare, which its migration waits for, took in milliseconds.
waited() { tail -n 4 "$WORK/clock" | awk '$1 == "migrate" || $1 == "prepare" { ms += $2 } END { print ms }'; }
stop_clock() { [ ! -e /etc/libvirt/hooks/timed ] || mv /etc/libvirt/hooks/timed /etc/libvirt/hooks/qemu; }

# A guest that writes to 512 KiB of its memory 18 times a second: over a slow line its migration never ends.
make_busy_guest() {
	local code
	code+='\xfb'                 # sti
	code+='\xb8\x00\x10'         # again: segment 0x1000
	code+='\x8e\xc0\x31\xff'     # segment: from its first byte
	code+='\x26\xff\x05'         # page: increment its first word
	code+='\x81\xc7\x00\x10'     # next page
	code+='\x75\xf7'             # not round yet: go to page
	code+='\x05\x00\x10'         # next segment
	code+='\x3d\x00\x90\x75\xeb' # not the last: go to segment
	code+='\xf4\xeb\xe5'         # wait for the timer, go to again
	make_firmware busy "$code"
}

### host2, seen from host1

# there COMMAND...: runs it in the shell on host2, whose variables stay from call to call; output and status are its own.
there() {
	local status size text
	printf '%q ' "$@" >&8
	echo >&8
	read -r status size <&7 || { echo "host2 does not answer"; return 99; }
	LC_ALL=C read -r -N "$size" text <&7
	[ "$size" = 0 ] || printf %s "$text"
	return "$status"
}

# both COMMAND...: here and there at the same time; it sets no variable.
both() {
	"$@" &
	there "$@"
	wait "$!"
}

# On host2: a line is a command; the answer is its status and the length of its output, and then this.
serve() {
	local line status said=/run/vm-test-said
	while IFS= read -r line; do
		eval "$line" >"$said" 2>&1 </dev/null
		status=$?
		echo "$status $(stat -c %s "$said")"
		cat "$said"
	done
}

### Migrations of `mover` that fail; the migration that is sourced says by `goes_on` what is as before on host1

# What libvirt calls for a migration that gets so far, on host2.
arrives='migrate prepare start started'

# after WHAT CALLS-ON-HOST2 [CALLS-ON-HOST1]: the hook was called so, on host1 not at all, and no harm is done.
after() {
	check "$1: on host2 the hook is called for $2" there within 30 called "$2"
	check "$1: on host1 for ${3:-nothing}" within 30 called "${3:-}"
	check "$1: the guest runs on, with its device and its lease" within 30 goes_on
	check "$1: in the end nothing is left on host2" there within 30 tidy
	forget_calls
	there forget_calls
}
# is_refused WHAT TEXT [OPTION...]: a migration fails at once, and who asked for it reads why, if that is known.
is_refused() {
	migrate_to 2 mover "${@:3}"
	check "$1: the migration fails" failed
	[ -z "$2" ] || check "$1: who asked for it reads why" shows "$2"
}
# is_refused_with WHAT KEY [ARG...]: likewise, with a message of ours.
is_refused_with() {
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
	[ "$STATUS" != 141 ] || within 30 resumes_mover
}
# virsh can die of the connection that is gone (SIGPIPE). Nobody tells host1's libvirtd then what has become of the guest on
# host2, and where nothing but that was left it stays paused: an operator resumes it.
resumes_mover() { is_state mover running || { virsh -q resume mover && is_state mover running; }; }
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
# On host2, libvirtd or the QEMU of the guest that arrives is killed: once QEMU runs, on the way, and right before the end.
host2_is_killed() {
	there other_hook started "kill -KILL \$(cat /run/libvirt/qemu/mover.pid)"
	is_refused "QEMU killed at started" ""
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
	# libvirt 11.3 can come to a standstill when it is asked to finish in the moment in which it sees QEMU's end.
	check "QEMU killed at the end: libvirt sees it" there within 60 called "$arrives stopped release:*"
	ask_to_finish
	ended "QEMU killed at the end"
	after "QEMU killed at the end" "$arrives stopped release:*"
	back_again
}

# libvirtd_is_killed_at OPERATION...: on host2, by another hook, after ours. Nobody calls release then, unless QEMU runs.
libvirtd_is_killed_at() {
	local op calls
	for op; do
		there other_hook "$op" 'systemctl kill -s KILL --kill-whom=main libvirtd'
		is_refused "libvirtd killed at $op" ""
		there no_other_hook
		check "libvirtd killed at $op: it is back" there within 60 answers
		calls="${arrives%%"$op"*}$op"
		[ "$op" != started ] || calls="$arrives* stopped release:daemon"
		after "libvirtd killed at $op" "$calls"
	done
}
libvirtd_is_killed_at_the_end() {
	set_out_to_finish "libvirtd killed at the end"
	there kill_libvirtd
	ask_to_finish
	ended "libvirtd killed at the end"
	check "libvirtd killed at the end: it is back" there within 60 answers
	after "libvirtd killed at the end" "$arrives stopped release:daemon"
	back_again
}
# libvirtd_of_host1_is_killed REASON [OPTION...]: host2 calls release with that reason.
libvirtd_of_host1_is_killed() {
	local what="libvirtd of host1 killed${2:+, $2}"
	set_out "$what" "${@:2}"
	kill_libvirtd
	ended "$what"
	check "$what: it is back" within 60 answers
	after "$what" "$arrives stopped release:$1" reconnect
	back_again
}

# What both hosts look like is told at a migration's first failure only: the later ones mostly follow from it. The host that
# was asked is the first.
check() {
	holds "$@" && return
	[ "$tap_failed" = 1 ] || return
	{
		if [[ " $* " == *" there "* ]]; then
			tell_host2
			tell_host1
		else
			tell_host1
			tell_host2
		fi
	} | sed 's/^/# /'
	return 1
}
tell_host1() {
	echo "on host1:"
	tell
}
tell_host2() {
	echo "on host2:"
	there tell
}

[ -f "$IMAGES/busy.rom" ] || make_busy_guest
stop_clock
if [ "$NAME" = --serve ]; then
	serve
	exit
fi
# A host2 that has died is noticed.
coproc HOST2 { ssh -o ServerAliveInterval=15 -o ServerAliveCountMax=8 host2 bash /srv/vm/pair.sh --serve; }
exec 7<&"${HOST2[0]}" 8>&"${HOST2[1]}"
both begin_fresh
# shellcheck source=/dev/null
. "$here/migrations/$NAME.sh"
stop_clock
there stop_clock
both fresh
check "nothing is kept on host1" within 20 wipe
check "nothing is kept on host2" there within 20 wipe
tell_json
there tell_json
exec 8>&-
tap_done
echo "end of $NAME"
