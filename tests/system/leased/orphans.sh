#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Orphans of Nova: each goes with its definition, at the handler's time, at a start that needs the capacity, by gc and by retype.
. "$(dirname "$0")/../../lib/leased.sh"
host t4:2
a=0000:84:00.0 b=0000:85:00.0

settings() { configure devices 'nova_conf = /etc/nova/nova.conf' policy 'driver_cleanup = 0' "$@"; }
nova_conf() { nova_has "$1@$a"; } # TYPE: what Nova enables
named() { # N...: by a domain's definition
	echo "<domain><uuid>$vm_uuid</uuid>$(for n; do mdev_hostdev "$(numbered "$n")"; done)</domain>" | libvirt_has i
}
# leave N [PARENT [TYPE [START]]]: a device as Nova leaves it when its instance is deleted, with its definition, which is not of a moment ago.
leave() {
	make_orphan "${2:-$a}" "${3:-nvidia-222}" "$(numbered "$1")"
	mdevctl_has "${2:-$a}" "$(numbered "$1")" "${3:-nvidia-222}" "${4:-auto}"
	touch -d '2 minutes ago' "$root/etc/mdevctl.d/${2:-$a}/$(numbered "$1")"
}
unmake() { # N...: the devices go, as with their driver; their definitions stay
	local n
	for n; do remove_device "$(numbered "$n")"; done
}
clear_all() {
	local d
	rm -rf "$root/etc/mdevctl.d" "$root/etc/libvirt/qemu"/* "$root/run/vgpu-lease/seen"
	for d in $(devices); do echo 1 >"$root/sys/bus/mdev/devices/$d/remove"; done
}

### gc and retype
settings
nova_conf nvidia-222
leave 1
leave 2 $a nvidia-222 manual
leave 3 $b
leave 4
named 4
gc_leaves "1 d1 2 d2 3 d3 4 d4 " "within reclaim_grace nothing goes"
gc_leaves "1 d1 2 d2 3 d3 4 d4 " "a dry run with --grace 0 removes nothing" --dry-run --grace 0
holds "but says that the definition would go, too" says M_DEFINITION_GOES <"$work/gc"
gc_leaves "3 d3 4 d4 " "gc --grace 0 removes Nova's orphans with their definitions" --grace 0
holds "a device of a pGPU that Nova does not have is mdevctl's" says M_MDEVCTL_STARTS "/etc/mdevctl.d/$b" <"$work/gc"
holds "one that a domain names is its" says M_NAMED_BY i <"$work/gc"
fails "a grace is a number" lease gc --grace soon
clear_all

### A definition whose device is gone: the driver was reloaded, and Nova's instance deleted meanwhile
for n in 1 2 3 4; do leave "$n"; done
leave 5 $b
unmake 1 2 3 5
named 3
gc_leaves "d1 d2 d3 4 d4 d5 " "within reclaim_grace each definition stays"
gc_leaves "d1 d2 d3 4 d4 d5 " "a dry run removes none" --dry-run --grace 0
holds "but says which would go" says M_DEFINITION_ALONE <"$work/gc"
gc_leaves "d3 d5 " "what no domain names goes; on another pGPU than Nova's it is mdevctl's" --grace 0
fails "of which nothing is said" grep -q "$(numbered 5)" "$work/gc"
clear_all
leave 1
unmake 1
touch "$root/etc/mdevctl.d/$a/$(numbered 1)"
gc_leaves "d1 " "one that was made a moment ago stays, whatever the grace: Nova defines first, and starts then" --grace 0
holds "which is said" says M_DEFINITION_YOUNG <"$work/gc"
for n in 2 3; do leave $n; done
unmake 2 3
lease gc >"$work/gc"
cp -r "$root/run/vgpu-lease/seen" "$work/seen"
echo '{' >"$root/etc/mdevctl.d/$a/$(numbered 3)"
reports "one that is not valid is named" lease gc -- M_DEFINITION_INVALID "$root/etc/mdevctl.d/$a/$(numbered 3)"
is "$(cat "$root/run/vgpu-lease/seen/$(numbered 2)")" "$(cat "$work/seen/$(numbered 2)")" "and the grace of the others goes on"
lease gc --grace 0 >"$work/gc" 2>"$work/err"
is "$(left 1 2 3)" "d1 d3 " "they go when it is over"
clear_all
settings 'reclaim = never'
leave 1
unmake 1
gc_leaves "d1 " "reclaim = never keeps them" --grace 0
clear_all

### A domain that is deleted: nobody looked in between
settings 'reclaim_grace = 1'
leave 1
named 1
lease gc >"$work/gc"
sleep 1.2
rm "$root/etc/libvirt/qemu/i.xml"
gc_leaves "1 d1 " "the grace begins when its domain is seen to be gone, not when it was last seen"
sleep 1.2
gc_leaves "" "and then it goes"
clear_all

### A type that was changed
settings
for n in 1 2; do leave $n; done
nova_conf nvidia-223
fails "a pGPU whose type was changed is blocked by orphans in their grace" lease retype $a nvidia-223
lease retype $a nvidia-223 --dry-run --grace 0 >"$work/retype" 2>"$work/err"
is "$? $(left 1 2) $(cat "$work/err")" "0 1 d1 2 d2  " "a dry run of retype says what would go, and advises nothing"
holds "retype --grace 0 frees it" lease retype $a nvidia-223 --grace 0
is "$(left 1 2)" "" "with the definitions, which would bring the old type back"
leave 3 $a nvidia-222
unmake 3
holds "a definition without a device keeps no pGPU from another type" lease retype $a nvidia-223
is "$(left 3)" "d3 " "in its grace it stays"
nova_conf nvidia-222
clear_all

### A domain that is defined while gc still finishes releases
configure devices 'nova_conf = /etc/nova/nova.conf' policy 'driver_cleanup = 2' 'start_grace = 1'
prepare
for n in 2 3 4; do leave $n; done
unmake 3
sleep 1
lease gc --grace 0 >"$work/gc" &
collector=$!
holds "gc waits for the driver of what it releases" eventually is_state $u1 releasing
named 2 3
wait $collector
is "$? $(left 1 2 3 4)" "0 2 d2 d3 " "what a domain names by then stays, and the rest goes"
holds "which is said" says M_NAMED_BY i <"$work/gc"
clear_all

### A domain whose definition has lost its vGPU, but whose snapshot or managed save still has it
settings 'reclaim_grace = 0'
for n in 1 2 3 4; do leave $n; done
saved=$root/var/lib/libvirt/qemu
mkdir -p "$saved"/{snapshot/vm1,checkpoint/vm2,save}
says_uuid() { echo "<domain>$(mdev_hostdev "$(numbered "$1")")</domain>"; }
says_uuid 1 >"$saved/snapshot/vm1/before-upgrade.xml"
says_uuid 2 >"$saved/checkpoint/vm2/backup.xml"
{ printf 'LibvirtQemudSave\2\0\0\0' && says_uuid 3 && head -c 3000000 /dev/zero; } >"$saved/save/vm3.save"
gc_leaves "1 d1 2 d2 3 d3 " "gc keeps what a saved domain names, and removes the rest"
for file in before-upgrade.xml backup.xml vm3.save; do
	holds "and says that $file does" says M_NAMED_BY_SAVED $file <"$work/gc"
done
unmake 1
gc_leaves "d1 2 d2 3 d3 " "also a definition without a device" --unused
rm -r "$saved"
gc_leaves "" "they go when nothing names them any more"
clear_all

### A start that needs the capacity
settings 'reclaim_grace = 0'
for n in {1..16}; do leave "$n"; done
holds "a start on a pGPU that is full of orphans" prepare 32
is "$(devices | wc -w) $(find "$root/etc/mdevctl.d/$a" -type f | wc -l)" "16 15" "takes the place of one, and of its definition"
release 32
clear_all

### A definition that cannot be removed
settings
leave 1
# Without a mount namespace: in a chroot whose / is not a mount point nothing can be made private.
read_only() { # COMMAND...: mdevctl's directory is read-only while it runs
	local status=0
	mount --bind "${root:?}/etc/mdevctl.d" "$root/etc/mdevctl.d" && mount -o remount,bind,ro "$root/etc/mdevctl.d"
	"$@" || status=$?
	umount -l "$root/etc/mdevctl.d"
	return $status
}
said=$(read_only "$builddir/vgpu-lease" --root "$root" gc --grace 0 2>&1)
is $? 1 "gc fails where a definition cannot be removed"
holds "which it says" says M_DEFINITION_STAYS "$root/etc/mdevctl.d/$a/$(numbered 1)" "Read-only file system" <<<"$said"
is "$(left 1)" "1 d1 " "and keeps the device, so that no definition is without one"
clear_all

### A claim that Nova keeps in its memory alone
settings 'reclaim_grace = 0'
nova_conf nvidia-222
leave 1
leave 2
unmake 2
is "$(lease metrics | grep '^vgpu_lease_orphans ')" "vgpu_lease_orphans 1" "an orphan is counted as such, a definition alone is not"
gc_leaves "" "a device that Nova's check before a migration has claimed may be reclaimed"
hook vm migrate begin - <"$vm" >"$work/migrated.xml"
is "$? $(cat "$work/migrated.xml")" "0 " "the migration keeps its UUID"
then_is "and the device is created again" "$u1 nvidia-222" "echo \$(devices) \$(type_of $u1)" prepare
release
clear_all

### The handler, when the grace is over
settings 'reclaim_grace = 2'
for n in 1 2; do leave $n; done
# That its guest had it in an earlier boot counts, because its definition has made it again.
sed -i "s/ [^ ]*$/ 11111111-2222-4333-8444-555555555555/" "$root/var/lib/vgpu-lease/affinity/$(numbered 1)"
leave 3 $b
leave 4
unmake 4
open_device "$(numbered 2)"
start
holds "the handler removes an orphan of Nova, and a definition without a device" eventually is_left "2 d2 3 d3 "
holds "which is said" eventually said M_HANDLER_ORPHAN "$(numbered 1)" nvidia-222 $a
looks
holds "and keeps what is open, or not Nova's" is_left "2 d2 3 d3 "
close_device
kill -HUP "$handler"
holds "what is closed goes in a later pass" eventually is_left "3 d3 "
stop
clear_all

### Nova lists what there is, and looks each up: what is due within a minute goes at once
settings 'reclaim_grace = 8'
leave 1
start
sleep 4
for n in 2 4; do leave $n; done
unmake 4
kill -HUP "$handler"
one_goes() { [ "$(left 1)" = '' ] || [ "$(left 2)" = '' ] || [ "$(left 4)" = '' ]; }
eventually one_goes
holds "what is due at different times goes in one batch, a definition without a device with it" within 2 is_left ""
stop
tap_done
