#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What never answers: a driver, or the storage of one definition. Each command ends in its time, and leaves no pile of processes.
. "$(dirname "$0")/../../lib/cli.sh"
# in_time SECONDS ARGUMENT...: the command, whatever its verdict, ends by itself.
in_time() { timeout -k 1 "$@" >"$tmp/out" 2>&1 || [ $? -lt 124 ]; }
hanging() { pgrep -c -f "$builddir/.*--root $root" || :; }
# answers SENTENCE: the driver does, and what hung ends.
answers() { control hang clear && holds "$1" eventually prints 0 hanging; }

### A driver: twenty commands are no twenty processes
host l40s/4 nvidia-1147 policy 'driver_cleanup = 0'
start_vf 1 0000:26:00.4
control hang "current_vgpu_type any"
for command in list 'gc --dry-run' inventory check status; do
	ended=0
	for _ in 1 2 3 4 5; do
		! in_words in_time 10 "$builddir/vgpu-lease" --root "$root" "$command" || ended=$((ended + 1))
	done
	is "$ended" 5 "$command ends each time while a driver hangs"
done
holds "and one process waits for that driver, or two" [ "$(hanging)" -le 2 ]
answers "which end when it answers"
vl inventory
fails "and then it is asked again" says M_NO_ANSWER <<<"$out"

### A driver that is asked for the name of a type, by starts that are refused
root=$tmp/names
host t4 nvidia-222 policy 'lock_timeout = 3' 'metrics = yes'
domain 3 "$(uuid 3)" 'GRID T4-1Q' >"$tmp/named.xml"
control hang "name any"
for op in prepare migrate restore prepare migrate restore; do
	in_time 10 "$hook" --root "$root" -- vm3 $op begin - <"$tmp/named.xml"
done
holds "refused starts leave no process each" [ "$(hanging)" -le 2 ]
answers "and the one that waits ends when the driver answers"

four_passes() { # SENTENCE: the handler makes passes, each of which meets the driver that hangs
	start_handler
	for _ in 1 2 3 4; do sleep 2.5 && kill -HUP "$handler"; done
	sleep 2.5
	holds "$1" [ "$(hanging)" -le 3 ]
	stop_handler
}

### A driver that only the handler's metrics ask
control hang "available_instances any"
four_passes "four passes of the handler leave no process each"
answers "and the one that waits ends when the driver answers"

### Passes that fail, because a later version has written a lease
root=$tmp/later
host l40s/4 nvidia-1147
mkdir -p "$root/run/vgpu-lease/leases"
echo "vgpu-lease 99" >"$root/run/vgpu-lease/leases/$(uuid 4)"
control hang "current_vgpu_type any"
four_passes "four passes that fail leave no process each"
control hang clear

### The storage of a definition, which is a link to it
storage=$tmp/storage
"$sim" "$storage" t4 || exit
root=$tmp/second
host t4:2 nvidia-222 policy 'reclaim_grace = 0' 'start_grace = 1' 'lock_timeout = 3'
mkdir -p "$root/etc/libvirt/qemu"
ln -s "$storage/sys/class/mdev_bus/0000:84:00.0/mdev_supported_types/nvidia-222/name" "$root/etc/libvirt/qemu/x.xml"
echo "name any" >"$storage/.kernel/control/hang"
for n in 1 2; do create 0000:84:00.0 nvidia-222 $n; done
for command in 'gc --dry-run' 'gc --unused' check list "show $(uuid 1)" status; do
	holds "$command ends in time while a definition's storage hangs" in_words in_time 8 "$builddir/vgpu-lease" --root "$root" "$command"
done
is "$(exists 1 && exists 2 && echo both)" both "and what that definition may name is not removed"
domain 3 "$(uuid 3)" nvidia-222 >"$tmp/3.xml"
for op in migrate restore prepare; do
	holds "$op ends in time" in_time 8 "$hook" --root "$root" -- vm3 $op begin - <"$tmp/3.xml"
done
holds "and so does release" in_time 8 "$hook" --root "$root" -- vm3 release end - <"$tmp/3.xml"
start_handler
looked() { says M_FOREIGN_DEVICE "$(uuid 1)" <"$log"; }
holds "the handler's pass ends in time" eventually looked
kill "$handler"
holds "and it ends when it is told" eventually test ! -e "/proc/$handler/exe"
echo clear >"$storage/.kernel/control/hang"
vl gc --unused
none_left() { ! exists 1 && ! exists 2; }
holds "once the storage answers, what no definition names is" eventually none_left

### What cannot be seen is neither there nor gone, and nothing goes on it
vf=0000:26:00.4
record=$root/run/vgpu-lease/leases/$vf
new_host l40s/4 nvidia-1147 policy 'driver_cleanup = 0'
state() { sed -n 's/^state=//p' "$record"; }
# outcome SENTENCE STATUS OUTCOME: what gc makes of the only lease.
outcome() { vl_json "$1" "$2 $3" '.items[].outcome' gc; }

start_vf 1 $vf
control hang "current_vgpu_type any"
outcome "gc leaves a vGPU whose driver does not answer" 0 stays
is "$(state)" active "and its lease as it is"
holds "and says why" says M_PRESENCE_UNKNOWN 0000:26:00.0 <<<"$out"
vl_json "list shows it" "0 active" '.leases[0].state' list
fails "and advises no gc for it" says M_GC_COLLECTS <<<"$out"
control hang clear
vl gc
is "$(state)" active "once the driver answers, gc keeps what was leased a moment ago"
is "$(vf_type $vf)" 1147 "and the vGPU is there"

sed -i 's/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/' "$record"
control hang "current_vgpu_type any"
outcome "a release that is due waits until the driver answers" 0 stays
is "$(state)" releasing "as it is"
control hang clear
# Nobody asks the driver before the process that hung has ended.
is_done() { vl gc --json; [ "$status $(jq -r '.items[].outcome' <<<"$out")" = "0 removed" ]; }
holds "and is done then" eventually is_done

### A creation that hangs: gc cannot do anything about what waits for it
root=$tmp/mdevs
host t4 nvidia-222 policy 'release_timeout = 3' 'create_timeout = 1' 'driver_cleanup = 0'
control create_delay_ms 600000
call prepare begin 4 2>/dev/null
call release end 4
for command in 'list --json' check "show $(uuid 4)" 'gc --dry-run'; do
	in_words vl "$command"
	fails "$command advises no gc" grep -q "run 'vgpu-lease .*gc'\|^remove \| remove: " <<<"$out"
	[ "$command" = check ] || holds "but says what the release waits for" says M_GC_WAITS 0000:84:00.0 <<<"$out"
done
SECONDS=0
vl gc
holds "gc waits for it no longer than for a guest" [ $SECONDS -lt 8 ]
is "$status" 1 "and fails then"
holds "with the cause" says M_GC_GAVE_UP <<<"$out"
control create_delay_ms 0
holds "the write ends" eventually flock -n "$(card_lock 0000:84:00.0)" true
outcome "and gc releases it then" 0 removed

### A guest that ended without its release: what is said of its lease
sed -i '$a start_grace = 60' "$root/etc/vgpu-lease.conf"
guest 5
vl_json "of a guest that runs nothing is to be said" "0 null" '.leases[].note' list
rm "$root/run/libvirt/qemu/vm5.xml"
vl_prints "one that has ended is told, with when gc releases it" list --json -- M_DOMAIN_IDLE -- M_GC_LATER
fails "no gc is advised before" says M_GC_COLLECTS <<<"$out"
check_counts "and check says of none that it runs" 0 "vm5 runs"
age 5
vl_prints "gc is advised when it does" list --json -- M_GC_COLLECTS "$(message M_DOMAIN_ENDED)"
outcome "and does" 0 removed
tap_done
