#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A guest whose vGPU is an mdev on one host and a VF on the other goes there and back, where the policy lets it.
. "$(dirname "$0")/../../lib/hook.sh"
mdevs=$work/mdevs vfs=$work/vfs
settings() { configure nvidia-1147 policy 'driver_cleanup = 0' 'release_wait = 2' "$@"; } # LINE...: the policy of the host in root
root=$mdevs && host l40s-mdev:1 && settings
root=$vfs && host l40s:1 && settings
on() { root=$1; }
type_id=nvidia-1147 name='NVIDIA L40S-1Q'
arrive() { hook one-vgpu migrate begin - <"$1"; }
start() { hook one-vgpu prepare begin - <"$1"; }
end() { hook one-vgpu release end migrated <"$1"; }
typed_vfs() { grep -lvx 0 "$root"/sys/bus/pci/devices/*/nvidia/current_vgpu_type 2>/dev/null | wc -l; }

asking "uuid='$u1' type='$type_id' name='$name' framework='mdev' model='10de:26b9'" >"$work/source.xml"
on "$mdevs"
holds "on the first host the guest has an mdev" start "$work/source.xml"
is "$(devices)" "$u1 " "with the UUID that its XML names"

on "$vfs"
is "$(arrive "$work/source.xml" 2>&1)" "$(message M_REFUSED_THERE one-vgpu "$root" "$u1" "$(message M_MDEV_THERE_VF_HERE "$name" "$type_id")$(message M_CROSS_FRAMEWORK)")" \
	"on the second one, which has VFs, it is refused, and why"
is "$(leases)" 0 "nothing is reserved there"
settings 'cross_framework = yes'
holds "where the policy allows it the plan says so" says M_PLAN_RESERVE 0000:26:00.4 "$type_id" 0000:26:00.4 "*" "$u1" < <(lease plan --op migrate "$work/source.xml" 2>&1)
arrive "$work/source.xml" >"$work/there.xml"
is "$(sed -n "s/.*<vgpu:device \(.*\)\/><\/vgpu:lease.*/\1/p" "$work/there.xml")" \
	"address='0000:26:00.4' driver='550.90.05' type='$type_id' name='$name' framework='variant' model='10de:26b9'" \
	"the metadata name a VF, with the facts of this host"
is "$(diff "$vm" "$work/there.xml" | sed -n 's/^> *<\(hostdev\|address\)/<\1/p')" \
	"<hostdev mode='subsystem' type='pci' managed='no' display='off'>"$'\n'"<address domain='0x0000' bus='0x26' slot='0x00' function='0x4'/>" \
	"the hostdev is a PCI device, without what only an mdev has: its display it keeps"
is "$(diff "$vm" "$work/there.xml" | grep -c '^>')" 3 "and nothing else has changed"
is "$(listed state)" reserved "the VF is reserved"
holds "prepare takes it" start "$work/there.xml"
is "$(typed_vfs) $(listed state)" "1 active" "and gives it its type"
on "$mdevs"
end "$work/source.xml"
is "$(devices)$(leases)" 0 "the first host has its own back"

settings 'cross_framework = yes' 'migrate_uuid = keep'
reports "the way back is refused where the ID has to stay" arrive "$work/there.xml" \
	-- M_REFUSED_THERE "*" "$root" 0000:26:00.4 -- M_VF_THERE_MDEV_HERE "$name" "$type_id" -- M_KEEP_NO_CHANGE
is "$(leases)" 0 "and nothing is reserved"
settings
reports "the way back is refused, too" arrive "$work/there.xml" -- M_REFUSED_THERE "*" "$root" 0000:26:00.4 -- M_VF_THERE_MDEV_HERE "$name" "$type_id"
settings 'cross_framework = yes'
arrive "$work/there.xml" >"$work/back.xml"
uuid=$(sed -n "s/.*<address uuid='\(.*\)'.*/\1/p" "$work/back.xml")
holds "with leave it gets a UUID" test -n "$uuid"
is "$(sed -n "s/.*<vgpu:device \(.*\)\/><\/vgpu:lease.*/\1/p" "$work/back.xml")" \
	"uuid='$uuid' driver='550.90.05' type='$type_id' name='$name' framework='mdev' model='10de:26b9'" "in the metadata, too"
is "$(grep -o '<hostdev.*' "$work/back.xml")" "<hostdev mode='subsystem' type='mdev' model='vfio-pci' managed='no' display='off'>" \
	"the hostdev is what it was at first"
holds "prepare makes it" start "$work/back.xml"
is "$(devices)" "$uuid " "under that UUID"
on "$vfs"
end "$work/there.xml"
is "$(typed_vfs) $(leases)" "0 0" "the second host has its VF back"

mkdir -p "$root/usr/lib"
ln -s libvirt.so.0.10010.0 "$root/usr/lib/libvirt.so.0"
reports "a libvirt that cannot change a hostdev is told" arrive "$work/source.xml" -- M_LIBVIRT_TOO_OLD 10.10.0
sed "s/ name='$name'//" "$work/source.xml" >"$work/nameless.xml"
fails "a type that has no name is not taken for another" arrive "$work/nameless.xml"
is "$(leases)" 0 "and nothing is reserved"
tap_done
