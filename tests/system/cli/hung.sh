#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What never answers: a driver, or the storage of one definition. Each command ends in its time, and leaves no pile of processes.
. "$(dirname "$0")/../../lib/cli.sh"

# in_time SECONDS ARGUMENT...: the command, whatever its verdict, ends by itself.
in_time() {
	local seconds=$1
	shift
	timeout -k 1 "$seconds" "$@" >"$tmp/out" 2>&1
	[ $? -lt 124 ]
}
hanging() { pgrep -c -f "$builddir/.*--root $root" || :; }
nobody_hangs() { [ "$(hanging)" = 0 ]; }

### A driver: twenty commands are no twenty processes
host l40s/4
configure nvidia-1147 policy 'driver_cleanup = 0'
vf_domain 1 0000:26:00.4 | "$hook" --root "$root" -- vm1 prepare begin -
control hang "current_vgpu_type any"
for command in list 'gc --dry-run' inventory check status; do
	ended=0
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2086 # The words of a command line.
		! in_time 10 "$builddir/vgpu-lease" --root "$root" $command || ended=$((ended + 1))
	done
	is "$ended" 5 "$command ends each time while a driver hangs"
done
holds "and one process waits for that driver, or two" [ "$(hanging)" -le 2 ]
control hang clear
holds "which end when it answers" eventually nobody_hangs
vl inventory
fails "and then it is asked again" says M_NO_ANSWER <<<"$out"

### A driver that is asked for the name of a type, by starts that are refused
root=$tmp/names
host t4
configure nvidia-222 policy 'lock_timeout = 3' 'metrics = yes'
domain 3 "$(uuid 3)" 'GRID T4-1Q' >"$tmp/named.xml"
control hang "name any"
for op in prepare migrate restore prepare migrate restore; do
	in_time 10 "$hook" --root "$root" -- vm3 $op begin - <"$tmp/named.xml"
done
holds "refused starts leave no process each" [ "$(hanging)" -le 2 ]
control hang clear
holds "and the one that waits ends when the driver answers" eventually nobody_hangs

four_passes() { # SENTENCE: the handler makes passes, each of which meets the driver that hangs
	local handler
	"$builddir/vgpu-leased" --root "$root" --foreground >/dev/null 2>"$tmp/leased" &
	handler=$!
	for _ in 1 2 3 4; do
		sleep 2.5
		kill -HUP $handler
	done
	sleep 2.5
	holds "$1" [ "$(hanging)" -le 3 ]
	kill $handler
	wait $handler
}

### A driver that only the handler's metrics ask
control hang "available_instances any"
four_passes "four passes of the handler leave no process each"
control hang clear
holds "and the one that waits ends when the driver answers" eventually nobody_hangs

### Passes that fail, because a later version has written a lease
root=$tmp/later
host l40s/4
configure nvidia-1147
mkdir -p "$root/run/vgpu-lease/leases"
echo "vgpu-lease 99" >"$root/run/vgpu-lease/leases/$(uuid 4)"
control hang "current_vgpu_type any"
four_passes "four passes that fail leave no process each"
control hang clear

### The storage of a definition, which is a link to it
storage=$tmp/storage
"$sim" "$storage" t4 || exit
root=$tmp/second
host t4:2
configure nvidia-222 policy 'reclaim_grace = 0' 'start_grace = 1' 'lock_timeout = 3'
mkdir -p "$root/etc/libvirt/qemu"
ln -s "$storage/sys/class/mdev_bus/0000:84:00.0/mdev_supported_types/nvidia-222/name" "$root/etc/libvirt/qemu/x.xml"
echo "name any" >"$storage/.kernel/control/hang"
for n in 1 2; do create 0000:84:00.0 nvidia-222 $n; done
for command in 'gc --dry-run' 'gc --unused' check list "show $(uuid 1)" status; do
	# shellcheck disable=SC2086 # The words of a command line.
	holds "$command ends in time while a definition's storage hangs" in_time 8 "$builddir/vgpu-lease" --root "$root" $command
done
is "$(exists 1 && exists 2 && echo both)" both "and what that definition may name is not removed"
for op in migrate restore prepare; do
	domain 3 "$(uuid 3)" nvidia-222 >"$tmp/3.xml"
	holds "$op ends in time" in_time 8 "$hook" --root "$root" -- vm3 $op begin - <"$tmp/3.xml"
done
holds "and so does release" in_time 8 "$hook" --root "$root" -- vm3 release end - <"$tmp/3.xml"
"$builddir/vgpu-leased" --root "$root" --foreground >/dev/null 2>"$tmp/leased" &
handler=$!
looked() { says M_FOREIGN_DEVICE "$(uuid 1)" <"$tmp/leased"; }
holds "the handler's pass ends in time" eventually looked
kill $handler
ended() { ! kill -0 $handler 2>/dev/null; }
holds "and it ends when it is told" eventually ended
echo clear >"$storage/.kernel/control/hang"
vl gc --unused
none_left() { ! exists 1 && ! exists 2; }
holds "once the storage answers, what no definition names is" eventually none_left
tap_done
