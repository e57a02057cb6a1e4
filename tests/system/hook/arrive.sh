#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A domain that arrives by migration or restore: what is reserved, and what the XML says then.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
settings() { configure nvidia-222 policy 'driver_cleanup = 0' 'reclaim = never' "$@"; } # LINE...: the policy
uuid_in() { sed -n "s/.*<address uuid='\(.*\)'.*/\1/p"; }

settings
is "$(migrate)" "" "a UUID that is free here stays: nothing is printed"
is "$(listed state) $(devices)" "reserved " "it is reserved, and nothing is made yet"
is "$(migrate)$(listed state)" "reserved" "a second migrate of the domain replaces its reservation"
holds "the prepare that follows makes it" prepare
is "$(listed state) $(devices)" "active $u1 " "and the lease is firm"
fails "a domain that runs here is not migrated here" migrate
is "$(listed state) $(devices)" "active $u1 " "and nothing of it is touched"
release "$vm"

another 2 | sed "s/${u1%??}02/$u1/" >"$work/other.xml"
prepare "$work/other.xml"
migrate >"$work/migrated.xml"
fresh=$(uuid_in <"$work/migrated.xml")
holds "a UUID that another domain has here is replaced" test -n "$fresh" -a "$fresh" != "$u1"
is "$(sed "s/$fresh/$u1/" "$work/migrated.xml")" "$(cat "$vm")" "and all else of the XML is as it came, to the byte"
holds "prepare takes the reservation over" prepare "$work/migrated.xml"
is "$(devices)$(leases)" "$(printf '%s\n' "$fresh" "$u1" | sort | xargs) 2" "and makes what the XML says"
release "$work/migrated.xml"

# Where the XML is printed anyway, the facts of this host replace those of the source.
driver=$(cat "$root/sys/module/nvidia/version")
arriving() { asking "uuid='$u1' $*" | migrate /dev/stdin; } # ATTRIBUTES...: the domain, with these in its <vgpu:device>
metadata() { sed -n "s/.*<vgpu:device \(.*\)\/><\/vgpu:lease.*/\1/p"; }
settings
facts="numa='none' type='GRID T4-1B' name='GRID T4-1B' model='10de:1' driver='$driver' framework='vf'"
is "$(arriving "$facts" | metadata | cut -d ' ' -f 2-)" \
	"numa='none' type='nvidia-222' name='GRID T4-1B' model='10de:1eb8' driver='$driver' framework='mdev'" \
	"an XML with another UUID has the facts of this host in place of the source's"
is "$(arriving "type='nvidia-222'" | metadata | cut -d ' ' -f 2-)" \
	"name='GRID T4-1B' framework='mdev' model='10de:1eb8' driver='$driver' type='nvidia-222'" "also those that the source did not give"
release "$work/other.xml"
facts="type='nvidia-9999' name='GRID T4-1B'"
is "$(arriving "$facts")$(listed state)" reserved "a type that has another id here is found by its name"
holds "also by the prepare that follows" prepare <(asking "uuid='$u1' $facts")
is "$(type_of $u1)" nvidia-222 "and is this host's"
release
is "$(arriving "type='nvidia-9999' name='GRID X-1B' model='10de:1'" 2>&1)" "$(message M_REFUSED_THERE vm "$root" "$u1" \
	"$(message M_UNKNOWN_TYPE nvidia-9999 " $(message M_ON_THE_SOURCE "GRID X-1B" 10de:1)"); $(message M_ENABLED_TYPES nvidia-222); $(message M_SEE_TYPES)")" \
	"a type that is not here at all is a refusal that says what it is there, and what is here"
is "$(leases)" 0 "what is refused reserves nothing"
settings 'driver_mismatch = warn'
asking "uuid='$u1' type='nvidia-222' driver='1.2.3'" >"$work/driver.xml"
holds "another version of the driver is a warning of plan, where driver_mismatch says so" says M_DRIVER_THERE_WARNS 1.2.3 "$driver" < <(lease plan --op migrate "$work/driver.xml" 2>&1)
settings
holds "so is that of a guest that was saved before an update" says M_DRIVER_SAVED_WARNS 1.2.3 "$driver" < <(lease plan --op restore "$work/driver.xml" 2>&1)
is "$(lease plan "$work/driver.xml" 2>&1 | grep -c 'driver version')" 0 "and not of a start"
release
is "$(arriving "type='nvidia-222' model='10de:1'")" "" "for facts alone nothing is printed"
release

make_device 0000:84:00.0 nvidia-222 $u1
settings
another 3 >"$work/three.xml"
is "$(migrate "$work/three.xml")" "" "a device that others made within start_grace may be for a guest of theirs that starts now"
release "$work/three.xml"
settings 'start_grace = 1'
sleep 1.1
is "$(migrate "$work/three.xml" | uuid_in)" "$u1" "a free foreign device of the type is used where the own UUID is absent"
leaves "a migration that ends before prepare leaves it standing, and its release no reservation" "$u1 0" release "$work/three.xml" failed
settings 'reserve_ttl = 1'
migrate "$work/three.xml" >/dev/null
sleep 1.3
holds "a reservation that is past its time holds nothing" prepare
is "$(leases)" 1 "and is dropped"
release "$vm"
remove_device $u1

settings
for i in {16..31}; do prepare "$i"; done
is "$(devices | wc -w)" 16 "the card is full"
passes "a restore without capacity says nothing and ends with 0: its failure would delete the image" restore
fails "the prepare that follows refuses" prepare
for n in 16 17; do release $n; done
migrate "$templates/domain-two-vgpus.xml"
holds "a domain with two vGPUs that reserved the last two places gets them" prepare "$templates/domain-two-vgpus.xml"
is "$(devices | wc -w)" 16 "and the card is full again"
release "$templates/domain-two-vgpus.xml"
prepare 17
is "$(restore)$(listed state | grep -o reserved | wc -l)" "1" "with capacity a restore reserves, and keeps the UUID"

### A restore right after a save: what awaits its release is kept for the start that follows
release 17
rm -rf "$root/run/vgpu-lease/leases/"*
configure nvidia-222 policy 'driver_cleanup = 10' 'release_wait = 0' 'reserve_ttl = 3' 'reuse = never'
prepare
release
restore
is "$(lease gc | grep -c "$(message M_ARRIVES)") $(listed state) $(devices | grep -c $u1)" "1 releasing 1" "it is not released, by gc either"
holds "the start takes it over" prepare
is "$(listed state) $(devices | grep -c $u1)" "active 1" "with its device"
release
restore
eventually collected
is "$(listed state) $(devices | grep -c $u1)" " 0" "if no start follows it is released when the time is over"
settings
prepare 17

sed -i 's/enabled_mdev_types.*/enabled_mdev_types =/' "$root/etc/vgpu-lease.conf"
printf '[nonsense]\n' >>"$root/etc/vgpu-lease.conf"
passes "a restore under a broken configuration ends with 0, too" restore
reports "a migration is refused with the configuration's error, file and line" migrate \
	-- M_CONF_AT "$root/etc/vgpu-lease.conf" 2 "[devices] enabled_mdev_types" "$(message M_CONF_EMPTY)"

### A guest whose vGPU is an mdev on one host and a VF on the other goes there and back, where the policy lets it
mdevs=$work/mdevs vfs=$work/vfs
policy_is() { configure nvidia-1147 policy 'driver_cleanup = 0' 'release_wait = 10' "$@"; } # LINE...: the policy of the host in root
root=$mdevs && host l40s-mdev:1 && policy_is
root=$vfs && host l40s:1 && policy_is
on() { root=$1; }
type_id=nvidia-1147 name='NVIDIA L40S-1Q'
typed_vfs() { grep -lvx 0 "$root"/sys/bus/pci/devices/*/nvidia/current_vgpu_type 2>/dev/null | wc -l; }

asking "uuid='$u1' type='$type_id' name='$name' framework='mdev' model='10de:26b9'" >"$work/source.xml"
on "$mdevs"
holds "on the first host the guest has an mdev" prepare "$work/source.xml"
is "$(devices)" "$u1 " "with the UUID that its XML names"

on "$vfs"
is "$(migrate "$work/source.xml" 2>&1)" "$(message M_REFUSED_THERE vm "$root" "$u1" "$(message M_MDEV_THERE_VF_HERE "$name" "$type_id")$(message M_CROSS_FRAMEWORK)")" \
	"on the second one, which has VFs, it is refused, and why"
is "$(leases)" 0 "nothing is reserved there"
policy_is 'cross_framework = yes'
holds "where the policy allows it the plan says so" says M_PLAN_RESERVE 0000:26:00.4 "$type_id" 0000:26:00.4 "*" "$u1" < <(lease plan --op migrate "$work/source.xml" 2>&1)
migrate "$work/source.xml" >"$work/there.xml"
is "$(metadata <"$work/there.xml")" \
	"address='0000:26:00.4' driver='550.90.05' type='$type_id' name='$name' framework='variant' model='10de:26b9'" \
	"the metadata name a VF, with the facts of this host"
is "$(diff "$vm" "$work/there.xml" | sed -n 's/^> *<\(hostdev\|address\)/<\1/p')" \
	"<hostdev mode='subsystem' type='pci' managed='no' display='off'>"$'\n'"<address domain='0x0000' bus='0x26' slot='0x00' function='0x4'/>" \
	"the hostdev is a PCI device, without what only an mdev has: its display it keeps"
is "$(diff "$vm" "$work/there.xml" | grep -c '^>')" 3 "and nothing else has changed"
is "$(listed state)" reserved "the VF is reserved"
holds "prepare takes it" prepare "$work/there.xml"
is "$(typed_vfs) $(listed state)" "1 active" "and gives it its type"
on "$mdevs"
leaves "the first host has its own back" 0 release "$work/source.xml" migrated

policy_is 'cross_framework = yes' 'migrate_uuid = keep'
reports "the way back is refused where the ID has to stay" migrate "$work/there.xml" \
	-- M_REFUSED_THERE "*" "$root" 0000:26:00.4 -- M_VF_THERE_MDEV_HERE "$name" "$type_id" -- M_KEEP_NO_CHANGE
is "$(leases)" 0 "and nothing is reserved"
policy_is
reports "the way back is refused, too" migrate "$work/there.xml" -- M_REFUSED_THERE "*" "$root" 0000:26:00.4 -- M_VF_THERE_MDEV_HERE "$name" "$type_id"
policy_is 'cross_framework = yes'
migrate "$work/there.xml" >"$work/back.xml"
uuid=$(uuid_in <"$work/back.xml")
holds "with leave it gets a UUID" test -n "$uuid"
is "$(metadata <"$work/back.xml")" \
	"uuid='$uuid' driver='550.90.05' type='$type_id' name='$name' framework='mdev' model='10de:26b9'" "in the metadata, too"
is "$(grep -o '<hostdev.*' "$work/back.xml")" "<hostdev mode='subsystem' type='mdev' model='vfio-pci' managed='no' display='off'>" \
	"the hostdev is what it was at first"
holds "prepare makes it" prepare "$work/back.xml"
is "$(devices)" "$uuid " "under that UUID"
on "$vfs"
then_is "the second host has its VF back" "0 0" "echo \$(typed_vfs) \$(leases)" release "$work/there.xml" migrated

mkdir -p "$root/usr/lib"
ln -s libvirt.so.0.10010.0 "$root/usr/lib/libvirt.so.0"
reports "a libvirt that cannot change a hostdev is told" migrate "$work/source.xml" -- M_LIBVIRT_TOO_OLD 10.10.0
fails "a type that has no name is not taken for another" migrate <(sed "s/ name='$name'//" "$work/source.xml")
is "$(leases)" 0 "and nothing is reserved"
tap_done
