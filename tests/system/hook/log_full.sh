#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A log that is full: nobody waits for it.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1 nvidia-222 policy 'driver_cleanup = 0'
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
