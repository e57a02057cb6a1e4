#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What systemd hears of the device handler: that it is ready, how it is, that it is alive, reloads and ends.
. "$(dirname "$0")/../../lib/leased.sh"
host t4 nvidia-222

# The socket of a notification takes datagrams as that of a journal does.
heard=$work/heard
python3 "$srcdir/tests/lib/journald.py" "$work/notify" >"$heard" &
listener=$!
stop_listening() { kill "$listener" 2>/dev/null; stop_all; }
trap stop_listening EXIT
hears() { grep -qE "^$1$" "$heard"; } # PATTERN
holds "somebody listens" eventually test -S "$work/notify"

NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=1000000 start
holds "that it is ready" eventually hears READY=1
holds "how things are, in one line" eventually hears 'STATUS=.*[0-9]+ vGPUs? leased, [0-9]+ foreign'
holds "that it is alive, twice in the time that systemd waits" eventually hears WATCHDOG=1
goes_on() { [ "$(grep -c '^WATCHDOG=1$' "$heard")" -ge 4 ]; }
holds "and goes on saying so" eventually goes_on
: >"$heard"
kill -HUP "$daemon"
holds "that it reloads" eventually hears RELOADING=1
holds "and since when" eventually hears 'MONOTONIC_USEC=[0-9]{6,}'
holds "that it is ready again" eventually hears READY=1
stop
holds "that it ends" eventually hears STOPPING=1

# libvirt starts when the handler is ready, so a connection to its socket waits for that.
mkfifo "$work/hangs"
prepare
libvirt_runs one-vgpu <"$vm"
: >"$heard"
NOTIFY_SOCKET=$work/notify start --connect "test://$work/hangs"
holds "it is ready before it asks libvirt, whatever there is to ask" eventually hears READY=1
stop
rm "$root/run/libvirt/qemu/one-vgpu.xml"

start
holds "without systemd it says nothing, and runs" runs
stops "and ends"
tap_done
