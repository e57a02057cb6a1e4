#!/usr/bin/env bash
# The longest time that each operation of the hook can take: the table of vgpu-lease-hook(8), held for each with a driver, a lock or
# a process that keeps it waiting at one step after the other.
# shellcheck disable=SC2119 # Functions with arguments that may be left out.
# shellcheck source=tests/lib/hook.sh
. "${srcdir:?}/tests/lib/hook.sh"

lock=2 create=2 wait=1
host t4:6
configure <<-EOF
	[devices]
	enabled_mdev_types = nvidia-222
	[policy]
	placement = spread
	reclaim_grace = 0
	lock_timeout = $lock
	create_timeout = $create
	release_wait = $wait
	release_timeout = 5
	driver_cleanup = 0
EOF
mapfile -t cards < <(cd "$root/sys/class/mdev_bus" && printf '%s\n' *)
# The table: what comes behind the configured times is for undoing, and for a look at the host that has just begun.
limit() {
	case $1 in
	prepare) echo $((lock + create + 4)) ;;
	migrate | restore | reconnect) echo $((lock + 4)) ;;
	release) echo $wait ;;
	esac
}
# row OPERATION STEP STATUS COMMAND...: it ends within the table's time (and a bit, for a busy machine), with this status.
row() {
	local operation=$1 step=$2 expected=$3 start status took most
	shift 3
	start=${EPOCHREALTIME/./}
	"$@" >/dev/null 2>"$work/err"
	status=$?
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
	most=$(($(limit "$operation") * 1000 + 400))
	echo "# $operation: $step: $took ms of $most"
	holds "$operation: $step: it ends in time" [ $took -le $most ]
	is "$status" "$expected" "$operation: $step: its status"
}
op() { hook vm "$1" "$2" - <"${3:-$vm}"; }
no_lease() { [ "$(leases)" = 0 ]; }
held=()
hold() { # FILE: its lock, until let_go
	mkdir -p "$(dirname "$1")"
	(exec 8>"$1" && flock 8 && exec sleep 600) >/dev/null 2>&1 &
	holder=$!
	until ! flock -n "$1" true; do sleep 0.02; done
}
let_go() { kill "$holder" && wait "$holder" 2>/dev/null; }
anew() { end_host && rm -rf "$root/run/vgpu-lease" && start_host t4:6; }

### The driver
prepare && release && eventually no_lease
control create_delay_ms 60000
row prepare "a creation that hangs" 1 op prepare begin
control create_delay_ms 0
anew
sed "s|</name>|&<metadata><v:lease xmlns:v='urn:vgpu-lease:domain:1'><v:device uuid='$u1' params='frame_rate_limiter=0'/></v:lease></metadata>|" \
	"$vm" >"$work/params.xml"
control params_delay_ms 60000
row prepare "a write of parameters that hangs" 1 op prepare begin "$work/params.xml"
anew
control params_delay_ms 60000
control remove_delay_ms 60000
row prepare "the undo of it, which hangs too" 1 op prepare begin "$work/params.xml"
anew
# The locks of all pGPUs are let go shortly before lock_timeout, and then no driver answers any more.
for card in "${cards[@]}"; do hold "$root/run/vgpu-lease/pgpu/$card.lock"; held+=("$holder"); done
(
	sleep "$((lock - 1)).7"
	control hang "available_instances any"
	kill "${held[@]}"
) &
row prepare "a read right before the creation" 1 op prepare begin
wait $!
held=()
control hang clear
anew

### The locks
prepare && release && eventually no_lease
hold "$root/run/vgpu-lease/lock"
row prepare "the store's lock" 1 op prepare begin
row migrate "the store's lock" 1 op migrate begin
row restore "the store's lock" 0 op restore begin
row reconnect "the store's lock" 0 op reconnect begin
row release "the store's lock" 0 op release end
let_go
prepare
for card in "${cards[@]}"; do hold "$root/run/vgpu-lease/pgpu/$card.lock"; held+=("$holder"); done
another 2 >"$work/2.xml"
row prepare "the locks of all cards" 1 op prepare begin "$work/2.xml"
row release "the lock of its card" 0 op release end
for holder in "${held[@]}"; do let_go; done
eventually no_lease

### Orphans that are removed slowly
i=0
for card in "${cards[@]}"; do
	i=$((i + 1))
	make_device "$card" nvidia-234 "00000000-0000-4000-8000-00000000000$i"
done
control remove_delay_ms 6000
row prepare "six orphans that are removed slowly" 1 op prepare begin
control remove_delay_ms 0
anew

### Its device, which somebody has open still
prepare
open_device "$u1"
release
row prepare "its device, which is open" 1 op prepare begin
row release "its device, which is open" 0 op release end
close_device
eventually no_lease

### Several vGPUs on several cards, which are removed slowly
sed "s/<\/devices>/$(for n in 02 03 04; do sed -n '/<hostdev/,/<\/hostdev>/p' "$vm" | sed "s/${u1%??}../${u1%??}$n/" | tr -d '\n' | sed 's/[\/&]/\\&/g'; done)<\/devices>/" "$vm" >"$work/4.xml"
prepare "$work/4.xml"
is "$(leases)" 4 "a domain has four vGPUs"
control remove_delay_ms 900
row release "four vGPUs that are removed slowly" 0 op release end "$work/4.xml"
control remove_delay_ms 0
holds "the hook's child releases all of them" eventually no_lease

### VFs that take a type
end_host
rm -rf "${root:?}"
host l40s/4:2
configure <<-END
	[devices]
	enabled_mdev_types = nvidia-1155
	[policy]
	lock_timeout = $lock
	create_timeout = $create
	release_wait = $wait
END
with_vf >"$work/vf.xml"
prepare "$work/vf.xml"
hold "$root/run/vgpu-lease/pgpu/0000:26:00.0.lock"
(
	sleep "$((lock - 1)).7"
	control hang "current_vgpu_type any"
	kill "$holder"
) &
row prepare "a read of what the domain has, at the end" 1 op prepare begin "$work/vf.xml"
wait $!
row release "a read before the removal" 0 op release end "$work/vf.xml"
control hang clear
eventually no_lease
control create_delay_ms 500
(
	eventually grep -q '^create' "$root/.kernel/control/pending"
	control hang "current_vgpu_type any"
) &
row prepare "a read after the type was written" 1 op prepare begin "$work/vf.xml"
wait $!
control hang clear
tap_done
