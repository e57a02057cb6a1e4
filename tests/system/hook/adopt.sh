#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The start of a domain whose vGPU exists already: it waits for a removal of that vGPU, and for nothing else on its pGPU.
. "$(dirname "$0")/../../lib/hook.sh"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'lock_timeout = 10'
card=0000:84:00.0
pending() { grep -q "^$1" "$root/.kernel/control/pending"; }

### Beside creations on the same pGPU
make_device $card nvidia-222 $u1
control create_delay_ms 4000
prepare 2 &
first=$!
prepare 3 &
second=$!
holds "two creations wait for their driver" eventually pending create
in_ms 1500 0 "a start whose vGPU exists is served beside them at once" prepare
is "$(lease_has origin)" adopted "with that vGPU, which is adopted"
wait $first $second
control create_delay_ms 0
release
release 2
release 3
is "$(devices)" "$u1 " "its release leaves it, and the others go"

### Beside a removal of that very vGPU
for_guest $u1 nvidia-222 $card
control remove_delay_ms 1500
lease gc >/dev/null &
gc=$!
holds "the vGPU is being removed as an orphan" eventually pending remove
holds "a start that needs it is served all the same" prepare
is "$(lease_has origin) $(devices)" "created $u1 " "with a vGPU of its own, made when the removal was over"
wait $gc
control remove_delay_ms 0
leaves "which goes at its release" 0 release

### Its card is at work for somebody else
make_device $card nvidia-222 $u1
holds "a start with a vGPU that exists does not wait for its pGPU" with_lock "$(card_lock "$card")" prepare
is "$(lease_has origin)" adopted "with a lease as of one that was there"
holds "nor does its release" with_lock "$(card_lock "$card")" release
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
left() { echo "$(devices)$(leases)"; }
holds "it does not drop that lease, but removes what was created" eventually prints 0 left

### A definition of mdevctl that is not valid
mkdir -p "$root/etc/mdevctl.d/$card"
: >"$root/etc/mdevctl.d/$card/$u1"
refuses "a vGPU that would have to be created from it is refused" prepare -- M_DEFINITION_INVALID "$root/etc/mdevctl.d/$card/$u1"
make_device $card nvidia-222 $u1
holds "one that exists needs no definition" prepare
is "$(lease_has origin)" adopted "it is adopted"
leaves "and left" "$u1 0" release

### mdevs that are numbered by hand: a UUID that exists here is that UUID, and no placeholder
new_host t4
one=00000000-0000-0000-0000-000000000001
rewritten() { lease rewrite "$work/one.xml" | grep -c "uuid='$one'"; }
sed "s/$u1/$one/" "$vm" >"$work/one.xml"
libvirt_has one-vgpu <"$work/one.xml"
named() { lease check 2>&1 | grep -c "$one"; }

is "$(rewritten)" 0 "without a device, a definition or a lease it is a placeholder: rewrite replaces it"
is "$(named)" 1 "check names its domain"
holds "and says what to do" says M_PLACEHOLDER_CHECK one-vgpu $one -- M_REWRITE_GIVES_UUID one-vgpu < <(lease check 2>&1)
refuses "and its start is refused" prepare "$work/one.xml" -- M_PLACEHOLDER one-vgpu

make_device $card nvidia-222 $one
holds "with a device it starts without a configuration" prepare "$work/one.xml"
release "$work/one.xml"
configure nvidia-222 policy 'driver_cleanup = 0'
holds "plan says that it starts" lease plan "$work/one.xml"
holds "with a configuration it starts" prepare "$work/one.xml"
is "$(leases)" 1 "and has a lease"
is "$(rewritten)" 1 "rewrite leaves it"
is "$(named)" 0 "check has nothing to say of it"
release "$work/one.xml"
is "$(leases)$(devices)" "0$one " "when it ends the device stays"

remove_device $one
mdevctl_has $card $one nvidia-222
is "$(rewritten)$(named)" 10 "with a definition of mdevctl alone it is the same UUID"
holds "and the hook makes it" prepare "$work/one.xml"
is "$(devices)" "$one " "as it is numbered"
rm -r "$root/etc/mdevctl.d/$card"
remove_device $one
is "$(rewritten)" 1 "a lease is enough"
rm -r "$root/run/vgpu-lease/leases"
: >"$root/run/vgpu-lease/leases"
is "$(rewritten)" 1 "and where leases cannot be read it may have one"
rm "$root/run/vgpu-lease/leases"
is "$(rewritten)" 1 "so is that a guest has had it here"
holds "which then starts, before the script that makes it after a boot" prepare "$work/one.xml"
is "$(devices)" "$one " "with the UUID that it names"
release "$work/one.xml"
rm -r "$root/var/lib/vgpu-lease/affinity"
is "$(rewritten)" 0 "without any of them it is a placeholder again"
tap_done
