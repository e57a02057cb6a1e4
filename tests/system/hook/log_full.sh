#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A log that is full: nobody waits for it.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
configure nvidia-222 policy 'driver_cleanup = 0'
mkdir -p "${root:?}/run/systemd/journal"

# The journal: full from its beginning. For each line that it reads it prints the messages that have come, and an empty line, and
# is empty then.
coproc LOG {
	exec python3 -c '
import re, socket, sys
def made():
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
def fills():
    n = 0
    filler = made()
    filler.connect(sys.argv[1])
    try:
        while True:
            filler.send(b"")
            n += 1
    except BlockingIOError:
        return n
log = made()
log.bind(sys.argv[1])
# One sender has a limit of its own, which can be less.
while fills():
    pass
print(flush=True)
while sys.stdin.readline():
    try:
        while True:
            message = re.match(rb"MESSAGE\n.{8}([^\n]*)\n", log.recv(8192), re.S)
            if message:
                print(message[1].decode())
    except BlockingIOError:
        print(flush=True)
' "$root/run/systemd/journal/socket"
}
# came: what the log has taken since it was last asked.
came() {
	local line
	echo >&"${LOG[1]}"
	while IFS= read -r -t 20 line <&"${LOG[0]}" && [ -n "$line" ]; do echo "$line"; done
}
holds "there is a log, and it is full" read -r -t 20 -u "${LOG[0]}"
another 2 >"$work/2.xml"
another 3 >"$work/3.xml"

holds "a start does not wait for a log that is full" prepare
holds "nor the next" prepare "$work/2.xml"
rm "$root/run/vgpu-lease/leases/$u1"
holds "nor a reconnect that restores a lease" hook vm reconnect begin - <"$vm"
is "$(leases)" 2 "which is there then"
holds "nor a release" release "$work/2.xml"
is "$(leases)" 1 "which is done"
is "$(came)" "" "what they have done is in no log"
holds "once the log takes messages again, a third starts" prepare "$work/3.xml"
said=$(came)
is "$(grep -c vm3 <<<"$said")/$(wc -l <<<"$said")" 1/1 "which is the first that it says"
tap_done
