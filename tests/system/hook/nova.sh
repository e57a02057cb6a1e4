#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Domains as Nova starts, suspends, resumes and destroys them: what Nova or mdevctl counts as its own is created where it is missing, and kept.
. "$(dirname "$0")/../../lib/hook.sh"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'start_grace = 1'
card=0000:84:00.0

# nova_xml [UUID]...: the domain as Nova 31 defines it, with these mdevs.
nova_xml() {
	local mdev
	cat <<-XML
		<domain type='kvm'>
		  <name>instance-00000001</name>
		  <uuid>$vm_uuid</uuid>
		  <metadata>
		    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">
		      <nova:package version="31.0.0"/>
		      <nova:name>a</nova:name>
		      <nova:owner><nova:user uuid="u">user</nova:user><nova:project uuid="p1">project</nova:project></nova:owner>
		    </nova:instance>
		  </metadata>
		  <memory unit='KiB'>32768</memory>
		  <vcpu>1</vcpu>
		  <os><type arch='x86_64'>hvm</type></os>
		  <devices>
	XML
	for mdev; do
		printf "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci' display='off'><source><address uuid='%s'/></source></hostdev>\n" "$mdev"
	done
	printf '  </devices>\n</domain>\n'
}
nova_xml $u1 >"$work/nova.xml"
nova_xml >"$work/unplugged.xml"
define() { mdevctl_has $card "$1" "$2" "${3:-auto}"; } # UUID TYPE [START]
undefine() { rm "$root/etc/mdevctl.d/$card/$1"; }

### Power on after the driver was reloaded, suspend, resume, destroy
holds "plan says whose a missing device will be" says M_KEPT_NOVA < <(lease plan "$work/nova.xml")
then_is "a device that is missing is created, and is Nova's" "$u1 adopted" "echo \$(devices) \$(lease_has origin)" prepare "$work/nova.xml"
holds "which show says" grep -q '"owner": "nova"' < <(lease show "$u1" --json)
holds "the list says that it stays" grep -q '"origin": "adopted"' < <(lease list --json)
is "$("$builddir/hooks/qemu" --root "$root" --dry-run -- vm release end saved <"$work/unplugged.xml" 2>&1 >/dev/null)" \
	"keep the device and drop the lease of $u1, nvidia-222 on $card" "a suspend unplugs it first: a dry run of its release says that it stays"
leaves "and so it does" "$u1 0" release "$work/unplugged.xml" saved
hook vm restore begin - <"$work/unplugged.xml"
leaves "for the resume, which plugs it in again" "$u1 0" prepare "$work/unplugged.xml"
origin_is "the next start adopts it" adopted prepare "$work/nova.xml"
leaves "and the end of the domain leaves it, too" "$u1 0" release "$work/nova.xml"
remove_device $u1

### A definition whose device is missing
define $u1 nvidia-222
holds "plan says that a definition keeps it" says M_KEPT_DEFINED < <(lease plan "$vm")
then_is "what mdevctl has defined is created, and is mdevctl's" "$u1 adopted" "echo \$(devices) \$(lease_has origin)" prepare
leaves "it is left standing, so that no definition is without its device" "$u1 0" release
holds "with its definition" test -e "$root/etc/mdevctl.d/$card/$u1"
undefine $u1
remove_device $u1
origin_is "what nobody else has defined is the hook's" created prepare
define $u1 nvidia-222 manual
leaves "but what was defined meanwhile is left standing" "$u1 0" release
undefine $u1
remove_device $u1

### A definition on a pGPU outside the pool: the vGPU of the pool that the domain gets instead is none of mdevctl's
configure nvidia-222@$card policy 'driver_cleanup = 0' 'start_grace = 1'
mdevctl_has 0000:85:00.0 $u1 nvidia-222 auto
fails "plan does not say that it is kept" says M_KEPT_DEFINED < <(lease plan "$vm")
then_is "the vGPU that is created on another pGPU is the hook's" "$card created" "echo \$(parent_of $u1) \$(lease_has origin)" prepare
rm "$root/run/vgpu-lease/leases/$u1"
origin_is "also where its lease was lost" created reconnect
leaves "it is removed at release, as it would hold capacity of the pool and the UUID" 0 release
holds "the definition stays" test -e "$root/etc/mdevctl.d/0000:85:00.0/$u1"
rm "$root/etc/mdevctl.d/0000:85:00.0/$u1"
configure nvidia-222 policy 'driver_cleanup = 0'

### All or nothing
nova_xml $u1 "$(numbered 2)" >"$work/two.xml"
for n in {3..17}; do make_device $card nvidia-222 "$(numbered "$n")"; done
fails "a domain for whose second vGPU there is no capacity is refused" prepare "$work/two.xml"
fails "and the first one is not left behind" test -e "$root/sys/bus/mdev/devices/$u1"
for n in {3..17}; do remove_device "$(numbered "$n")"; done

### Its name and project in Nova
prepare "$work/nova.xml"
is "$(lease list -o DOMAIN,INSTANCE,PROJECT | tr -s ' ')" $'DOMAIN INSTANCE PROJECT\ninstance-00000001 a p1' "list has them"
holds "by itself where there is an instance" grep -q ' DOMAIN  *INSTANCE  *NOTE' < <(lease list)
holds "so has its JSON" grep -q '"instance": "a"' < <(lease list --json)
holds "status has the name" grep -Eq 'instance-00000001  a  ' < <(lease status)
is "$(lease show $u1 | sed -nE 's/^ *(instance|project):? +//p' | paste -sd ' ')" "a p1" "show has both"
holds "and metrics" grep -q 'project="p1",instance_name="a"' < <(lease metrics)
second() { nova_xml $u1 | sed "s/$vm_uuid/${vm_uuid%??}02/; s/instance-00000001/instance-00000002/; s/>a</>b</"; }
reports "another instance with its mdev is told who has it, and what to do in Nova" prepare <(second) \
	-- M_LEASED_TO_NOVA instance-00000001 "a, $vm_uuid"
sed -i /^instance=/d "$root/run/vgpu-lease/leases/$u1"
holds "a lease of the version before has no such name" grep -q '"instance": null' < <(lease list --json)
release "$work/nova.xml"

### The lease of a domain that ended unseen, and one that was lost
prepare "$work/nova.xml"
configure nvidia-222 policy 'driver_cleanup = 0' 'start_grace = 1' && sleep 1.1
leaves "gc drops the lease of an instance that no longer runs, and keeps its device" "$u1 0" lease gc
origin_is "a lease that is recovered says that it is Nova's" adopted reconnect "$work/nova.xml"
leaves "so that the device stays then, too" "$u1 0" release "$work/nova.xml"
remove_device $u1
prepare
rm "$root/run/vgpu-lease/leases/$u1"
origin_is "also of a device that an earlier version created as its own" adopted reconnect "$work/nova.xml"
remove_device $u1
rm "$root/run/vgpu-lease/leases/$u1"

### The driver is reloaded while the instance is suspended: Nova attaches what it finds after the resume, and nothing else
configs=$root/etc/libvirt/qemu
mkdir -p "$configs"
cp "$work/nova.xml" "$configs/vm.xml"
runs() { sed "s/<domain type='kvm'/& id='1'/" "$1" | libvirt_runs vm; } # FILE: the running domain
is "$(hook vm restore begin - <"$work/unplugged.xml")" "" "a restore leaves the XML as it is"
holds "and its start passes" hook vm prepare begin - <"$work/unplugged.xml"
is "$(devices)$(lease_has origin)$(type_of $u1)" "$u1 adoptednvidia-222" "with the mdev that the definition names, for Nova to attach"
runs "$work/nova.xml"
fails "a domain that has all its vGPUs is no finding" grep -q 'without vGPU' < <(lease check)
runs "$work/unplugged.xml"
holds "one that runs without it is a failure of check" says M_CHECK_LACKS_DEFINED vm "$u1" < <(lease check | grep '^FAIL')
holds "of status, too" says M_CHECK_LACKS_DEFINED vm "$u1" < <(lease status | tr -s '\n│ ' ' ')
leaves "which stays when the instance is suspended once more" "$u1 0" release "$work/unplugged.xml" saved
remove_device $u1
sed "s/$u1/$(numbered 7)/" "$work/nova.xml" | runs /dev/stdin
fails "a domain that has another UUID since a migration misses nothing" grep -q 'without vGPU' < <(lease check)
rm "$configs/vm.xml"
flavored() { sed 's|</nova:instance>|<nova:flavor name="vgpu.tiny"/>&|' "$1"; }
flavored "$work/unplugged.xml" | runs /dev/stdin
fails "an instance without a vGPU is no finding by itself" grep -q 'without a vGPU' < <(lease check)
flavored "$work/nova.xml" | sed "s/$vm_uuid/${vm_uuid%??}77/" >"$configs/other.xml"
holds "it is where another one of its flavor has one: a resize was reverted" says M_CHECK_LACKS_LIKE vm other < <(lease check | grep '^WARN')
libvirt_runs other <"$configs/other.xml"
rm "$configs/other.xml"
holds "also if that one runs and its definition is not there: libvirt's container may be stopped" says M_CHECK_LACKS_LIKE vm other < <(lease check | grep '^WARN')
rm "$root/run/libvirt/qemu/other.xml"
cp "$work/nova.xml" "$configs/vm.xml"
rm "$root/run/libvirt/qemu/vm.xml"
for n in {1..16}; do make_device $card nvidia-222 "$(numbered $((n + 32)))"; done
passes "without capacity the guest comes back all the same" prepare "$work/unplugged.xml"
for n in {1..16}; do remove_device "$(numbered $((n + 32)))"; done
log_here
mount -t tmpfs -o ro,mode=755 tmpfs "$root/run/vgpu-lease"
hook vm prepare begin - <"$work/unplugged.xml"
umount "$root/run/vgpu-lease"
told_absent() { logged | grep -a " detached: vGPU $u1: " | says M_ABSENT_NO_CONF "*"; }
holds "and where nothing can be leased the log says why of the vGPU, as a refused start does" eventually told_absent
sed -i 's/nova:/other:/; s/:nova=/:other=/; s,http://openstack.org,http://example.org,' "$work/unplugged.xml"
hook vm prepare begin - <"$work/unplugged.xml"
is "$(devices)" "" "nothing is created for a domain that is not Nova's"
nova_xml >"$work/unplugged.xml"
rm -r "$configs"

### A live migration: Nova gives the hostdev the target's UUID, and the metadata keep the source's
driver=$(cat "$root/sys/module/nvidia/version")
configure nvidia-222@0000:84:00.0 nvidia-223 policy 'driver_cleanup = 0'
source=5b20d080-1b54-4048-85b3-a6a62d165c01
# arriving ATTRIBUTES: as get_updated_guest_xml() makes it of what the source's handler has written.
arriving() {
	local lease="<vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device uuid='$source' $1/></vgpu:lease>"
	nova_xml $u1 | sed "s|</nova:instance>|&$lease|"
}
facts="type='nvidia-222' name='GRID T4-1B' framework='mdev' model='10de:1eb8' driver='1.2.3'"
is "$(arriving "$facts" | migrate /dev/stdin 2>&1)" \
	"$(message M_REFUSED_THERE vm "$root" "$u1" "$(message M_OTHER_DRIVER 1.2.3 "$driver")")" \
	"another version of the driver is refused"
make_device $card nvidia-223 $u1
arriving "type='nvidia-222' name='GRID T4-1B' driver='$driver'" >"$work/arriving.xml"
migrate "$work/arriving.xml" >"$work/arrived.xml"
fails "a device of another type is not taken" grep -q "address uuid='$u1'" "$work/arrived.xml"
fails "and the metadata follow the hostdev" grep -q "$source" "$work/arrived.xml"
remove_device $u1
rm -rf "$root/run/vgpu-lease/leases"
holds "one that Nova's check has claimed and that is gone is created again" migrate "$work/arriving.xml"
is "$(prepare "$work/arriving.xml"; devices)$(type_of $u1)" "$u1 nvidia-222" "with the source's type"
release "$work/nova.xml"
remove_device $u1
tap_done
