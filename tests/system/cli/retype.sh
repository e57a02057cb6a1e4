#!/bin/bash
# vgpu-lease retype: a card is freed for another type; what stands in the way is named.
. "${srcdir:?}/tests/lib/cli.sh"

host mtty+t4
# serve TYPE: what the configuration has mtty serve.
serve() {
	conf <<-END
		[devices]
		enabled_mdev_types = $1, nvidia-222
		[mdev_nvidia-222]
		device_addresses = 0000:84:00.0
		[mdev_$1]
		device_addresses = mtty
		[policy]
		reclaim_grace = 0
		release_timeout = 1
		${2:-}
	END
}
made() { ls "$root/sys/bus/mdev/devices"; }
# said PATTERN SENTENCE: the output matches.
said() { like "$(sed -E 's/idle for [0-9]+ s/idle for N s/' <<<"$out")" "$1" "$2"; }

serve mtty-2
vl retype mtty
is "$status" 2 "a call without a type"
vl retype nosuch mtty-1
like "$status|$err" "1|vgpu-lease: nosuch: *" "a card that is not there"
vl retype mtty nvidia-222
is "$status|$err" "1|vgpu-lease: mtty makes no nvidia-222; its types: mtty-1, mtty-2" "a type that the card does not make"
vl retype mtty mtty-1
is "$status|$err" "1|vgpu-lease: the configuration does not enable mtty-1: add it to enabled_mdev_types, with a section [mdev_mtty-1] that has device_addresses = mtty; then call this again" \
	"the configuration is changed first"
conf <<END
[devices]
enabled_mdev_types = mtty-2, mtty-1
[mdev_mtty-2]
device_addresses = mtty
[mdev_mtty-1]
device_addresses = 0000:99:00.0
END
vl retype mtty mtty-1
like "$status|$err" "1|vgpu-lease: */vgpu-lease.conf, line 3: the configuration has mtty serve mtty-2: put it under \[mdev_mtty-1\] instead, then call this again" \
	"and where is said"

# Orphans of mtty-2 fill the card.
for n in {1..12}; do create mtty mtty-2 "$n"; done
create 0000:84:00.0 nvidia-222 20
serve mtty-1
call prepare begin 30 mtty-1 2>/dev/null
is "$?" 0 "a start that needs the room makes it by itself"
is "$(made | wc -l)" 13 "by removing one orphan"
vl release "$(uuid 30)"
before=$(made)
vl retype mtty mtty-1 --dry-run
said "*would go $(uuid 12), mtty-2: an orphan: * idle for N s*mtty would be free for mtty-1" "a dry run says what would go"
is "$status|$(made)" "0|$before" "and nothing goes"
serve mtty-1 "reclaim = never"
vl retype mtty mtty-1
like "$status|$err" "1|vgpu-lease: mtty is not free for mtty-1: 11 vGPUs of another type stand in the way" \
	"orphans that the configuration keeps stand in the way"
said "*stays $(uuid 12), mtty-2: reclaim = never: foreign devices stay*" "with that reason"
serve mtty-1
exec 8<>"$root/dev/vfio/$(basename "$(readlink "$root/sys/bus/mdev/devices/$(uuid 12)/iommu_group")")"
mkdir -p "$root/etc/mdevctl.d/mtty"
echo '{"mdev_type": "mtty-2", "start": "auto"}' >"$root/etc/mdevctl.d/mtty/$(uuid 11)"
echo '{"mdev_type": "mtty-2", "start": "manual"}' >"$root/etc/mdevctl.d/mtty/$(uuid 10)"
vl retype mtty mtty-1
is "$status" 1 "what is open or mdevctl's stays"
like "$err" "*warning: /etc/mdevctl.d/mtty/$(uuid 11) brings a mtty-2 back at the next boot: 'mdevctl undefine -u $(uuid 11)'*2 vGPUs of another type stand in the way" \
	"a definition that brings one back is named"
said "*stays $(uuid 11), mtty-2: mdevctl starts it at boot*stays $(uuid 12), mtty-2: process * has it open*" "each with its reason"
said "*gone $(uuid 10), mtty-2: *; its mdevctl definition goes with it*" "the others are gone, with their manual definitions"
is "$(ls "$root/etc/mdevctl.d/mtty")|$(made | wc -l)" "$(uuid 11)|3" "and no more than those"
rm "$root/etc/mdevctl.d/mtty/$(uuid 11)"
exec 8>&-
vl retype mtty mtty-1
is "$status" 0 "then the card is freed"
said "*gone $(uuid 11), *gone $(uuid 12), *mtty is free for mtty-1: 24 can be made now, 0 exist" "and says for how many"
is "$(made)" "$(uuid 20)" "a vGPU on another card stays"
call prepare begin 31 mtty-1
is "$?" 0 "a domain starts with the new type"
vl retype mtty_mtty mtty-1
is "$status|$out" "0|mtty is free for mtty-1: 23 can be made now, 1 exist" "vGPUs of that type are no obstacle"

# Back again, while one is leased.
create mtty mtty-1 40
runs 31
serve mtty-2
before=$(made)
vl retype mtty mtty-2
is "$status|$out" "1|stays $(uuid 31), mtty-1, leased to domain vm31: its domain runs" "a card with a lease of another type stays as it is"
is "$err" "vgpu-lease: mtty is not free for mtty-2: 1 vGPU of another type stands in the way" "and is refused"
is "$(made)" "$before" "nothing is removed then"
rm "$root/run/libvirt/qemu/vm31.xml"
age 31
vl retype mtty mtty-2
is "$status|$(made)" "0|$(uuid 20)" "a lease whose domain is gone is no obstacle"
tap_done
