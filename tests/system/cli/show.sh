#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease show: what libvirt, the leases, the kernel and open handles say of a domain's vGPUs. The libvirt is its own
# made-up one.
. "$(dirname "$0")/../../lib/cli.sh"
host mtty mtty-1 policy 'reuse = never'
# libvirt N...: the domain vm1 runs with the vGPUs of these numbers.
libvirt() { test_node 1 "$(for n; do mdev_hostdev "$(uuid "$n")"; done)" "${record:-}" >"$tmp/node.xml"; }
show() { vl "${on_node[@]}" "$@"; }
shows() { show vm1; like "$status|$out" "$1" "$2"; } # PATTERN SENTENCE: of the domain

libvirt
on_node=(show --connect "test://$tmp/node.xml")
vl_fails "a domain that is not there" 1 "${on_node[@]}" vm2 -- M_LIBVIRT_SAYS vm2 "Domain not found"
libvirt_has vm1 <"$tmp/node.xml"
vl_says "where libvirt's files have a similar name, that is suggested" 1 "${on_node[@]}" vn1 \
	-- M_LIBVIRT_SAYS vn1 "Domain not found" -- M_SIMILAR vm1
rm -r "$root/etc/libvirt"
vl_is "one without vGPUs" "0|ID  TYPE  PARENT  LIBVIRT  LEASE  ORIGIN  KERNEL  OPEN|" "${on_node[@]}" vm1

call prepare begin 1
libvirt 1
hold 1
shows "0|*"$'\n'"$(uuid 1)  mtty-1  mtty    live,config  active  created  yes     $(printf %4d $$)" "where all are of one mind the vGPU has a line"
is "$err|$(wc -l <<<"$out")" "|2" "and no more"
show vm1 --json
is "$(tr -s ' \n' ' ' <<<"$out")" "{ \"version\": 1, \"domain\": { \"uuid\": \"$(domain_uuid 1)\", \"name\": \"vm1\" }, \"instance\": null, \"project\": null, \"running\": true, \"pid\": null, \"devices\": [ { \"id\": \"$(uuid 1)\", \"type\": \"mtty-1\", \"parent\": \"mtty\", \"live\": true, \"config\": true, \"lease\": \"active\", \"origin\": \"created\", \"owner\": \"vgpu-lease\", \"leased_to\": \"$(domain_uuid 1)\", \"exists\": true, \"open\": true, \"open_by\": $$, \"differences\": [] } ], \"suspended\": 0 } " \
	"the same as JSON"
leave

shows "1|*$(uuid 1): $(message M_SHOW_NOT_OPEN "*detach vm1 $(uuid 1)*")" "a difference fails, and is named: not open"
create mtty mtty-1 2
libvirt 1 2
shows "*$(uuid 2): $(message M_SHOW_NOT_LEASED); *" "plugged in by somebody else"
call prepare begin 3
libvirt 1 3
shows "*$(uuid 3): $(message M_SHOW_LEASED_TO_OTHER vm3)*" "another domain's"
libvirt
shows "*$(uuid 1): $(message M_SHOW_NOT_PLUGGED vm1 "$(uuid 1)")" "not plugged in"
record=$(suspended_record "$(mdev_hostdev "$(uuid 1)")") libvirt
shows "*$(uuid 1): $(message M_SHOW_SUSPENDED vm1)"$'\n'* "taken by a suspend that did not end"
remove_device "$(uuid 1)"
libvirt 1
shows "*$(uuid 1): $(message M_SHOW_GONE "*")" "gone"
vl_like "as JSON, too" '1|*"type": "mtty-1",*"exists": false,*"differences": ['*"$(message M_SHOW_GONE "*")|" "${on_node[@]}" vm1 --json
nova='<n:instance xmlns:n="http://openstack.org/xmlns/libvirt/nova/1.1"><n:name>web-1</n:name><n:owner><n:project uuid="p1"/></n:owner></n:instance>'
record=$nova libvirt 1
vl_prints "an instance's name in Nova" "${on_node[@]}" vm1 -- M_SHOW_INSTANCE vm1 web-1 p1
vl_json "as JSON" '1 ["web-1","p1"]' '[.instance, .project]' "${on_node[@]}" vm1
libvirt 1
echo nonsense >"$root/etc/vgpu-lease.conf"
vl_like "a broken configuration is a warning, no obstacle" "1|*$(uuid 1)*|$(message M_WARNING "*")" "${on_node[@]}" vm1

# A VF of the pool that the metadata does not name, and a card that is passed through without us.
new_host flex
vf=0000:4d:00.2
test_node 1 "$(vf_hostdev $vf yes)$(vf_hostdev 0000:01:00.0 yes)" >"$tmp/node.xml"
configure vf_flex@8086:56c0
sed "s/'test'/'qemu'/; s|</*node>||g" "$tmp/node.xml" | hook vm1 prepare begin -
exec 7<>"$(node_of $vf)"
seen="0|*$vf  flex  $vf  live,config  active  created  yes     $(printf %4d $$)"
shows "$seen" "a VF is shown as others are, and what is none of ours is not"
under vf_other@8086:9999 -- shows "$seen" "also when the configuration has it in the pool no longer"
echo nonsense >"$root/etc/vgpu-lease.conf"
shows "$seen" "or is broken"
exec 7>&-
configure vf_flex@8086:56c0
rm "$root/run/vgpu-lease/leases/$vf"
shows "*$vf  -     -       live,config  -      -       yes        -*" "a plain VF that is not leased exists all the same"
sed "s/'test'/'qemu'/; s|</*node>||g" "$tmp/node.xml" | hook vm1 prepare begin -
control vfs '0000:4d:00.0 off'
shows "*$vf  flex  $vf  live,config  active  created  -          -*" "one that was disabled does not exist, whatever its lease says"
holds "and that is a difference" says M_ABOUT "$vf" -- M_SHOW_GONE "*" <<<"$out"
leave

record=$(suspended_record "$(mdev_hostdev "$(uuid 9)")") libvirt
shows "1|*$(uuid 9): $(message M_SHOW_SUSPENDED vm1)*" "a guest that runs without the vGPU that a suspend took is a difference, with its name"

### A vGPU or a pGPU: all that is known about it. Its events are shown in log.sh
new_host t4:1+flex+mtty 'nvidia-222@0000:84:00.0, 0000:99:00.0' mtty-1@mtty vf_flex@8086:56c0 policy 'driver_cleanup = 0'
# fact KEY: what the last output says about it; of a pGPU without its model, which not every machine can name.
fact() { sed -nE "s/^  $1  +//p" <<<"$out" | sed -E "s/^([^,]*), .*, NUMA/\1, NUMA/"; }
# facts SENTENCE OBJECT "STATUS|..." KEY...: show ends so, and says this about the object.
facts() {
	local key said
	vl show "$2" && said=$status
	for key in "${@:4}"; do said+="|$(fact "$key")"; done
	is "$said" "$3" "$1"
}

### A vGPU
call prepare begin 1 nvidia-222
vl_works "a vGPU is known by its ID" show "$(uuid 1 | tr a-f A-F)"
is "${out%%$'\n'*}" "vGPU $(uuid 1)" "which stands on top"
is "$(fact type)|$(fact framebuffer)|$(fact pGPU)" "nvidia-222, GRID T4-1B, class VGPU|1024 MiB|0000:84:00.0, NUMA node 0" "what it is, and where"
is "$(fact device)|$(fact open)|$(fact domain)|$(fact owner)" "exists|no|vm1 ($(domain_uuid 1))|vgpu-lease" "what it is used for, and whose it is"
like "$(fact lease)" "active since 20??-*Z (*), created" "by which lease"
like "$(fact gc)" "stays: *" "what gc would do about it"
hold 1
facts "the process that has it open" "$(uuid 1)" "0|in process $$" open
vl show --json "$(uuid 1)"
is "$(tr -s ' \n' ' ' <<<"$out" | sed -E 's/"since": "[^"]*"/SINCE/; s/"gc_reason": "[^"]*"/REASON/')" \
	"{ \"version\": 1, \"vgpu\": { \"id\": \"$(uuid 1)\", \"type\": \"nvidia-222\", \"framework\": \"mdev\", \"parent\": \"0000:84:00.0\", \"pgpu\": \"0000:84:00.0\", \"type_name\": \"GRID T4-1B\", \"class\": \"VGPU\", \"numa_node\": 0, \"framebuffer_mib\": 1024, \"state\": \"active\", \"domain\": { \"uuid\": \"$(domain_uuid 1)\", \"name\": \"vm1\" }, \"origin\": \"created\", \"project\": null, \"instance\": null, SINCE, \"owner\": \"vgpu-lease\", \"exists\": true, \"open\": true, \"open_by\": $$, \"gc\": \"stays\", REASON, \"last_type\": \"nvidia-222\", \"last_parent\": \"0000:84:00.0\" }, \"events\": [] } " \
	"the same as JSON"
leave
create mtty mtty-2 2
facts "one that somebody else has created, with no owner" "$(uuid 2)" "0|mtty-2, Dual port serial|none|exists|" type lease device owner
mdevctl_has mtty "$(uuid 2)" mtty-2
facts "but for its definition" "$(uuid 2)" "0|mdevctl" owner
call release end 1
eventually eval '! exists 1'
vl gc
facts "one that is gone: where it was" "$(uuid 1)" "0||nvidia-222 on 0000:84:00.0|does not exist|none" type last device lease
mdevctl_has 0000:84:00.0 "$(uuid 1)" nvidia-222
facts "if a definition is left of it, mdevctl owns it" "$(uuid 1)" "0|mdevctl" owner
rm "$root/etc/mdevctl.d/0000:84:00.0/$(uuid 1)"
facts "a VF of the pool" 0000:4d:00.2 "0|vf|0000:4d:00.0, NUMA node 0|exists" framework pGPU device
control vfs '0000:4d:00.0 off'
vl_says "which is disabled then, and its card says why" 1 show 0000:4d:00.2 -- M_VFS_NOT_ENABLED

### A vGPU whose device vanishes under a running guest, an mdev and a plain VF
control vfs '0000:4d:00.0 on'
vf_domain 7 0000:4d:00.2 yes >"$tmp/7.xml"
hook vm7 prepare begin - <"$tmp/7.xml"
guest 8 nvidia-222
libvirt_runs vm7 <"$tmp/7.xml"
for gone in no yes; do
	for n in 7 8; do
		id=0000:4d:00.2
		[ $n = 7 ] || id=$(uuid 8)
		note=$([ $gone = no ] || message M_DEVICE_GONE)
		vl_json "list says of vm$n whether its device is gone: $gone" "0 $note" '.leases[].note // ""' list --domain vm$n
		vl status --domain vm$n
		is "$(grep -v WARN <<<"$out" | grep -c "$id") $(grep -c 'no device' <<<"$out")" "1 $([ $gone = no ] && echo 0 || echo 1)" "and status"
		facts "and show" "$id" "0|$([ $gone = no ] && echo exists || echo 'does not exist')" device
		vl check
		named=$([ $n = 8 ] && echo "WARN +guest +$id" || echo "FAIL +pgpu .*${id%2}0: ")
		is "$(grep -cE "^$named" <<<"$out")" "$([ $gone = no ] && echo 0 || echo 1)" "and check, of a VF its pGPU"
		[ $n$gone != 8yes ] || holds "with the domain that lost it" says M_CHECK_LOST "$id" vm8 <<<"$out"
	done
	control vfs '0000:4d:00.0 off'
	remove_device "$(uuid 8)"
done
echo 1 >"$root/sys/bus/pci/devices/0000:4d:00.0/sriov_numvfs"
check_says "check says so of the VF if its pGPU is ready" '^WARN +guest ' M_CHECK_LOST_VF 0000:4d:00.2 vm7
vl gc
is "$(vgpu_lease --root "$root" list --no-headings -o id | grep -c "0000:4d:00.2\|$(uuid 8)")" 2 "gc drops neither lease"
ln -sf vm8.xml "$root/run/libvirt/qemu/vm8.xml"
check_says "check does not say of a domain whose status file is unreadable that it runs" . M_CHECK_LOST_UNREAD "$(uuid 8)" vm8 '*'
rm "$root/run/libvirt/qemu/vm7.xml" "$root/run/libvirt/qemu/vm8.xml"
hook vm7 release end - <"$tmp/7.xml"
call release end 8

vl_says "what no vGPU has is looked for among the domains" 1 show "$(uuid 9)" -- M_SHOW_NOTHING "$(uuid 9)"

root=$tmp/vfs
host l40s nvidia-1146
facts "a VF exists before it has a type" 0000:26:00.4 "0||VF without a type|none" type device lease
"$sim" --stop "$root"
host a40/2 nvidia-558
create 0000:41:00.4 nvidia-558 1
vl show 0000:41:00.4
is "$status|$(head -n 1 <<<"$out")|$(grep -c "^$(uuid 1)" <<<"$out")" "0|pGPU 0000:41:00.0|1" "a VF with an mdev stands for its card"
"$sim" --stop "$root"
root=$tmp/host

### A pGPU
call prepare begin 3 nvidia-222
vl show 0000:84:00.0
is "$status|$err|${out%%$'\n'*}" "0||pGPU 0000:84:00.0" "a pGPU is known by its address"
is "$(fact framework)|$(fact pool)|$(fact framebuffer)|$(fact driver)" "mdev|yes|1024 of 16384 MiB in use|550.90.05" "what it is"
like "$out" "*nvidia-222  GRID T4-1B   VGPU    1024        16     1         15  -*nvidia-223 *not configured*" "its types"
like "$out" "*$(uuid 3)  nvidia-222  0000:84:00.0  active  *  vm3*" "and its vGPUs"
vl status --json --pgpu 0000:84:00.0
was=$(sed -n '/"pgpus"/,/^  ]/p' <<<"$out" | grep -v since)
vl show --json 00000000:84:00.0
is "$(sed -n '/"pgpus"/,/^  ]/p' <<<"$out" | grep -v since)" "$was" "as JSON it is what status says of it"
vl_counts "a virtual one" "0 1" "$(uuid 2)" show mtty
was=$out
vl_is "by Nova's name of it, too" "0|$was|" show mtty_mtty
facts "one that is configured and absent, with no framework" 0000:99:00.0 "0|no: no PCI device has this address|" pool framework
for wrong in 0000:83:00.0 0000:48:00.0 0000:84:00.1; do
	vl_says "one that is not, with one digit that is another, or two that are swapped: $wrong" 1 show $wrong -- M_NO_PCI_DEVICE
	fails "none is suggested: that is another card" says M_SIMILAR <<<"$err"
done
vl_says "nor is one without its domain 0000, which is suggested" 1 show 84:00.0 -- M_SHOW_NOTHING 84:00.0 -- M_SIMILAR 0000:84:00.0
vl_says "what nothing is called is refused without libvirt" 1 show nosuch -- M_SHOW_NOTHING nosuch
vl_says "of another card's address" 1 show 0000:98:00.0 -- M_NO_PCI_DEVICE
fails "none is suggested" says M_SIMILAR <<<"$err"
vl_says "what only a domain has is a usage error" 2 show mtty --no-headings -- M_SHOW_NEEDS_DOMAIN mtty

### Hostile text
printf -v escape 'x\e]0;owned\a\e[2Jy'
sed -i "s/^name=.*/name=$escape/" "$root/run/vgpu-lease/leases/$(uuid 3)"
for object in "$(uuid 3)" 0000:84:00.0; do
	vl show "$object"
	is "$status|$(tr -dc '\000-\011\013-\037\177' <<<"$out" | wc -c)" "0|0" "a domain's name cannot control the terminal ($object)"
done
tap_done
