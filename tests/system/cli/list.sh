#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease list: which domain has which vGPU, and what is wrong with it.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2 nvidia-222
heading='ID  TYPE  PARENT  STATE  ORIGIN  AGE  DOMAIN  NOTE'

vl_is "without leases there is a heading" "0|$heading|" list
vl_is "likewise of a pGPU and a type that this host has" "0|$heading|" list --pgpu 0000:85:00.0 --type nvidia-223
vl_is "or an empty list" $'0|{\n  "version": 1,\n  "leases": []\n}|' list --json

guest 1
vl list --json
is "$(jq -c '.leases[0].since |= length' <<<"$out")" "$(tr -d '\n' <<END
{"version":1,"leases":[{"id":"$(uuid 1)","type":"nvidia-222","framework":"mdev","parent":"0000:84:00.0","pgpu":"0000:84:00.0",
"uuid":"$(uuid 1)","numa_node":0,"framebuffer_mib":1024,"state":"active","domain":{"uuid":"$(domain_uuid 1)","name":"vm1"},
"origin":"created","project":null,"instance":null,"since":20,"note":null}]}
END
)" "a lease as JSON"
since=$(sed -n 's/.*"since": "\(.*\)",/\1/p' <<<"$out")
age=$(($(date +%s) - $(date -d "$since" +%s)))
holds "since is a moment ago on the wall clock" test "$age" -ge 0 -a "$age" -lt 60

# The line of the vGPU number N, its columns parted by one space.
line() {
	vl list
	noted "$1"
	vl list
	sed -nE "/^$(uuid "$1")/{s/  +/ /g;s/ [0-9]+[smhd] / AGE /;p}" <<<"$out"
}

# noted N: JSON has the note of the table.
noted() {
	local note
	note=$(sed -nE "/^$(uuid "$1")/{s/.*  +//;p}" <<<"$out")
	vl list --json
	[ "$(grep -A18 "\"id\": \"$(uuid "$1")\"" <<<"$out" | sed -n '/"note"/{s/.*"note": //;s/^"\(.*\)"$/\1/;s/^null$/-/;p;q}')" = "$note" ] ||
		echo "JSON has another note than: $note"
}

is "$(line 1)" "$(uuid 1) nvidia-222 0000:84:00.0 active created AGE vm1 -" "a lease for people: nothing to note"

call prepare begin 2
age 2
is "$(line 2)" "$(uuid 2) nvidia-222 0000:84:00.0 active created AGE vm2 $(message M_GC_COLLECTS "$(message M_DOMAIN_ENDED)")" \
	"a domain that does not run is noted"
runs 2
hold 2
call release end 2
is "$(line 2)" "$(uuid 2) nvidia-222 0000:84:00.0 releasing created AGE vm2 $(message M_PROCESS_HAS_IT $$)" \
	"one that waits to be released says for whom"
leave

create 0000:85:00.0 nvidia-222 3
guest 3
is "$(line 3)" "$(uuid 3) nvidia-222 0000:85:00.0 active adopted AGE vm3 -" "an adopted device"
remove_device "$(uuid 3)"
is "$(line 3)" "$(uuid 3) nvidia-222 0000:85:00.0 active adopted AGE vm3 $(message M_DEVICE_GONE)" \
	"one whose device somebody removed is noted"

call migrate begin 4 >/dev/null
is "$(line 4)" "$(uuid 4) nvidia-222 0000:84:00.0 reserved created AGE vm4 $(message M_RESERVED)" "a reservation"

# Last, as the next hook finishes it.
call prepare begin 5
cut_off 5
age 5
is "$(line 5)" "$(uuid 5) nvidia-222 0000:84:00.0 creating created AGE vm5 $(message M_GC_COLLECTS "$(message M_CUT_OFF)")" \
	"a creation whose writer died is noted"

vl list -o 'DOMAIN, state,numa,mib,framework,pgpu' --sort Domain --no-headings
is "$status|$(sed -E 's/ +/ /g' <<<"$out")" "0|vm1 active 0 1024 mdev 0000:84:00.0
vm2 releasing 0 1024 mdev 0000:84:00.0
vm3 active 1 1024 mdev 0000:85:00.0
vm4 reserved 0 1024 mdev 0000:84:00.0
vm5 creating 0 1024 mdev 0000:84:00.0" "the columns that are asked for, in this order"
shown() { vl list "$@" -o domain --no-headings --sort domain; xargs <<<"$out"; } # OPTION...: the domains that are left
is "$(shown --domain vm2)|$(shown --domain "$(domain_uuid 3)")" "vm2|vm3" "the vGPUs of a domain, by name or UUID"
domain 7 "$(uuid 7)" | libvirt_has vm7
libvirt_runs transient <<<"<domain><uuid>$(domain_uuid 8)</uuid></domain>"
for domain in vm7 "$(domain_uuid 7)" transient "$(domain_uuid 8)"; do
	vl_is "a domain of libvirt's without a lease has none: $domain" "0||" list --domain "$domain" --no-headings
done
for domain in vn7 transcient; do
	vl list --domain $domain
	similar=${domain/vn/vm}
	holds "one that is neither libvirt's nor a lease's is refused, with one that is similar: $domain" \
		ended 1 M_NO_SUCH_DOMAIN $domain -- M_SIMILAR "${similar/sc/s}"
done
vl_says "one of another number" 1 list --domain vm77 -- M_NO_SUCH_DOMAIN vm77
fails "is not similar to any" says M_SIMILAR <<<"$err"
missing=$(domain_uuid 9)
vl_counts "so is a UUID, as JSON" "1 1" "$(message M_NO_SUCH_DOMAIN "$missing")" list --domain "$missing" --json
ln -s vm7.xml/x "$root/etc/libvirt/qemu/unread.xml"
vl_like "where a file of libvirt's cannot be read, it may be one" "0||?*" list --domain nobody --no-headings
holds "and a warning says so" says M_DOMAIN_UNTOLD nobody <<<"$err"
rm -r "$root/etc/libvirt" "$root/run/libvirt"
is "$(shown --pgpu 0000:85:00.0)" "vm3" "of a pGPU"
is "$(shown --state active)|$(shown --state active --pgpu 0000:84:00.0)" "vm1 vm3|vm1" "in a state"
is "$(shown --type nvidia-222)|$(shown --type nvidia-223)" "vm1 vm2 vm3 vm4 vm5|" "of a type"
vl_json "JSON is filtered, too" "0 1" '.leases | length' list --state reserved
vl_is "pGPUs by address" "0|0000:85:00.0|" inventory --pgpu 0000:85:00.0 --no-headings -o pgpu
vl_says "a type that no pGPU is configured for" 0 inventory --type T4-8Q -- M_TYPE_ON_NO_PGPU nvidia-233
vl_like "and by the type that they are configured for" "0||?*" inventory --type nvidia-223 --no-headings
vl_is "one type" "0|nvidia-222  mdev|" types --type nvidia-222 --no-headings -o type,framework
for name in 'GRID T4-1B' T4-1B; do is "$(shown --type "$name")" "vm1 vm2 vm3 vm4 vm5" "which NVIDIA calls $name"; done
vl_is "whether it is configured or not" "0|nvidia-223  GRID T4-2B|" types --type 'T4-2B' --no-headings -o type,name
vl_says "a type that does not exist: one that is similar" 1 gc --dry-run --type T4-2X -- M_NO_TYPE_SIMILAR T4-2X T4-2B
vl_says "a name that no type has is an error" 1 list --type 'GRID T4-2X' -- M_UNKNOWN_TYPE_SIMILAR 'GRID T4-2X' 'GRID T4-2B'
for command in list types inventory; do
	vl_says "$command refuses a type that the host does not have" 1 $command --type nvidia-22 -- M_NO_SUCH_TYPE nvidia-22
	fails "another number is not similar" says M_SIMILAR <<<"$err"
	vl $command --pgpu 0000:84:00.1
	fails "nor is another address" says M_SIMILAR <<<"$err"
done
sed -i 's/0000:85:00.0/0000:86:00.0/' "$root/run/vgpu-lease/leases/$(uuid 3)"
is "$(shown --pgpu 0000:86:00.0)" vm3 "one that only a lease names is one"
sed -i 's/0000:86:00.0/0000:85:00.0/' "$root/run/vgpu-lease/leases/$(uuid 3)"
vl types --sort available --no-headings -o AVAILABLE
is "$out" "$(sort -n <<<"$out")" "numbers are sorted as numbers"
runs 1
is "$(on_terminal 70 env LC_ALL=C.UTF-8 TERM=dumb "$builddir/vgpu-lease" --root "$root" list --pgpu 0000:84:00.0 --state active |
	sed -E 's/ +[0-9]+[smhd] / AGE /')" "\
ID                                    TYPE        STATE   AGE  DOMAIN
$(uuid 1)  nvidia-222  active AGE  vm1" "a terminal that is too narrow gets less"
headings() { on_terminal "$1" env LC_ALL=C.UTF-8 TERM=dumb "$builddir/vgpu-lease" --root "$root" types | tr -s ' \r\n' '  ' | sed 's/ nvidia.*//'; }
is "$(headings 80)|$(headings 52)" "TYPE NAME CLASS MIB HEADS CAPACITY USED AVAILABLE HOST|TYPE NAME CAPACITY USED AVAILABLE" \
	"of a type its name is kept longest, what it can show least"

echo 'this is no lease' >"$root/run/vgpu-lease/leases/$(uuid 9)"
vl_like "a broken record is told" "0|*|$(message M_WARNING "$(message M_NOT_UNDERSTOOD /run/vgpu-lease/leases)*")" list
rm "$root/run/vgpu-lease/leases/$(uuid 9)"

configure <<<'[nonsense]'
vl_like "a broken configuration is a warning" "0|*|$(message M_WARNING "$root/etc/vgpu-lease.conf:1: *")" list --json
like "$out" "*$(uuid 1)*" "and the leases are shown all the same"

configure nvidia-222
rm -f "$root"/run/vgpu-lease/leases/*
named=$(domain_uuid 200)
domain 201 "$(uuid 201)" | sed "s/<name>vm201/<name>$named/" | hook "$named" prepare begin -
is "$(vl list --domain "$(domain_uuid 201)" --json; grep -o "\"id\": \"$(uuid 201)\"" <<<"$out")" "\"id\": \"$(uuid 201)\"" "a domain with a UUID for its name is found by its own UUID"
is "$(vl list --domain "$named" --json; grep -o "\"id\": \"$(uuid 201)\"" <<<"$out")" "" "a UUID never means the domain that is named so"

### The address of a pGPU, as other programs spell it, and the address of one of its VFs
new_host t4+l40s/4

configure nvidia-222@0000:84:00.0 nvidia-1147@0000:26:00.0
call prepare begin 1 nvidia-222
# Ages may differ by a second.
untimed() { jq -c 'del(.leases[].since, .leases[].note)' <<<"$out"; }
vl list --json --pgpu 0000:84:00.0
leased=$(untimed)

for spelling in 0000:84:00.0 00000000:84:00.0; do
	vl_makes "list takes $spelling" "0 $leased" untimed list --json --pgpu $spelling
	vl_ends "and so does gc" 0 gc --dry-run --pgpu $spelling
	vl_ends "and types" 0 types --pgpu $spelling
	vl_is "and inventory" "0|0000:84:00.0|" inventory --pgpu $spelling --output pgpu --no-headings
	vl_ends "and show" 0 show $spelling
	vl_ends "and retype" 0 retype $spelling nvidia-222 --dry-run
done

for command in "list" "types" "gc --dry-run" "status"; do
	in_words vl_ends "$command takes the address of a VF for its card" 0 --pgpu 0000:26:00.4 "$command"
done
vl_is "and inventory shows that card" "0|0000:26:00.0|" inventory --pgpu 0000:26:00.4 --output pgpu --no-headings
vl_ends "retype, too" 0 retype 0000:26:00.4 nvidia-1147 --dry-run

mdev=mdev_$(uuid 1 | tr - _)
for word in "$mdev" "${mdev}_0000_84_00_0"; do
	vl_says "libvirt's name of an mdev, $word, is refused with the UUID that was meant" 2 release "$word" -- M_SIMILAR "$(uuid 1)"
	vl_says "also where a domain could be meant" 1 show "$word" -- M_SIMILAR "$(uuid 1)"
done
for word in 84:00.0 0000:84:00:0 pci_0000_84_00_0; do
	vl_says "$word is refused with the address that was meant" 2 list --pgpu $word -- M_BAD_PGPU_SHORT $word 0000:84:00.0
	vl_says "as the ID of a vGPU likewise" 2 release $word -- M_SIMILAR 0000:84:00.0
done
tap_done
