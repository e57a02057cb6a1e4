#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A driver that hangs in a read: the card is passed over, the others serve, and nobody waits without a bound.
. "$(dirname "$0")/../../lib/hook.sh"
a=0000:84:00.0 b=0000:85:00.0
settings() { configure "${2:-nvidia-222}" policy "lock_timeout = $1" 'driver_cleanup = 0' 'create_timeout = 3'; }
u2=${u1%??}02

# lets_go: the driver answers; whoever hung ends.
lets_go() { control hang clear && eventually prints 0 hanging; }
# The processes that hang in a read of the simulated host: children of hooks that have ended.
hanging() { pgrep -c -f "^$builddir/hooks/qemu --root $root" || :; }

host t4:2
settings 3
for attribute in available_instances name description device_api; do
	end_host && host t4:2 && control hang "$attribute $a"
	in_ms 4000 0 "a card hangs in a read of $attribute: the start is served, in time" prepare
	is "$(parent_of "$u1")" "$b" "by the other card"
	in_ms 2000 0 "its release ends in time" release
	lets_go
	eventually no_lease
done

end_host && host t4:1+mtty
control hang "device_api mtty"
in_ms 5000 0 "a virtual parent hangs: the start is served, in time" prepare
in_ms 2000 0 "its release ends in time" release
lets_go
end_host && host t4:2

### A card that hangs when it is to create: another one serves
rm "$root/var/lib/vgpu-lease/affinity/$u1" # it would choose the other card
exec 7>"$(card_lock "$a")"
flock 7
(sleep 0.7; control hang "available_instances $a"; flock -u 7) &
counted=$!
in_ms 6000 0 "a card hangs in the count right before the creation: it does not keep the start waiting" prepare
is "$(parent_of "$u1")" "$b" "another one serves"
wait $counted
exec 7>&-
is "$(hanging) $(flock -n "$(card_lock "$a")" echo free)" "1 free" "and nobody keeps the lock of the card that hangs"
release
lets_go

### Nobody waits twice for the same card
control hang "available_instances $a"
in_ms 4000 0 "a card hangs once more: the start is served, in time" prepare
before=$(hanging)
settings 600 # one that waits is not over in time
in_ms 60000 0 "the next start does not wait for the card that hangs" prepare 2
is "$(parent_of "$u2")" "$b" "and is on the other"
is "$(hanging)" "$before" "nor does it ask that card: no other process waits for an answer"
settings 3
in_ms 4000 0 "reconnect ends in time" reconnect
in_ms 9000 0 "inventory ends in time" lease inventory --json
is "$(says_times M_NO_ANSWER <"$work/out")" 1 "and says of that card that it does not answer"
lets_go
rm "$root/run/vgpu-lease/leases/$u1"
control hang "available_instances any"
in_ms 5000 0 "all cards hang: a reconnect ends in time" reconnect
is "$(leases)" 2 "and restores a lease that was lost"
lets_go

control hang "available_instances any"
in_ms 8000 1 "all cards hang: the start is refused, in time" prepare 3
is "$(says_times M_NO_ANSWER_READS <"$work/out")" 1 "for this reason"
is "$(flock -n "$root/run/vgpu-lease/lock" echo free)" free "and nobody keeps the store's lock"
lets_go
holds "once they answer, it is served" prepare 3
release 3

control hang "available_instances any"
(sleep 1.5; lets_go) &
holds "cards that answer within lock_timeout are waited for" prepare 3
wait $!
for n in 3 2; do release $n; done
release
eventually no_lease

control hang "available_instances any"
prepare 2>/dev/null &
killed=$!
eventually is_locked "$root/run/vgpu-lease/lock"
# The hook is the child of the shell that runs it.
pkill -9 -P $killed
wait $killed 2>/dev/null
is "$(flock -n "$root/run/vgpu-lease/lock" echo free)" free "a hook that is killed while it waits leaves no lock behind"
lets_go

### A creation that hangs: a start that waits for the card takes another one
new_host t4:2 nvidia-222 policy 'driver_cleanup = 0' 'create_timeout = 6'
then_is "a card is preferred, as the fullest" "$a" "parent_of $(numbered 4)" prepare 4
control create_delay_ms "$a 8000"
prepare 5 2>/dev/null &
hung=$!
eventually pending create
in_ms 4500 0 "a creation hangs on it: the start that waits for it is served within seconds" prepare 6
is "$(parent_of "$(numbered 6)")" "$b" "by the other card"
fails "and no failure of the card is recorded" test -e "$root/run/vgpu-lease/failed/$a"
wait $hung
control create_delay_ms "$a 0"
for n in 4 6; do release $n; done
eventually collected
# Where no other card has capacity, a busy one is waited for, as long as its driver may end.
for card in "$a" "$b"; do control create_delay_ms "$card 2500"; done
for n in 5 6 7; do prepare $n 2>>"$work/out" & done
wait
is "$(leases) $(states)" "3 3 active" "three starts at once on two slow cards: each is served"
for n in 5 6 7; do release $n; done
eventually collected
for card in "$a" "$b"; do control create_delay_ms "$card 600000"; done
for n in 5 6; do prepare $n 2>/dev/null & done
wait
in_ms 8000 1 "all cards hang in a creation: the next start is refused within seconds" prepare 7
is "$(says_times M_LOCK_INHERITED <"$work/out")" 1 "because of the children that hang"
sleep 2 # until both have hung for longer than any creation lasts
another 8 >"$work/8.xml"
in_ms 8000 1 "so is who comes later" prepare "$work/8.xml"
is "$(lease plan "$work/8.xml" 2>&1 | tail -n 1 | says_times M_LOCK_INHERITED)" 1 "as plan has said"
control create_delay_ms 0
end_host

host l40s/4:2
settings 3 nvidia-1155
with_vf >"$work/vf.xml"
for attribute in current_vgpu_type creatable_vgpu_types; do
	control hang "$attribute any"
	in_ms 9000 1 "VFs hang in a read of $attribute: the start is refused, in time" prepare "$work/vf.xml"
	is "$(says_times M_NO_ANSWER <"$work/out")" 1 "for this reason"
	lets_go
done

### What a creation that hung has made is used by the next start, with its parameters
printf '[mdev_nvidia-1155]\ndevice_match = 10de:26b9\nvgpu_params = frame_rate_limiter=0\n' >>"$root/etc/vgpu-lease.conf"
vf=$root/sys/bus/pci/devices/0000:26:00.4/nvidia
control create_delay_ms "0000:26:00.0 4500"
in_ms 9000 1 "a creation hangs: the start is refused, in time" prepare "$work/vf.xml"
eventually grep -qx 1155 "$vf/current_vgpu_type"
holds "once it has ended, the domain starts" prepare "$work/vf.xml"
is "$(cat "$vf/vgpu_params")" frame_rate_limiter=0 "with the configured parameters"
sed -i 's/^vgpu_params = .*/vgpu_params = frame_rate_limiter=1/' "$root/etc/vgpu-lease.conf"
holds "while it has the VF, it can be prepared once more" prepare "$work/vf.xml"
is "$(cat "$vf/vgpu_params")" frame_rate_limiter=0 "which writes no parameters: what is whole is left as it is"

### A VF beside one whose creation hangs
new_host l40s/4 nvidia-1155 policy 'driver_cleanup = 0' 'create_timeout = 3'
vf_domain 2 0000:26:00.5 no nvidia-1155 >"$work/2.xml"
control create_delay_ms "0000:26:00.0 14000"
prepare "$work/vf.xml" 2>/dev/null &
in_ms 9000 1 "a creation hangs: a VF of the same card is refused before lock_timeout" prepare "$work/2.xml"
in_ms 4000 1 "and who comes later within seconds" prepare "$work/2.xml"

### The age of a pGPU's lock is that of its driver's work: no start keeps the lock while it waits for the store's
new_host t4:1 nvidia-222 policy 'create_timeout = 6' 'driver_cleanup = 0'
control create_delay_ms 2500
for n in 1 2; do prepare $n 2>>"$work/out" & done
(sleep 2.3 && flock "$root/run/vgpu-lease/lock" sleep 8.2) &
wait
is "$(states)" "2 active" "both are served where the first has its vGPU before it has the lock"
tap_done
