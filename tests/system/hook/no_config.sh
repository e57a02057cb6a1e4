#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The configuration is wrong, or there is none: what exists is used as it is, and only what would be created is refused.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2+l40s/4:1
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

# planned FILE [OP]: plan's exit status
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
	release "$vm"
	is "$(leases)$(devices)" "0$u1 " "$how: which is gone when it ends; the vGPU stays"
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
sed -i "s/$card/0000:84:00/" "$nova_conf"
only_creation_fails "an address of nova.conf that is none" "nova.conf:4"
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

### A type that only a configuration knows
make_device $card nvidia-222 $u1
holds "a class says nothing against what exists" prepare <(typed CUSTOM_SMALL)
release "$vm"
fails "a type does" prepare <(typed nvidia-223)
remove_device $u1

### VFs
reports "a VF without a type is refused" prepare "$work/vf.xml" -- M_REFUSED vm $vf -- M_VF_NO_CONF '*'
is "$(planned "$work/vf.xml")" 1 "which plan says"
set_vf_type $vf 1147
holds "one with a type starts" prepare "$work/vf.xml"
is "$(lease_now $vf)" "active adopted" "with a lease"
release "$work/vf.xml"
is "$(vf_type $vf)" 1147 "and keeps its type"
new_host flex:1
plain=$(basename "$(readlink "$(find "$root/sys/bus/pci/devices/" -name '*:*' -exec test -e {}/virtfn0 \; -print | head -1)/virtfn0")")
sed "s|$vf|$plain|; s|nvidia-1147|flex|; s|bus='0x26' slot='0x00' function='0x4'|bus='0x${plain:5:2}' slot='0x${plain:8:2}' function='0x${plain:11:1}'|" \
	"$work/vf.xml" >"$work/flex.xml"
holds "a plain VF is the domain's without a configuration" prepare "$work/flex.xml"
tap_done
