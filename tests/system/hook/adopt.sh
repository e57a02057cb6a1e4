#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The start of a domain whose vGPU exists already: it waits for a removal of that vGPU, and for nothing else on its pGPU.
. "$(dirname "$0")/../../lib/hook.sh"
host t4
configure nvidia-222 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'lock_timeout = 10'
card=0000:84:00.0
another 2 >"$work/2.xml"
another 3 >"$work/3.xml"
took() { # COMMAND...: the milliseconds that it takes; its status is in $work/status
	local began=${EPOCHREALTIME/./}
	"$@" >/dev/null 2>"$work/err"
	echo $? >"$work/status"
	echo $(((${EPOCHREALTIME/./} - began) / 1000))
}
pending() { grep -q "^$1" "$root/.kernel/control/pending"; }

### Beside creations on the same pGPU
make_device $card nvidia-222 $u1
control create_delay_ms 4000
prepare "$work/2.xml" &
first=$!
prepare "$work/3.xml" &
second=$!
holds "two creations wait for their driver" eventually pending create
ms=$(took prepare)
is "$(cat "$work/status") $(lease_has origin)" "0 adopted" "a vGPU that exists is adopted beside them"
holds "at once ($ms ms)" test "$ms" -lt 1500
wait $first $second
control create_delay_ms 0
release
release "$work/2.xml"
release "$work/3.xml"
is "$(devices)" "$u1 " "its release leaves it, and the others go"

### Beside a removal of that very vGPU
for_guest $u1 nvidia-222 $card
control remove_delay_ms 1500
lease gc >/dev/null &
gc=$!
holds "the vGPU is being removed as an orphan" eventually pending remove
ms=$(took prepare)
is "$(cat "$work/status") $(devices)" "0 $u1 " "a start that needs it is served all the same"
is "$(lease_has origin)" created "with a vGPU of its own, made when the removal was over ($ms ms)"
wait $gc
control remove_delay_ms 0
release
is "$(devices)$(leases)" 0 "which goes at its release"

### Its card is at work for somebody else
make_device $card nvidia-222 $u1
exec 7>"$(card_lock "$card")"
flock 7
took prepare >/dev/null
is "$(cat "$work/status") $(lease_has origin)" "0 adopted" "a start with a vGPU that exists does not wait for its pGPU"
holds "nor does its release" release
exec 7>&-
is "$(devices)$(leases)" "$u1 0" "which leaves it"

### A release that has read the lease of an adopted vGPU, and finds that of one that was created
# Its domain was released, started and released again while the first release still looked who has the vGPU open.
prepare
is "$(lease_has origin)" adopted "a vGPU is adopted"
open_device $u1
release &
ending=$!
holds "its release waits for its end of use" eventually grep -q '^state=releasing' "$root/run/vgpu-lease/leases/$u1"
sed 's/^origin=adopted/origin=created/' "$root/run/vgpu-lease/leases/$u1" >"$work/lease"
flock "$root/run/vgpu-lease/lock" cp "$work/lease" "$root/run/vgpu-lease/leases/$u1"
close_device
wait $ending
nothing_left() { [ "$(devices)$(leases)" = 0 ]; }
holds "it does not drop that lease, but removes what was created" eventually nothing_left

### A definition of mdevctl that is not valid
mkdir -p "$root/etc/mdevctl.d/$card"
: >"$root/etc/mdevctl.d/$card/$u1"
prepare 2>"$work/err"
is $? 1 "a vGPU that would have to be created from it is refused"
holds "with the definition" says M_DEFINITION_INVALID "$root/etc/mdevctl.d/$card/$u1" <"$work/err"
make_device $card nvidia-222 $u1
holds "one that exists needs no definition" prepare
is "$(lease_has origin)" adopted "it is adopted"
release
is "$(devices)$(leases)" "$u1 0" "and left"
tap_done
