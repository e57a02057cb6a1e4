#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Domains, and files of libvirt's, that are larger than what is parsed: who has no vGPU of ours is not held up by that.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1+l40s/2
configure_both 'driver_cleanup = 0' 'reclaim_grace = 0'
mkdir "$root/run/vgpu-lease" # what counts the refusals
typed nvidia-222 >"$work/vm.xml"
vm=$work/vm.xml vf=0000:26:00.4
fill() { head -c "$1" /dev/zero | tr '\0' x; }
# large FROM TO: a domain with 9 MB of description in the place where libvirt has that, before the devices.
large() {
	sed '/<\/uuid>/q' "$1" | sed 's|</uuid>.*|</uuid>|'
	echo "<description>$(fill 9000000)</description>"
	sed '1,/<\/uuid>/d' "$1"
}
without() { sed '/<hostdev/,/<\/hostdev>/d; s/<metadata>.*<\/metadata>//' "$vm"; }
with() { without | awk -v h="$(vf_hostdev "$1")" '/<\/devices>/ { print h } { print }'; }
without >"$work/small.xml" && large "$work/small.xml" >"$work/none.xml"
for op in 'prepare begin' 'migrate begin' 'restore begin' 'reconnect begin' 'release end'; do
	passes "a domain of 9 MB without a vGPU passes $op" in_words hook vm "$op -" <"$work/none.xml"
done
with 0000:99:00.1 >"$work/small.xml" && large "$work/small.xml" >"$work/nic.xml"
passes "so does one with a network card, where the pool has VFs" hook vm prepare begin - <"$work/nic.xml"
passes "in its release, too" hook vm release end - <"$work/nic.xml"
with $vf >"$work/vf.xml" && large "$work/vf.xml" >"$work/large-vf.xml"
refused_in_a_line "one with a VF of the pool does not" M_XML_TOO_LARGE 8 -- hook vm prepare begin - <"$work/large-vf.xml"
large "$vm" >"$work/large.xml"
refused_in_a_line "nor one with an mdev" M_XML_TOO_LARGE 8 -- hook vm prepare begin - <"$work/large.xml"
refused_in_a_line "nor to migrate" M_XML_TOO_LARGE 8 -- hook vm migrate begin - <"$work/large.xml"
passes "its restore does, as its failure would delete the image" hook vm restore begin - <"$work/large.xml"
passes "and its reconnect, as that would kill the guest" hook vm reconnect begin - <"$work/large.xml"
is "$(devices)$(leases)" 0 "nothing came of all that"
is "$(refusals request)|$(refusals error)" "3|0" "but three refusals, which are the domain's fault"
"$builddir/hooks/qemu" --root "$root" --dry-run -- vm prepare begin - <"$work/none.xml" >"$work/out"
holds "a dry run of one without a vGPU prints it whole" cmp "$work/none.xml" "$work/out"

prepare
sed 's/<\/uuid>.*/<\/uuid>/' "$vm" >"$work/x.xml" && large "$work/x.xml" >"$work/large.xml"
passes "what a domain has leased is released though it is 9 MB by now" hook vm release end - <"$work/large.xml"
is "$(devices)$(leases)" 0 "all of it"
prepare "$work/vf.xml"
is "$(leases)" 1 "a VF, too"
passes "is released by such a release" hook vm release end - <"$work/large-vf.xml"
is "$(leases)" 0 "with its lease"
prepare
passes "a release whose XML is cut behind the UUID releases" hook vm release end - < <(sed '/<\/uuid>/q' "$vm"; echo "mdev")
is "$(devices)$(leases)" 0 "all of it, too"

LD_DEBUG=libs hook vm release end - <"$vm" >"$work/out" 2>"$work/libs"
fails "a release does not load the XML library" grep -q libxml2 "$work/libs"

### One file of libvirt's
mkdir -p "$root/run/libvirt/qemu"
aa=${u1%??}aa bb=${u1%??}bb
{ fill 17000000; echo "<address uuid='$aa'/>"; fill 1000000; } | libvirt_has huge
make_device 0000:84:00.0 nvidia-222 $u1
holds "beside a definition of 18 MB a start takes the device that exists" prepare
release "$vm"
for orphan in "$aa" "$bb"; do make_orphan 0000:84:00.0 nvidia-222 "$orphan"; done
for_guest $u1 nvidia-222 0000:84:00.0
holds "and gc goes on" lease gc
is "$(devices)" "$aa " "with what no file names, however far down"

ln -s loop.xml "$root/etc/libvirt/qemu/loop.xml"
make_device 0000:84:00.0 nvidia-222 $u1
holds "beside a definition that cannot be read a start takes the device that exists, too" prepare
release "$vm"
holds "gc goes on" lease gc
is "$(devices)" "$u1 $aa " "but removes nothing foreign, as the file may name it"
reports "and says so" lease gc --dry-run -- M_NAMED_UNKNOWN
holds "with the file" grep -q '/loop.xml: Too many levels' <<<"$said"
mv "$root/etc/libvirt/qemu/loop.xml" "$root/run/libvirt/qemu/"
hook vm prepare begin - <"$vm"
sed -i 's/^since_ms=.*/since_ms=1/' "$root/run/vgpu-lease/leases/$u1"
lease gc >"$work/out" 2>&1
is "$(leases)" 1 "beside a status file that cannot be read no domain is taken for dead"
rm "$root/run/libvirt/qemu/loop.xml"
lease gc >"$work/out" 2>&1
is "$(leases)" 0 "which it is without"
tap_done
