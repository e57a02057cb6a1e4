#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The device handler's life: it finishes what hooks leave, whenever it is stopped, killed or started again. Beside a
# later version, too, and with systemd.
. "$(dirname "$0")/../../lib/leased.sh"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'release_timeout = 1' 'release_wait = 0'
hold_and_release() { in_use && release; }
leave_one() { hold_and_release && close_device; }

### Releases that a hook leaves
start
holds "it starts" runs
hold_and_release
is "$(state $u1)" releasing "a device that is open when its domain is released stays"
looks
holds "as long as it is open" test "$(devices)" = "$u1 "
is "$(pgrep -c -f "^$builddir/hooks/qemu --root $root" || :)" 0 "and no child of the hook is at it"
close_device
holds "when it is closed it is released" eventually gone
holds "which is said" eventually said M_RELEASED one-vgpu "$u1"
stops "it ends when it is told to"
fails "its lock is free then" runs
is "$(tail -n 1 "$log")" "$(message M_HANDLER_ENDS)" "it says so"

### Killed, and started again
start
hold_and_release
stop KILL
is "$(state $u1)" releasing "it is killed while a release waits"
close_device
start
holds "the next one finishes it" eventually gone

### The process of a pass, which waits for the lock here
waits_for_lock() { # its process ID is in $pass; one that ends has closed the lock
	pass=$(pgrep -o -P "$handler") && readlink "/proc/$pass/fd/"* 2>/dev/null | grep -qx "$root/run/vgpu-lease/lock"
}
kill_pass() { # again, where it killed one that had just ended
	waits_for_lock && kill -KILL "$pass"
	said M_PASS_KILLED
}
hold_lock() { exec 8<>"$root/run/vgpu-lease/lock" && flock 8; }
hold_lock
kill -HUP "$handler"
holds "a pass is made by another process" eventually waits_for_lock
holds "where that is killed, it is said" eventually kill_pass
exec 8<&-
before=$(passes)
kill -HUP "$handler"
holds "and another makes the next" eventually passed "$before"
leave_one
holds "releases do not depend on it" eventually gone
hold_lock
kill -HUP "$handler"
eventually waits_for_lock
stop KILL
holds "it ends with the handler" eventually test ! -e "/proc/$pass"
exec 8<&-
start

control remove_delay_ms 3000
prepare && release
holds "a removal that the kernel takes long for" eventually pending remove
stop KILL
fails "does not make a handler that was killed meanwhile look alive" runs
start
holds "a new one starts beside it" runs
holds "and finishes" eventually gone
control remove_delay_ms 0

### One at a time
fails "a second one does not start" "$leased" --root "$root"
holds "and says who has its place" says M_HANDLER_RUNS "$(message M_LOCK_HELD /run/vgpu-lease/handler.lock "$handler" 5)" \
	<<<"$("$leased" --root "$root" 2>&1)"

### The directory of the state is removed under it
kill -STOP "$handler" # so that no pass makes it again meanwhile
until rm -rf "$root/run/vgpu-lease" 2>/dev/null; do :; done
fails "without its directory nobody sees it" runs
kill -HUP "$handler"
kill -CONT "$handler"
holds "at its next pass it is there again" eventually runs
leave_one
holds "and finishes what is left to it" eventually gone

### The configuration
echo 'nonsense' >>"$root/etc/vgpu-lease.conf"
kill -HUP "$handler"
holds "a configuration with an error, read anew, is told of" eventually said M_CONF_KEPT
holds "and the daemon goes on" runs
sed -i '$d' "$root/etc/vgpu-lease.conf"
kill -HUP "$handler"
holds "once it is mended it is taken" eventually said M_CONF_RELOADED
stop
echo 'nonsense' >>"$root/etc/vgpu-lease.conf"
start
holds "with such a one it starts all the same" runs
holds "and says what it does not do" eventually said M_CONF_INVALID
sed -i '$d' "$root/etc/vgpu-lease.conf"
stop

### What no hook released
prepare
sed -i 's/^start_grace.*//; $a start_grace = 1' "$root/etc/vgpu-lease.conf"
start
holds "a lease whose domain is gone is released" eventually gone
make_device 0000:84:00.0 nvidia-222 $u1
kill -HUP "$handler"
holds "a foreign device is told of" eventually said M_FOREIGN_DEVICE "$u1" nvidia-222 0000:84:00.0
is "$(devices)" "$u1 " "and left alone"
remove_device $u1
stop

### What makes a pass before its time
another 2 >"$work/2.xml"
mkdir -p "$root/run/libvirt/qemu"
start
looks
before=$(passes)
hook vm2 migrate begin - <"$work/2.xml" >/dev/null
sleep 0.5
is "$(passes)" "$before" "a lease that appears is no news"
echo '<domstatus/>' >"$work/status"
mv "$work/status" "$root/run/libvirt/qemu/vm.xml"
holds "a domain that starts, or gets a device, is" eventually passed "$before"
before=$(passes)
rm "$root/run/libvirt/qemu/vm.xml"
holds "so is one that ends" eventually passed "$before"
sed -i 's/^start_grace.*//' "$root/etc/vgpu-lease.conf"
leave_one
holds "of two leases one is released" eventually is_state $u1 ''
is "$(state "$(numbered 2)")" reserved "and the reservation stays"
stop

### A lease of a later version, whose meaning has changed, beside the hook, the handler and gc of this one: starts are
# refused and say why; nothing else fails, and nothing is removed. The file is tests/unit/state/files/lease-2
new_host t4 nvidia-222 policy 'release_wait = 0' 'release_timeout = 1' 'driver_cleanup = 0'
later=c6f1a2b3-0000-4000-8000-00000000000a
file=$root/run/vgpu-lease/leases/$later
sed '/<hostdev/,/<\/hostdev>/d; /<metadata/,/<\/metadata>/d' "$vm" >"$work/plain.xml"
explains() { says M_LATER_LEASE "$later"; }
stays() { cmp -s "$file" "$srcdir/tests/unit/state/files/lease-2" && [ "$(leases) $(devices)" = "2 $u1 " ]; }

prepare || tap_bail_out "the first domain does not start"
cp "$srcdir/tests/unit/state/files/lease-2" "$file"

# What the hook says goes to its log as well; it ends with 0 where libvirt acts upon a failure.
err=$(prepare 2 2>&1) && err="it started"
holds "a start beside a lease of a later version is refused, and says which and what to do" explains <<<"$err"
holds "and leaves that lease and all others" stays
err=$(another 2 | migrate /dev/stdin 2>&1) && err="it arrived"
holds "so is an arrival" explains <<<"$err"
holds "a domain without a vGPU starts" prepare "$work/plain.xml"
holds "a running guest survives a restart of libvirt" hook vm reconnect begin - <"$vm"
is "$(another 2 | restore /dev/stdin 2>/dev/null; echo $?)" 0 "a saved one keeps its image, and its XML"
holds "a domain ends" release
holds "and its vGPU stays for the later version to release" stays

for words in "gc" "gc --dry-run" "retype 0000:84:00.0 nvidia-223"; do
	err=$(in_words lease "$words" 2>&1) && err="done"
	holds "$words says why it does nothing" explains <<<"$err"
done
holds "and does nothing" stays

start
holds "the handler runs, and says why it decides nothing" eventually said M_LATER_LEASE "$later"
kill -HUP "$handler"
sleep 1
holds "it removes nothing, either" stays
holds "and still runs" runs

# As the later version does, which reads it, when its domain ends.
rm "$file"
is "$(release && echo 0)" 0 "once that lease has ended, a domain's end"
holds "is the end of its vGPU again" eventually gone
holds "and a domain starts" prepare 2
stops "the handler ends as always"

### What systemd hears of the handler: that it is ready, how it is, that it is alive, reloads and ends
new_host t4 nvidia-222
# The socket of a notification takes datagrams as that of a journal does.
heard=$work/heard
python3 "$srcdir/tests/lib/journald.py" "$work/notify" >"$heard" &
listener=$!
stop_listening() { kill "$listener" 2>/dev/null; clean_up; }
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
kill -HUP "$handler"
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
