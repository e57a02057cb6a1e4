#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease show: what libvirt, the leases, the kernel and open handles say of a domain's vGPUs. The libvirt is its own
# made-up one.
. "$(dirname "$0")/../../lib/cli.sh"

host mtty
configure mtty-1 policy 'reuse = never'
hostdev() {
	echo "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$(uuid "$1")'/></source></hostdev>"
}
# The domain vm1 runs with the vGPUs of these numbers.
libvirt() {
	cat >"$tmp/node.xml" <<-END
		<node><domain type='test'><name>vm1</name><uuid>$(domain_uuid 1)</uuid><memory>8192</memory>
		<os><type>hvm</type></os><metadata>${record:-}</metadata><devices>$(for n; do hostdev "$n"; done)</devices></domain></node>
	END
}
show() { vl show --connect "test://$tmp/node.xml" "$@"; }
shows() { # PATTERN SENTENCE: of the domain
	show vm1
	like "$out" "$1" "$2"
}

libvirt
show vm2
is "$status|$out|$err" "1||$(message M_PROGRAM "$(message M_LIBVIRT_SAYS vm2 "Domain not found")")" "a domain that is not there"
libvirt_has vm1 <"$tmp/node.xml"
show vn1
is "$status|$out|$err" "1||$(message M_PROGRAM "$(message M_LIBVIRT_SAYS vn1 "Domain not found")$(message M_SIMILAR vm1)")" \
	"where libvirt's files have a similar name, that is suggested"
rm -r "$root/etc/libvirt"
show vm1
is "$status|$out|$err" "0|ID  TYPE  PARENT  LIBVIRT  LEASE  ORIGIN  KERNEL  OPEN|" "one without vGPUs"

call prepare begin 1
libvirt 1
hold 1
show vm1
is "$status|$err" "0|" "where all are of one mind it is done"
like "$out" "*"$'\n'"$(uuid 1)  mtty-1  mtty    live,config  active  created  yes     $(printf %4d $$)" "with a line for the vGPU"
is "$(wc -l <<<"$out")" 2 "and no more"
show vm1 --json
is "$(tr -s ' \n' ' ' <<<"$out")" "{ \"version\": 1, \"domain\": { \"uuid\": \"$(domain_uuid 1)\", \"name\": \"vm1\" }, \"instance\": null, \"project\": null, \"running\": true, \"pid\": null, \"devices\": [ { \"id\": \"$(uuid 1)\", \"type\": \"mtty-1\", \"parent\": \"mtty\", \"live\": true, \"config\": true, \"lease\": \"active\", \"origin\": \"created\", \"owner\": \"vgpu-lease\", \"leased_to\": \"$(domain_uuid 1)\", \"exists\": true, \"open\": true, \"open_by\": $$, \"differences\": [] } ], \"suspended\": 0 } " \
	"the same as JSON"
leave

show vm1
is "$status" 1 "a difference fails"
like "$out" "*$(uuid 1): $(message M_SHOW_NOT_OPEN "*detach vm1 $(uuid 1)*")" "and is named: not open"
create mtty mtty-1 2
libvirt 1 2
shows "*$(uuid 2): $(message M_SHOW_NOT_LEASED); *" "plugged in by somebody else"
call prepare begin 3
libvirt 1 3
shows "*$(uuid 3): $(message M_SHOW_LEASED_TO_OTHER vm3)*" "another domain's"
libvirt
shows "*$(uuid 1): $(message M_SHOW_NOT_PLUGGED vm1 "$(uuid 1)")" "not plugged in"
record="<k:suspended xmlns:k='urn:vgpu-lease:suspended:1' hostdevs='$(hostdev 1 | sed "s/</\&lt;/g; s/'/\&quot;/g")'/>" libvirt
shows "*$(uuid 1): $(message M_SHOW_SUSPENDED vm1)"$'\n'* "taken by a suspend that did not end"
remove_device "$(uuid 1)"
libvirt 1
shows "*$(uuid 1): $(message M_SHOW_GONE "*")" "gone"
show vm1 --json
like "$out" '*"type": "mtty-1",*"exists": false,*"differences": ['*"$(message M_SHOW_GONE "*")" "as JSON, too"
nova='<n:instance xmlns:n="http://openstack.org/xmlns/libvirt/nova/1.1"><n:name>web-1</n:name><n:owner><n:project uuid="p1"/></n:owner></n:instance>'
record=$nova libvirt 1
show vm1
holds "an instance's name in Nova" says M_SHOW_INSTANCE vm1 web-1 p1 <<<"$out"
show vm1 --json
like "$out" '*"instance": "web-1",*"project": "p1",*' "as JSON"
libvirt 1
echo nonsense >"$root/etc/vgpu-lease.conf"
show vm1
like "$err" "$(message M_WARNING "*")" "a broken configuration is a warning"
like "$out" "*$(uuid 1)*" "and no obstacle"

# A VF of the pool that the metadata does not name, and a card that is passed through without us.
new_host flex
vf=0000:4d:00.2
sed -i "s|<devices>.*</devices>|<devices>$(vf_hostdev $vf yes)$(vf_hostdev 0000:01:00.0 yes)</devices>|" "$tmp/node.xml"
configure vf_flex@8086:56c0
sed "s/'test'/'qemu'/; s|</*node>||g" "$tmp/node.xml" | hook vm1 prepare begin -
exec 7<>"$(node_of $vf)"
seen="0|*$vf  flex  $vf  live,config  active  created  yes     $(printf %4d $$)"
show vm1
like "$status|$out" "$seen" "a VF is shown as others are, and what is none of ours is not"
configure vf_other@8086:9999
show vm1
like "$status|$out" "$seen" "also when the configuration has it in the pool no longer"
echo nonsense >"$root/etc/vgpu-lease.conf"
show vm1
like "$status|$out" "$seen" "or is broken"
exec 7>&-
configure vf_flex@8086:56c0
rm "$root/run/vgpu-lease/leases/$vf"
shows "*$vf  -     -       live,config  -      -       yes        -*" "a plain VF that is not leased exists all the same"
sed "s/'test'/'qemu'/; s|</*node>||g" "$tmp/node.xml" | hook vm1 prepare begin -
control vfs '0000:4d:00.0 off'
shows "*$vf  flex  $vf  live,config  active  created  -          -*" "one that was disabled does not exist, whatever its lease says"
holds "and that is a difference" says M_ABOUT "$vf" -- M_SHOW_GONE "*" <<<"$out"
leave

# A suspended guest that was started by other means than a resume.
record="<k:suspended xmlns:k='urn:vgpu-lease:suspended:1' hostdevs='$(hostdev 9 | sed "s/</\&lt;/g; s/'/\&quot;/g")'/>" libvirt
show vm1
is "$status" 1 "a guest that runs without the vGPU that a suspend took is a difference"
holds "and it is named" says M_SHOW_SUSPENDED vm1 < <(grep "^$(uuid 9): " <<<"$out")
tap_done
