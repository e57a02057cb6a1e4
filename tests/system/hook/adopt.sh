#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The start of a domain whose vGPU exists already: it waits for a removal of that vGPU, and for nothing else on its pGPU.
# Without a valid configuration it is used as it is, too.
. "$(dirname "$0")/../../lib/hook.sh"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'lock_timeout = 10'
card=0000:84:00.0

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
for n in 2 3; do release $n; done
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

### The lease of an adopted vGPU whose domain is gone, or whose release waits, on a card that it fills
# Its release leaves the vGPU, so a start or an arrival neither ends the lease for capacity nor waits for it.
new_host t4:1 nvidia-234 policy 'driver_cleanup = 0' 'start_grace = 1' 'lock_timeout = 10'
make_device $card nvidia-234 $u1
prepare
sleep 1.1
another 2 >"$work/2.xml"
would() { lease plan "$@" "$work/2.xml"; }
refuses "a start is not planned" would -- M_FULL 0000:84:00.0 1 1
refuses "nor an arrival" would --op migrate -- M_FULL 0000:84:00.0 1 1
refuses "a start is refused" prepare 2 -- M_FULL 0000:84:00.0 1 1
is "$(devices)$(leases)" "$u1 1" "and all stays"
open_device $u1
then_is "its release waits until it is closed" releasing "lease_has state" release
in_ms 3000 1 "a start is refused at once" prepare 2
close_device
leaves "the release leaves the vGPU" "$u1 0" lease gc
new_host t4 nvidia-222 policy 'driver_cleanup = 0' 'reclaim_grace = 0' 'lock_timeout = 10' 'release_wait = 10'
make_device $card nvidia-222 $u1

### A release that has read the lease of an adopted vGPU, and finds that of one that was created
# Its domain was released, started and released again while the first release still looked who has the vGPU open.
origin_is "a vGPU is adopted" adopted prepare
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
under nvidia-222 policy 'driver_cleanup = 0' -- holds "plan says that it starts" lease plan "$work/one.xml"
holds "with a configuration it starts" prepare "$work/one.xml"
is "$(leases)" 1 "and has a lease"
is "$(rewritten)" 1 "rewrite leaves it"
is "$(named)" 0 "check has nothing to say of it"
leaves "when it ends the device stays" "$one 0" release "$work/one.xml"

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

### The configuration is wrong, or there is none: what exists is used as it is, and only what would be created is refused
new_host t4:2+l40s/4:1
card=0000:84:00.0 vf=0000:26:00.4
conf=$root/etc/vgpu-lease.conf nova_conf=$root/etc/nova/nova.conf
log_here
lease_now() { sed -n 's/^state=//p; s/^origin=//p' "$root/run/vgpu-lease/leases/$1" | paste -sd ' '; }

configured() {
	nova_has nvidia-222@$card
	chmod 644 "$nova_conf"
	configure devices 'nova_conf = /etc/nova/nova.conf' policy 'driver_cleanup = 0' 'lock_timeout = 2'
	chmod 644 "$conf"
}
another 2 >"$work/2.xml" # whose vGPU does not exist
with_vf | asking "address='$vf' type='nvidia-1147'" - >"$work/vf.xml"

planned() { lease plan --op "${2:-prepare}" "$1" >/dev/null 2>&1; echo $?; }

# only_creation_fails HOW WHERE: the domain's existing vGPU is leased as it is, at a start, a reboot and a migration; one that
# is to be created is refused, and so is its migration.
only_creation_fails() {
	local how=$1 before
	make_device $card nvidia-222 $u1
	before=$(logged | wc -l)
	is "$(planned "$vm")" 0 "$how: plan says that a domain starts whose vGPU exists"
	holds "$how: and with what it warns" says M_USED_UNTIL_THEN '*' < <(lease plan "$vm" 2>&1)
	holds "$how: it starts" prepare
	is "$(lease_now $u1)" "active adopted" "$how: with a lease"
	holds "$how: and a warning" eventually eval "logged | tail -n +$((before + 1)) | says M_USED_AS_IT_IS prepare one-vgpu '*' >/dev/null"
	leaves "$how: which is gone when it ends; the vGPU stays" "$u1 0" release "$vm"
	is "$(planned "$vm" migrate)" 0 "$how: plan says that it can arrive"
	holds "$how: it arrives" hook vm migrate begin - <"$vm"
	is "$(lease_now $u1)" "reserved adopted" "$how: with a reservation"
	prepare && release "$vm"
	holds "$how: a restore goes on" hook vm restore begin - <"$vm"
	rm -f "$root/run/vgpu-lease/leases/$u1"
	is "$(planned "$work/2.xml")$(planned "$work/2.xml" migrate)" 11 "$how: plan refuses what would be created"
	prepare "$work/2.xml" 2>"$work/err" && echo "# it starts"
	holds "$how: and the hook" says M_REFUSED vm "$(numbered 2)" -- M_ABSENT_NO_CONF '*' <"$work/err"
	holds "$how: it says why" grep -q "$2" "$work/err"
	hook vm migrate begin - <"$work/2.xml" 2>"$work/err" && echo "# it arrives"
	holds "$how: also where it arrives" says M_REFUSED_THERE vm "$root" "$(numbered 2)" -- M_ABSENT_NO_CONF '*' <"$work/err"
	is "$(hook vm restore begin - <"$work/2.xml" 2>&1; echo $?)" 0 "$how: a restore is not refused"
	is "$(leases)" 0 "$how: nothing is leased"
	remove_device $u1
	configured
}

configured
sed -i "s/^device_addresses.*/& # the T4/" "$nova_conf"
only_creation_fails "a comment behind a value of nova.conf" "nova.conf:4"
rm "$nova_conf"
only_creation_fails "no nova.conf" "nova.conf"
chmod 666 "$nova_conf"
only_creation_fails "a nova.conf that all may write to" "nova.conf"
echo '[nonsense]' >>"$conf"
only_creation_fails "an unknown section" "vgpu-lease.conf:6"
chmod 666 "$conf"
only_creation_fails "a configuration that all may write to" "vgpu-lease.conf"
rm "$conf"
only_creation_fails "no configuration" "$conf: No such file or directory.*init --write"

### Leases as they were before the mistake
prepare
echo '[nonsense]' >>"$conf"
holds "a vGPU of the hook's own starts once more" prepare
is "$(lease_now $u1)" "active created" "and stays its own"
reports "no other domain gets it" prepare <(another 3 | sed "s/$(numbered 3)/$u1/") -- M_LEASED_TO one-vgpu "$vm_uuid"
release "$vm"
holds "the driver has its time, as without a configuration" eventually eval "[ \"\$(lease gc >/dev/null; leases)\" = 0 ]"

make_device $card nvidia-222 $u1
holds "a class says nothing against what exists" prepare <(typed CUSTOM_SMALL)
release "$vm"
fails "a type does" prepare <(typed nvidia-223)
remove_device $u1

### VFs
set_vf_type $vf 1147
holds "one with a type starts" prepare "$work/vf.xml"
is "$(lease_now $vf)" "active adopted" "with a lease"
release "$work/vf.xml"
then_is "also without metadata" "active adopted" "lease_now $vf" prepare <(with_vf)
then_is "and keeps its type" 1147 "vf_type $vf" release "$work/vf.xml"
new_host flex:1
plain=$(basename "$(readlink "$(find "$root/sys/bus/pci/devices/" -name '*:*' -exec test -e {}/virtfn0 \; -print | head -1)/virtfn0")")
sed "s|$vf|$plain|; s|nvidia-1147|flex|; s|bus='0x26' slot='0x00' function='0x4'|bus='0x${plain:5:2}' slot='0x${plain:8:2}' function='0x${plain:11:1}'|" \
	"$work/vf.xml" >"$work/flex.xml"
holds "a plain VF is the domain's without a configuration" prepare "$work/flex.xml"
tap_done
