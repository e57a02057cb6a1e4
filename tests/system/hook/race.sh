#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hooks at the same time: of different domains, of the same one, beside slow drivers and held locks.
. "$(dirname "$0")/../../lib/hook.sh"
settings() { configure nvidia-222 policy 'reclaim = never' "$@"; } # LINE...: the policy

# at_once OP SUBOP N...: the hook for the domains number N, side by side. $work/N.status and N.err say how each went.
at_once() {
	local n
	for n in "${@:3}"; do
		rm -f "$work/$n.status"
		[ -e "$work/$n.xml" ] || another "$n" >"$work/$n.xml"
		(hook "vm$n" "$1" "$2" - <"$work/$n.xml" >"$work/$n.out" 2>"$work/$n.err"; echo $? >"$work/$n.status") &
	done
	for n in "${@:3}"; do eventually test -s "$work/$n.status"; done
	wait
}
with_status() { # STATUS N...: those of the domains that ended so
	local n
	for n in "${@:2}"; do [ "$(cat "$work/$n.status")" != "$1" ] || echo "$n"; done
}
idle() { ! pending .; }

### An arrival beside creations
# A device is there before the kernel says of which type it is.
host t4:2 nvidia-222@0000:84:00.0 'max_instances = 2' policy 'reclaim = never' 'driver_cleanup = 0'
two_leases() { [ "$(leases)" = 2 ] && [ -n "$(devices)" ]; }
control attr_delay_ms 2000
at_once prepare begin 16 17 &
creating=$!
holds "two vGPUs are being made where max_instances = 2" eventually two_leases
at_once migrate begin 18 19
wait $creating
is "$(with_status 0 16 17 18 19 | xargs)" "16 17" "they are served, and no place is promised to two domains that arrive meanwhile"
is "$(grep -c 'max_instances = 2 is reached' "$work"/1[89].err | cut -d: -f2 | xargs)" "1 1" "which are told why"
control attr_delay_ms 0
at_once release end 16 17 18 19
holds "and no lease is left of them" eventually no_lease

### One vGPU, ten domains
for n in $(seq 60 69); do another "$n" | sed "s/${u1%??}[0-9a-f][0-9a-f]'/$u1'/" >"$work/$n.xml"; done
at_once prepare begin $(seq 60 69)
winner=$(with_status 0 $(seq 60 69))
is "$(wc -w <<<"$winner") $(devices)$(leases)" "1 $u1 1" "of ten domains with one vGPU's UUID one wins"
is "$(cat "$work"/6?.err | says_times M_LEASED_TO "vm$winner")" 9 "the nine others are told who"
mapfile -t losers < <(seq 60 69 | grep -v "^$winner$")
leaves "their releases leave it to the winner" "$u1 1" at_once release end "${losers[@]}"
leaves "whose own releases it" 0 release "$work/$winner.xml"

### One domain's start and end, side by side
for round in $(seq 12); do
	at_once prepare begin 16 &
	sleep 0.0$((round % 4))
	release "$work/16.xml"
	wait
done
release "$work/16.xml"
holds "a prepare and a release of one domain at the same time leave no lease behind" eventually no_lease
is "$(devices)" "" "and no vGPU"

### A QEMU that dies slowly
settings 'driver_cleanup = 0'
in_use
in_ms 20000 0 "the release of a vGPU that is open ends within about release_wait" release
is "$(devices)$(states)" "$u1 1 releasing" "the vGPU stays, and waits to be released"
reports "it is nobody else's meanwhile" prepare <(another 2 | sed "s/${u1%??}02/$u1/") -- M_LEASED_TO one-vgpu
close_device
holds "when it is closed, gc releases it" eventually collected
is "$(devices)" "" "and it is gone"
in_use
release
(sleep 0.5; close_device) &
holds "a start in the meantime waits until it is closed, and takes it over" prepare
wait
is "$(devices)$(states)" "$u1 1 active" "with the device still in it"
sleep 1
is "$(devices)$(states)" "$u1 1 active" "and nobody takes it away any more"
release

### A removal that takes its time
control remove_delay_ms 6000
prepare
in_ms 5500 0 "a release waits for a removal that takes long no longer than about release_wait" release
is "$(leases)" 1 "the lease stays until it is done"
holds "then it is dropped" eventually collected
control remove_delay_ms 0

### A creation that takes too long
settings 'driver_cleanup = 0' 'create_timeout = 1' 'lock_timeout = 1'
control create_delay_ms '0000:84:00.0 8000'
reports "a creation that hangs ends in a refusal" prepare -- M_CREATE_HANGS 0000:84:00.0 nvidia-222 1
is "$(grep -c '^create ' "$root/.kernel/control/pending")" 1 "while the driver is still at it"
# What follows is to be created in time, however busy the machine is.
settings 'driver_cleanup = 0' 'create_timeout = 60' 'lock_timeout = 1'
is "$(states)" "1 creating" "its lease stays for whoever collects it"
is "$(prepare 2>&1)" "$(message M_REFUSED vm "$u1" "$(message M_BUSY_CREATING 0000:84:00.0)")" \
	"another start of the domain waits for it, and is refused after lock_timeout"
is "$(states)" "1 creating" "the lease stays all the same"
holds "another domain's start takes the next card after lock_timeout" prepare "$work/16.xml"
is "$(parent_of "$(numbered 16)")" 0000:85:00.0 "that has capacity"
eventually idle
control create_delay_ms '0000:84:00.0 0'
release "$work/16.xml"
holds "the next start of the domain takes it over when it is there" prepare
is "$(devices)$(states)" "$u1 1 active" "and makes no other"
leaves "it is ours, and goes at release" 0 release
control params_delay_ms 6000
settings 'driver_cleanup = 0' 'create_timeout = 2' 'lock_timeout = 1'
reports "parameters that the driver does not take end in a refusal" \
	prepare <(asking "uuid='$u1' params='frame_rate_limiter=0'") -- M_PARAMS_HANG "0000:84:00.0, 0000:85:00.0" 2
is "$(devices)$(leases)" 0 "and nothing is left of it"
control params_delay_ms 0
settings 'driver_cleanup = 0' 'create_timeout = 60' 'lock_timeout = 4'
for card in 84 85; do flock "$(card_lock 0000:$card:00.0)" true; done # until nobody is at it any more
in_ms 7500 1 "a start that can have no card's lock ends after one lock_timeout for all of them" \
	with_lock "$(card_lock 0000:84:00.0)" with_lock "$(card_lock 0000:85:00.0)" prepare
holds "as it is refused" says M_NO_CAPACITY "$(message M_ONLY_TYPE nvidia-222)" -- M_HELD_BY <"$work/out"
### Whoever waits for the lock lets its holder run
flock "$root/run/vgpu-lease/lock" sleep 4 &
holder=$!
eventually is_locked "$root/run/vgpu-lease/lock"
prepare &
sleep 2
looks=$(awk '/^voluntary/ { print $2 }' "/proc/$(pgrep -f "^$builddir/hooks/qemu --root $root")/status")
holds "a start that waits for the lock looks at most 100 times in two seconds ($looks)" test "$looks" -le 100
wait $! $holder
release
eventually no_lease

### A queue that moves: others hold the lock for longer than lock_timeout, and lease meanwhile
settings 'driver_cleanup = 0' 'lock_timeout = 2'
prepare 16
other=$root/run/vgpu-lease/leases/$(numbered 16)
# others_lease TIMES: holds the lock, and changes another domain's lease each fifth of a second.
others_lease() {
	local i
	exec 9>"$root/run/vgpu-lease/lock"
	flock 9
	touch "$work/held"
	for ((i = 0; i < $1; i++)); do
		sleep 0.2
		sed "s/^since_ms=.*/since_ms=$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)/" "$other" >"${other%/*}/.new"
		mv "${other%/*}/.new" "$other"
	done
}
others_lease 15 &
wait_for_it() { until [ -e "$work/held" ]; do sleep 0.02; done; }
wait_for_it
holds "a start waits longer than lock_timeout while leases of others change" prepare
wait $!
release
rm "$work/held"
others_lease 60 &
wait_for_it
reports "but not longer than four times" prepare -- M_HELD_BY "an unknown process for over 8"
wait $!
release 16

### A release that cannot even say that it requests something
settings 'driver_cleanup = 0' 'start_grace = 1'
prepare
in_ms 20000 0 "a release that does not get the leases' lock ends within about release_wait" \
	with_lock "$root/run/vgpu-lease/lock" release
is "$(states)" "1 active" "its lease is as it was until then"
holds "when the lock is free, gc releases what belongs to no running domain" eventually collected
is "$(devices)" "" "the device is removed, too"
settings 'driver_cleanup = 0' 'create_timeout = 1'
control create_delay_ms 2000
prepare 2>/dev/null
release
eventually idle
holds "after a release it is collected as soon as it is there" eventually collected
is "$(devices)" "" "and removed"

### Eight cards
new_host t4:8
settings 'driver_cleanup = 0'
control create_delay_ms 1500
prepare 2>/dev/null &
start=$!
eventually pending create
rm "$root"/run/vgpu-lease/leases/*
wait $start
is "$?|$(devices)|$(leases)" "1||0" "a start whose lease somebody removes while its device is created leaves nothing"
prepare 2>/dev/null &
start=$!
eventually pending create
rm -rf "$root/run/vgpu-lease"
wait $start
is "$?|$(devices)|$(leases)" "1||0" "so does one during which somebody removes the whole state"
settings 'placement = spread' 'create_timeout = 120' 'lock_timeout = 60'
control create_delay_ms 10000
at_once prepare begin $(seq 16 23) &
starts=$!
holds "eight cards create eight vGPUs beside each other: the driver is at all of them at once" \
	eventually prints 8 grep -c '^create ' "$root/.kernel/control/pending"
wait $starts
is "$(with_status 0 $(seq 16 23) | wc -l)" 8 "and eight domains start"
tap_done
