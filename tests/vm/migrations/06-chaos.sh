# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# everything is killed in random order for a while, with starts, stops, attaches and migrations under way: hooks, the handler,
# gc, QEMU and libvirtd
#
# The order follows from a seed, which is printed; one in /srv/vm/seed of host1 is used again (the hosts' own timing is not
# repeated by that).
seed=$(cat /srv/vm/seed 2>/dev/null || echo "$RANDOM")
DURATION=${DURATION:-60}
echo "# seed $seed, for $DURATION s"
RANDOM=$seed
names=(k1 k2 k3 k4 k5 k6)

### What is done to a host; on either

device_of() { echo "cccccccc-0000-4000-8000-00000000000${1#k}"; }
# The device of somebody else that is plugged into a domain.
extra_of() { echo "eeeeeeee-0000-4000-8000-00000000000${1#k}"; }
bring_up() {
	mkdir -p /run/systemd/system/libvirtd.service.d
	printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=1\n' \
		>/run/systemd/system/libvirtd.service.d/chaos.conf
	systemctl daemon-reload
	policy 'start_grace = 5' 'reserve_ttl = 5' 'reclaim = never' 'reuse = never'
	for name in k1 k2 k3 k4 k5 k6; do
		MIGRATABLE=1 domain "$name" "$name" "$(device_of "$name")"
		hostdev "$(extra_of "$name")" >"$WORK/$name-extra.xml"
	done
	systemctl start vgpu-leased
}
bring_down() {
	systemctl stop vgpu-leased
	rm -rf /run/systemd/system/libvirtd.service.d
	systemctl daemon-reload
}
# In the background, with an end: libvirtd can be gone, or wait for one that is.
act() { timeout -k 5 60 "$@" >/dev/null 2>&1 & }
# More at once than this take longer and do no more.
busy() {
	local running
	running=$(jobs -rp)
	[ "$(wc -w <<<"$running")" -ge 6 ]
}
all_done() { ! pgrep -f '^timeout -k 5 60 '; }
# What a start says when it fails is kept.
begin() { timeout -k 5 60 virsh create "$WORK/$1.xml" >/dev/null 2>"$WORK/start.$EPOCHREALTIME" & }
finish() { act virsh destroy "$1"; }
plug() {
	exists "$(extra_of "$1")" || make_device "$(extra_of "$1")" 2>/dev/null
	act virsh attach-device "$1" "$WORK/$1-extra.xml" --live
}
unplug() { act virsh detach-device "$1" "$WORK/$1-extra.xml" --live; }
shot() { act systemctl kill --kill-whom=main -s KILL "$1"; }
shot_guest() { kill -KILL "$(cat "/run/libvirt/qemu/$1.pid" 2>/dev/null)" 2>/dev/null; }

# Each call of the hook that does something is killed, or a child of it, if it takes as long as `soon` says. After two of
# three steps the handler or a gc is killed, or a child of theirs.
start_killing() {
	touch "$WORK/killing"
	mkfifo "$WORK/never"
	mv /etc/libvirt/hooks/qemu /etc/libvirt/hooks/timed
	cat >/etc/libvirt/hooks/qemu <<-END
		#!/bin/bash
		$(declare -f soon pause killed children_of)
		WORK=$WORK
		/etc/libvirt/hooks/timed "\$@" <&0 &
		hook=\$!
		if [ -e $WORK/killing ] && [[ \$2 != sta* && \$2 != stopped ]]; then
			pause "\$(soon)"
			children_of \$hook
			if [ \$((RANDOM % 4)) = 0 ]; then killed "child of a hook" "\$CHILD"; else killed hook \$hook; fi
		fi
		wait \$hook
		status=\$?
		# As libvirt would see it.
		[ \$status != 137 ] || kill -KILL \$\$
		exit \$status
	END
	chmod 755 /etc/libvirt/hooks/qemu
}
stop_killing() {
	rm "$WORK/killing"
	mv /etc/libvirt/hooks/timed /etc/libvirt/hooks/qemu
}
# By cat: where its cgroup goes at that moment, a read error of mapfile itself ends the loop that calls this.
shot_handler() { # NUMBER
	local pids
	mapfile -t pids < <(cat /sys/fs/cgroup/system.slice/vgpu-leased.service/cgroup.procs)
	[ "${#pids[@]}" = 0 ] || killed handler "${pids[$1 % ${#pids[@]}]}"
} 2>/dev/null
shot_gc() {
	(
		command vgpu-lease gc &
		pause "$(soon)"
		children_of $!
		if [ $((RANDOM % 4)) = 0 ]; then killed "child of a gc" "$CHILD"; else killed gc $!; fi
	) >/dev/null 2>&1 &
}
# Up to 0.2 s, mostly within 0.05 s: where the machine has time, a hook takes no longer.
soon() { printf '0.%03d' $((RANDOM % (RANDOM % 200 + 1))); }
# Without a process.
pause() { read -rt "$1" <>"$WORK/never"; }
# CHILD: one of them, or nothing.
children_of() {
	local all=()
	read -ra all <"/proc/$1/task/$1/children"
	CHILD=${all[0]:-}
} 2>/dev/null
# killed WHAT PID: kills it, and counts that, if it lives.
killed() { [ -n "$2" ] && [[ $(<"/proc/$2/stat") != *') Z '* ]] && kill -KILL "$2" && echo "$1" >>"$WORK/killed"; } 2>/dev/null
# What was killed, and which starts the hook has refused.
tell_killed() {
	echo "# killed on $(hostname):" "$(sort "$WORK/killed" | uniq -c | sed 's/$/,/' | xargs)"
	cat "$WORK"/start.* 2>/dev/null | grep -F 'vgpu-lease: ' | sed "s/^/# refused on $(hostname): /"
}
send() { act virsh migrate --live "$1" "qemu+tcp://host$2/system"; }
# one_that_runs NUMBER: of those that have a QEMU; nothing where none does. libvirtd is not asked, it has enough to do.
one_that_runs() {
	local all=(/run/libvirt/qemu/k?.pid) name
	[ -e "${all[0]}" ] || return 0
	name=${all[$1 % ${#all[@]}]##*/}
	echo "${name%.pid}"
}
running() { [ -e "/run/libvirt/qemu/$1.pid" ]; }

### What must hold

# The names of the domains that run; fails where libvirt does not say.
domains() {
	local names
	names=$(timeout 20 virsh list --name) || return
	xargs <<<"$names"
}
# in_qemu NAME ID: the domain's QEMU has the mdev's VFIO group open.
in_qemu() {
	local pid group
	pid=$(cat "/run/libvirt/qemu/$1.pid" 2>/dev/null) && group=$(readlink "/sys/bus/mdev/devices/$2/iommu_group") || return
	find "/proc/$pid/fd" -lname "/dev/vfio/${group##*/}" 2>/dev/null | grep -q .
}
# Each active lease is that of a device which its running domain has, and the other way round; there are no others. A
# libvirtd that is killed in the middle of a hot-plug can leave QEMU with a device that the domain's XML never gets: as long
# as QEMU has it open, its lease is right.
leases_fit() {
	local name id names held leased
	names=$(domains) || return
	leased=$(leases | jq -r '.leases[] | "\(.id) \(.domain.name)"' | sort)
	held=$({
		for name in $names; do
			device_in "$name" | while read -r id; do echo "$id $name"; done
		done
		while read -r id name; do
			[ -z "$id" ] || ! in_qemu "$name" "$id" || echo "$id $name"
		done <<<"$leased"
	} | sort -u)
	same "$leased" "$held" && same "$(leases | jq -r '.leases[].state' | sort -u)" "$([ -z "$held" ] || echo active)"
}
# What exists is leased, or somebody else's.
devices_fit() {
	local id
	for id in $(devices); do
		[[ $id == eeeeeeee-* ]] || leases | jq -e --arg id "$id" '.leases[] | select(.id == $id)' >/dev/null || {
			echo "$id is left over"
			return 1
		}
	done
}
in_peace() { answers && leases_fit && devices_fit; }
# Killed in the middle of a migration, libvirt 11.3 can be left with a QEMU of whose end it never hears, even after a restart,
# or with a job that never ends. What an operator does then is done here, too, and told.
restart_libvirtd() {
	echo "# libvirtd of $(hostname) is started again: $1"
	systemctl restart libvirtd
	within 60 answers
}
the_dead() {
	local file
	for file in /run/libvirt/qemu/k?.pid; do
		! [ -f "$file" ] || kill -0 "$(<"$file")" 2>/dev/null || echo "${file%.pid}"
	done
}
none_is_dead() { same "$(the_dead)" ''; }
see_the_dead() {
	local file
	none_is_dead && return
	restart_libvirtd "it has not seen the end of $(the_dead | xargs)"
	within 30 none_is_dead && return
	systemctl stop libvirtd
	for file in $(the_dead); do rm -f "$file".{pid,xml}; done
	restart_libvirtd "it had still not seen it, and its status files are removed"
}
# One attempt to end every domain; succeeds where none was there. What libvirt was asked for before (a start whose client is
# gone) can still come to pass, so once is not enough: the checks ask until nobody runs. What was done is in WORK/ends.
end_all() {
	local name names said
	if ! names=$(domains 2>&1); then
		restart_libvirtd "it does not list its domains: $names" >>"$WORK/ends"
		return 1
	fi
	for name in $names; do
		echo "# $(hostname) ends $name, which is $(timeout 20 virsh domstate --reason "$name" 2>&1 | xargs)"
		if ! said=$(timeout 60 virsh -q destroy "$name" 2>&1); then
			shot_guest "$name"
			restart_libvirtd "it does not end $name: $said"
			see_the_dead
		fi
	done >>"$WORK/ends"
	same "$names" ''
}
gives_all_back() { end_all && no_lease; }
tell_ends() { [ ! -f "$WORK/ends" ] || cat "$WORK/ends"; }

on() { # HOST COMMAND...
	local host=$1
	shift
	if [ "$host" = 1 ]; then "$@"; else there "$@"; fi
}
there eval "$(declare -f device_of extra_of bring_up bring_down act busy all_done begin finish plug unplug shot shot_guest \
	start_killing stop_killing shot_handler shot_gc soon pause children_of killed tell_killed send one_that_runs running \
	in_qemu leases_fit devices_fit in_peace domains restart_libvirtd the_dead none_is_dead see_the_dead end_all gives_all_back tell_ends)"
bring_up
there bring_up
start_killing
there start_killing

end=$((SECONDS + DURATION)) steps=0
declare -A did=()
while [ "$SECONDS" -lt "$end" ]; do
	name=${names[RANDOM % 6]} host=$((RANDOM % 2 + 1)) dice=$((RANDOM % 20)) number=$RANDOM
	while on $host busy && [ "$SECONDS" -lt "$end" ]; do
		host=$((3 - host))
		sleep 0.2
	done
	# What is done to a guest is done to one that runs; where none does, one is started.
	if [ "$dice" -ge 6 ]; then
		guest=$(on $host one_that_runs "$number")
		if [ -n "$guest" ]; then name=$guest; else dice=0; fi
	fi
	case $dice in
	[0-5])
		step=start
		for name in "$name" "${names[@]}"; do
			running "$name" || there running "$name" || { on $host begin "$name"; break; }
		done
		;;
	6 | 7) step=stop; on $host finish "$name" ;;
	[89] | 1[0-3]) step=migrate; on $host send "$name" $((3 - host)) ;;
	14) step=plug; on $host plug "$name" ;;
	15 | 16) step=attach; on $host act vgpu-lease attach "$name" ;;
	17) step=unplug; on $host unplug "$name" ;;
	18) step="kill libvirtd"; on $host shot libvirtd ;;
	*) step="kill QEMU"; on $host shot_guest "$name" ;;
	esac
	did[$step]=$((${did[$step]:-0} + 1))
	steps=$((steps + 1))
	sleep "0.$((RANDOM % 10))"
	case $((RANDOM % 3)) in
	0) on $host shot_handler "$number" ;;
	1) on $host shot_gc ;;
	esac
done
stop_killing
there stop_killing
for step in "${!did[@]}"; do echo "# $step: ${did[$step]}"; done
for host in 1 2; do on $host tell_killed; done
check "$steps steps were taken" test "$steps" -gt 20
ours() { journal | grep -F vgpu-lease; }
made() { ours | says_times M_MADE; }
there eval "$(declare -f ours made)"
echo "# made on host1: $(made), on host2: $(there made)"
echo "# guests that arrived: $(there eval "ours | says_times M_ARRIVED") and $(ours | says_times M_ARRIVED)"
kills() { grep -cx "$1" "$WORK/killed"; }
there eval "$(declare -f kills)"
for what in hook handler gc; do
	check "the $what was killed" test $(($(kills $what) + $(there kills $what))) -gt 0
done
check "in them guests had vGPUs" test "$(made)" -gt 0

# Whatever is under way has its minute; libvirtd may have to be told.
for host in 1 2; do
	check "what was under way on host$host comes to an end" on $host within 90 all_done
	on $host eval 'systemctl reset-failed libvirtd vgpu-leased; systemctl start libvirtd vgpu-leased' >/dev/null 2>&1
done
check "libvirt answers on host1" within 60 answers
check "and on host2" there within 60 answers
sleep 5
for host in 1 2; do on $host see_the_dead; done
check "on host1 each running domain has its devices, and nothing else is leased or left over" within 90 in_peace
check "on host2 likewise" there within 90 in_peace
check "all domains end on host1" within 180 end_all
check "and on host2" there within 180 end_all
check "then nothing is leased on host1" within 60 gives_all_back
check "nor on host2" there within 60 gives_all_back
for host in 1 2; do on $host tell_ends; done
check "no device is left but those of others on host1" within 10 devices_fit
check "nor on host2" there within 10 devices_fit
check "the handler of host1 lives" systemctl is-active -q vgpu-leased
check "and that of host2" there systemctl is-active -q vgpu-leased
bring_down
there bring_down
