#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The longest time that each operation of the hook can wait: the table of vgpu-lease-hook(8), as it stands there, held for each with
# a driver, a lock or a process that keeps it waiting at one step after the other.
. "$(dirname "$0")/../../lib/hook.sh"
lock_timeout=30 create_timeout=10 release_wait=1 # the defaults
# table OPERATION: the manual's two columns: "lock_timeout + 4|34".
table() {
	sed -n "s/^\.It Cm $1 [a-z]* Ta \(.*\) Ta \([0-9]*\)$/\1|\2/p" "$srcdir/man/vgpu-lease-hook.8" | sed 's/\(Ic\|No\) //g'
}
for operation in prepare migrate restore reconnect release; do
	columns=$(table $operation)
	is $((${columns%|*})) "${columns#*|}" "$operation: the manual's column for the defaults is that of its formula"
done
lock_timeout=2 create_timeout=2
host t4:6
times=("lock_timeout = $lock_timeout" "create_timeout = $create_timeout" "release_wait = $release_wait")
configure nvidia-222 policy 'placement = spread' 'reclaim_grace = 0' 'release_timeout = 5' 'driver_cleanup = 0' "${times[@]}"
mapfile -t cards < <(cd "$root/sys/class/mdev_bus" && printf '%s\n' *)
# The table is of what the hook waits for: its own work, as a busy machine does it, comes on top.
own_ms=400
# row OPERATION STEP STATUS COMMAND...: it ends within the manual's time, with this status.
row() {
	local columns
	columns=$(table "$1")
	in_ms $(((${columns%|*}) * 1000 + own_ms)) "$3" "$1: $2: it ends in time, with $3" "${@:4}"
}
op() { hook vm "$1" "$2" - <"${3:-$vm}"; }
held=()
hold() { # FILE: its lock, until let_go
	mkdir -p "$(dirname "$1")"
	(exec 8>"$1" && flock 8 && exec sleep 600) >/dev/null 2>&1 &
	holder=$!
	eventually is_locked "$1"
}
let_go() { kill "$holder" && wait "$holder" 2>/dev/null; }
anew() { end_host && rm -rf "$root/run/vgpu-lease" && start_host t4:6; }

### The driver
prepare && release && eventually collected
control create_delay_ms 60000
row prepare "a creation that hangs" 1 op prepare begin
control create_delay_ms 0
anew
asking "uuid='$u1' params='frame_rate_limiter=0'" >"$work/params.xml"
control params_delay_ms 60000
row prepare "a write of parameters that hangs" 1 op prepare begin "$work/params.xml"
anew
control params_delay_ms 60000
control remove_delay_ms 60000
row prepare "the undo of it, which hangs too" 1 op prepare begin "$work/params.xml"
anew
# The locks of all pGPUs are let go shortly before lock_timeout, and then no driver answers any more.
for card in "${cards[@]}"; do hold "$(card_lock "$card")"; held+=("$holder"); done
(
	sleep "$((lock_timeout - 1)).7"
	control hang "available_instances any"
	kill "${held[@]}"
) &
meanwhile=$!
row prepare "a read right before the creation" 1 op prepare begin
wait $meanwhile
held=()
control hang clear
anew
for operation in migrate:1 restore:0; do
	expected=${operation#*:} operation=${operation%:*}
	control hang "available_instances any"
	row "$operation" "a read that hangs" "$expected" op "$operation" begin
	control hang clear
	anew
done

### The locks
prepare && release && eventually collected
hold "$root/run/vgpu-lease/lock"
row prepare "the store's lock" 1 op prepare begin
row migrate "the store's lock" 1 op migrate begin
row restore "the store's lock" 0 op restore begin
row reconnect "the store's lock" 0 op reconnect begin
row release "the store's lock" 0 op release end
let_go
prepare
for card in "${cards[@]}"; do hold "$(card_lock "$card")"; held+=("$holder"); done
row prepare "the locks of all cards" 1 prepare 2
row release "the lock of its card" 0 op release end
for holder in "${held[@]}"; do let_go; done
eventually collected

### Orphans that are removed slowly
for i in "${!cards[@]}"; do make_orphan "${cards[i]}" nvidia-234 "$(numbered $((64 + i)))"; done
control remove_delay_ms 6000
row prepare "six orphans that are removed slowly" 1 op prepare begin
control remove_delay_ms 0
anew

### Its device, which somebody has open still
in_use
release
row prepare "its device, which is open" 1 op prepare begin
row release "its device, which is open" 0 op release end
close_device
eventually collected

### Several vGPUs on several cards, which are removed slowly
sed "s|</devices>|$(for n in 2 3 4; do mdev_hostdev "$(numbered $n)"; done)&|" "$vm" >"$work/4.xml"
then_is "a domain has four vGPUs" 4 leases prepare "$work/4.xml"
control remove_delay_ms 900
row release "four vGPUs that are removed slowly" 0 op release end "$work/4.xml"
control remove_delay_ms 0
holds "gc releases all of them" eventually collected

### VFs that take a type
new_host l40s/4:2 nvidia-1155 policy "${times[@]}"
with_vf >"$work/vf.xml"
prepare "$work/vf.xml"
hold "$(card_lock 0000:26:00.0)"
(
	sleep "$((lock_timeout - 1)).7"
	control hang "current_vgpu_type any"
	kill "$holder"
) &
meanwhile=$!
row prepare "what the domain has, beside a creation that hangs" 0 op prepare begin "$work/vf.xml"
wait $meanwhile
row release "a read before the removal" 0 op release end "$work/vf.xml"
is "$(leases)" 1 "what was not removed keeps its lease"
control hang clear
eventually collected
control create_delay_ms 500
(
	eventually pending create
	control hang "current_vgpu_type any"
) &
meanwhile=$!
row prepare "a read after the type was written" 1 op prepare begin "$work/vf.xml"
wait $meanwhile
control hang clear
holds "once the driver answers, the domain starts" eventually prepare "$work/vf.xml"
control hang "current_vgpu_type any"
row reconnect "a read that hangs" 0 op reconnect begin "$work/vf.xml"
control hang clear
tap_done
