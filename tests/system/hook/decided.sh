#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the hook decides, as the log tells it at debug level: a story in the words of `vgpu-lease plan`. And a log that is full.
. "$(dirname "$0")/../../lib/hook.sh"
a=0000:84:00.0 b=0000:85:00.0
u2=$(numbered 2) u3=$(numbered 3)
host t4:2 nvidia-234 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'create_timeout = 60'
log_here
# told SENTENCE <LINES: these are what the log has since the last call. It may take them a moment later.
told() {
	local lines n
	lines=$(cat)
	n=$(($(wc -l <<<"$lines") + since))
	eventually has_lines "$n"
	is "$(story | tail -n "+$((since + 1))")" "$lines" "$1"
	since=$n
}
story() { logged | grep -aE '^(prepare|release): '; }
has_lines() { [ "$(story | wc -l)" -ge "$1" ]; }
since=0

lease plan "$vm" >"$work/plan"
prepare
told "a start logs what it does and why, and why not elsewhere, before it has done it" <<END
prepare: domain one-vgpu: create $u1, nvidia-234 on $a (the first with capacity)
prepare: domain one-vgpu: not on $b: also suitable; ranked lower
prepare: domain one-vgpu: created $u1, nvidia-234 on $a
END
is "$(logged | sed -nE 's/^prepare: domain one-vgpu: (create |not on )/\1/p')" "$(cat "$work/plan")" "in the words of plan"
is "$(logged | grep -aA 12 '^prepare: .*: create ' | grep -axm 1 7)" 7 "at debug level"

make_orphan $b nvidia-234 "$u2"
prepare 3
told "what has to go first, and what follows from that" <<END
prepare: domain vm3: remove $u2, nvidia-234 on $b (orphan)
prepare: domain vm3: create $u3, nvidia-234 on $b (once orphan $u2 is removed)
prepare: domain vm3: not on $a: full (1 of 1 in use)
prepare: domain vm3: removed orphan $u2 (nvidia-234 on $b) to free capacity
prepare: domain vm3: create $u3, nvidia-234 on $b (the only one with capacity)
prepare: domain vm3: not on $a: full (1 of 1 in use)
prepare: domain vm3: created $u3, nvidia-234 on $b
END

release 3
control create_delay_ms "$b 1500"
prepare 3 &
eventually pending create
prepare 3
wait $!
told "what it waits for, once" <<END
release: domain vm3: released $u3
prepare: domain vm3: create $u3, nvidia-234 on $b (where it was before)
prepare: domain vm3: not on $a: full (1 of 1 in use)
prepare: domain vm3: wait: vGPU $u3: still being created or removed on $b; see dmesg, and try again once that has ended
prepare: domain vm3: created $u3, nvidia-234 on $b
prepare: domain vm3: keep $u3, nvidia-234 on $b (the domain's already)
prepare: domain vm3: adopted $u3, nvidia-234 on $b
END

configure nvidia-234 policy 'driver_cleanup = 0' 'release_wait = 0'
release 3
told "with release_wait = 0 a release leaves all of it, and says so where no handler does" <<END
release: domain vm3: $u3: not released yet: release_wait is 0; run 'vgpu-lease --root $root gc'
END
is "$(lease_has state "$u3") $(devices | grep -c "$u3")" "releasing 1" "it has waited for no driver"

### A log that is full: nobody waits for it
kill -KILL "$journald"
new_host t4:1 nvidia-222 policy 'driver_cleanup = 0'
log_here
# fill: the log, which reads nothing, takes no more. One sender has a limit of its own, which can be less.
fill() {
	kill -STOP "$journald"
	python3 -c 'import socket, sys
for _ in range(20):
    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    filler.connect(sys.argv[1])
    try:
        while True:
            filler.send(b"")
    except BlockingIOError:
        pass' "$socket"
}
took() { [ "$(logged | grep -cxE 'MESSAGE|drained')" = "$1" ]; } # N: so many messages

holds "it is full" fill
holds "a start does not wait for a log that is full" prepare
holds "nor the next" prepare 2
rm "$root/run/vgpu-lease/leases/$u1"
holds "nor a reconnect that restores a lease" hook vm reconnect begin - <"$vm"
is "$(leases)" 2 "which is there then"
holds "nor a release" release 2
is "$(leases)" 1 "which is done"
kill -CONT "$journald"
python3 "$srcdir/tests/lib/journald.py" "$socket" $'MESSAGE=drained\n'
holds "what they have done is in no log" eventually took 1
holds "once the log takes messages again, a third starts" prepare 3
third_is_told() { took 3 && [ "$(logged | grep -c 'domain vm3: create')" = 2 ]; } # how it was decided, and what was done
holds "which is the first that it says" eventually third_is_told
tap_done
