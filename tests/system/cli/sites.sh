#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hosts as other people have set them up, and whether what the commands say of them is true.
. "$(dirname "$0")/../../lib/cli.sh"
notes_of() { grep -E "^(PASS|WARN|FAIL)  *$1 " <<<"$out"; }
# check_notes SENTENCE TEXT WHAT COMMAND...: what the command makes of the lines of check that are of WHAT, in one line.
check_notes() { vl check; is "$(notes_of "$3" | "${@:4}" | paste -sd' ')" "$2" "$1"; }

### A compute node whose nova.conf lists the cards, although their mdevs are on VFs
host a40/8:2+l40s/2
of_nova nvidia-558@0000:41:00.0 nvidia-557@0000:42:00.4 nvidia-1147@0000:26:00.0
check_counts "a card that is listed in the place of its VFs is a warning" 1 "^WARN +nova "
holds "which names the first of them" says M_CHECK_NOVA_VFS nvidia-558 8 nvidia-558 0000:41:00.4 <<<"$out"
holds "a VF that is listed counts" says M_CHECK_NOVA 1 nvidia-557 0 '' 1 0 < <(notes_of nova)
holds "VFs that take a type are none of Nova's mdevs, and are said to be" says M_CHECK_NOVA_PCI nvidia-1147 <<<"$out"
create 0000:42:00.5 nvidia-557 1
vl_words "capacity is of the VF that is listed, and of one that others use" "nvidia-557 2 1 1" types --type nvidia-557 --no-headings -o TYPE,CAPACITY,USED,AVAILABLE
vl_counts "the export for Placement agrees" "0 1" nvidia-557 export placement --no-headings
under devices 'nova_conf = /etc/nova/nova.conf' 'enabled_mdev_types = nvidia-557, nvidia-1147' -- vl_counts "also with a list in vgpu-lease.conf" "0 1" nvidia-557 export placement --no-headings

### Kayobe: its role makes an mdev on each VF of nova.conf at boot, MIG-backed on one card, and Nova hands them out
new_host a100d@0000:17:00.0+a100d@0000:65:00.0
for setting in on 1g.10gb 2g.20gb 2g.20gb 2g.20gb; do control mig "0000:17:00.0 $setting"; done
of_nova nvidia-700@0000:17:00.4,0000:17:00.5,0000:17:00.6 'mdev_class = CUSTOM_NVIDIA_700' \
	nvidia-699@0000:17:00.7 'mdev_class = CUSTOM_NVIDIA_699' nvidia-697@0000:65:00.4,0000:65:00.5 'mdev_class = CUSTOM_NVIDIA_697'
n=0
for vf in 17:00.4=700 17:00.5=700 17:00.6=700 17:00.7=699 65:00.4=697 65:00.5=697; do
	n=$((n + 1))
	mdevctl_has "0000:${vf%=*}" "$(uuid $n)" "nvidia-${vf#*=}"
	create "0000:${vf%=*}" "nvidia-${vf#*=}" $n
done
check_notes "an idle pool is no warning, because an instance gets a vGPU of it" \
	"PASS on 0000:17:00.4 PASS on 0000:17:00.7 PASS on 0000:65:00.4" type grep -o '^PASS\|on 0000.*'
remove_device "$(uuid 6)"
check_says "a vGPU of the pool that its role has not made yet is to be started, not only given up" " mdevctl " \
	M_CHECK_NOVA_ALONE "$(uuid 6)" "$(uuid 6)"
fails "and nobody is told to list fewer VFs, which are as many as fit" grep -qE '^WARN +nova ' <<<"$out"
mkdir -p "$root/etc/libvirt/qemu"
ln -s broken.xml "$root/etc/libvirt/qemu/broken.xml"
check_says "and not, while a definition cannot be read that may name it" " mdevctl " \
	M_CHECK_NOVA_UNREAD "$root/etc/libvirt/qemu/broken.xml: Too many levels of symbolic links"
rm "$root/etc/libvirt/qemu/broken.xml"
create 0000:65:00.5 nvidia-697 6
for n in 5 6; do call prepare begin $n; done
check_counts "a type whose vGPUs are all leased is one" 1 "^WARN +type "
vl_makes "capacity is that of the VFs that are listed" "0 nvidia-697 2 2 0 nvidia-699 1 1 0 nvidia-700 3 3 0" "grep -E ' [1-9]' | xargs" \
	types --no-headings -o TYPE,CAPACITY,USED,AVAILABLE

### A compute node whose cards have more VFs than fit of the type, each of which Nova counts: time-sliced, and in MIG mode
new_host a40/8:2
of_nova nvidia-565@0000:41:00.0
check_says "if the card is listed, as many of its VFs as fit are to be listed instead" "^WARN +nova " M_CHECK_NOVA_VFS nvidia-565 2 nvidia-565 0000:41:00.4
of_nova nvidia-565@0000:41:00.4,0000:41:00.5,0000:41:00.6
check_says "that Nova counts more than the card holds is a warning" "^WARN +nova " M_CHECK_NOVA_MORE 3 nvidia-565 2 2 nvidia-565
of_nova nvidia-565@0000:41:00.4,0000:41:00.5
check_counts "unless as many VFs are listed" 0 "^WARN +nova "
of_nova nvidia-565@0000:41:00.4,0000:41:00.5,0000:41:00.6 'max_instances = 2'
check_says "or max_instances is what the card holds" "^PASS +nova " M_CHECK_NOVA 2 nvidia-565 0 '' 2 0
check_counts "which nobody is told to raise" 0 "^WARN +nova "
of_nova nvidia-565@0000:41:00.4 nvidia-566@0000:41:00.5
check_says "so are two types that fit alone, but not together" "^WARN +nova " M_CHECK_NOVA_SUM 1 nvidia-566 49152 nvidia-566
of_nova nvidia-565 'max_instances = 4'
check_says "max_instances counts the VFs of the first card only" "0000:41:00.0" M_CHECK_NOVA_MORE 4 nvidia-565 2 2 nvidia-565
check_says "which leaves none for the second" "0000:42:00.0" M_CHECK_NOVA_NO_VF 0 nvidia-565 2 4 2 nvidia-565
of_nova nvidia-565
for vf in 4 5; do create 0000:41:00.$vf nvidia-565 $vf; done
check_counts "on a full card, Nova counts what is there" 1 "^WARN +nova "
new_host a40/8:2
of_nova nvidia-565@0000:41:00.4,0000:41:00.5
call migrate begin 1 nvidia-565 >/dev/null
vl_counts "an arrival has reserved one" "0 1" reserved list --no-headings
check_counts "a reservation makes no card smaller" 0 "^WARN +nova "
of_nova nvidia-558 'max_instances = 4'
check_says "where all VFs are used, max_instances is what is too low, on the first card" "0000:41:00.0" M_CHECK_NOVA_LIMITED 4 nvidia-558 8 4 nvidia-558 16
check_says "and on the second" "0000:42:00.0" M_CHECK_NOVA_LIMITED 0 nvidia-558 8 4 nvidia-558 16
of_nova nvidia-565@0000:42:00.4,0000:42:00.5 && create 0000:42:00.7 nvidia-565 2
check_says "a vGPU on a VF that Nova does not have makes its card smaller" "0000:42:00.0" M_CHECK_NOVA_MORE 2 nvidia-565 1 1 nvidia-565
new_host a100/8
for setting in on 3g.20gb 3g.20gb; do control mig "0000:61:00.0 $setting"; done
of_nova nvidia-476
check_says "of a type of GPU instances, the card holds at most as many as instances of its size" "^WARN +nova " \
	M_CHECK_NOVA_MORE 8 nvidia-476 2 2 nvidia-476

### CubeCOS: VFs of one model have their types from boot, and are PCI devices for Nova
new_host rtxpro6000/8
configure devices 'nova_conf = /etc/nova/nova.conf' 'enabled_mdev_types = nvidia-1519, nvidia-1520' \
	mdev_nvidia-1519@0001:c8:00.2 mdev_nvidia-1520@0001:c8:00.3
nova_has </dev/null
for vf in 2=1519 3=1520; do set_vf_type "0001:c8:00.${vf%=*}" "${vf#*=}"; done
check_notes "a VF that is preset to a type counts as free for it, with Nova too" "PASS PASS" type cut -d' ' -f1
vf_domain 1 0001:c8:00.2 yes | sed "s|</uuid>|&<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>|" | libvirt_has vm1
vl_prints "an instance with managed='yes' is Nova's to change, not the XML's" check -- M_MANAGED_NOVA
fails "for which nobody is sent to its XML" grep -q 'correct the \(hostdev\|metadata\)' <<<"$out"
rm -r "$root/etc/libvirt/qemu"
vl export nova-pci
is "$(grep -c '^device_spec.*00\.2".*"resource_class": "CUSTOM_NVIDIA_1519"}$' <<<"$out")" 1 "each VF is exported with a class of its type"
is "$(grep -c '^alias.*"nvidia-1520".*"resource_class": "CUSTOM_NVIDIA_1520"}$' <<<"$out")" 1 "which is what its alias asks for"
holds "and Placement has to know of it" grep -qx 'report_in_placement = true' <<<"$out"
under nvidia-1519@0001:c8:00.2,0001:c8:00.4 'max_instances = 1' -- vl_counts "one type of a model needs no class, nor more VFs" "0 1" 'resource|report_|^device' export nova-pci
new_host rtxpro6000/8 nvidia-1546@0001:c8:00.2,0001:c8:00.3 nvidia-1561@0001:c8:00.4
for setting in on 1g.24gb; do control mig "0001:c8:00.0 $setting"; done
start_vf 1 0001:c8:00.2
vl_prints "a GPU instance that several vGPUs can share has not the size of one of them" check -- M_MIG_CREATES 0001:c8:00.0 PROFILE
holds "one of a single vGPU has" says M_MIG_CREATES 0001:c8:00.0 1g.24gb <<<"$out"

### A unit creates a pool of mdevs before libvirtd, which starts a guest with one of them at once, and later has it no more
new_host t4 nvidia-222@0000:84:00.0
vl gc
for n in 1 2; do create 0000:84:00.0 nvidia-222 $n; done
start_daemon libvirtd libvirtd.pid
create 0000:84:00.0 nvidia-222 3
for n in 1 3; do call prepare begin $n && call release end $n; done
stop_daemon
vl gc --grace 0
holds "an mdev of the pool is no orphan" exists 1
fails "one that was created since is" exists 3

### VFs that have had their type since the boot, on a card that is full of it and that nobody has seen empty
new_host a10/8
for vf in 5 7; do set_vf_type "0000:d8:00.$vf" 596; done
under nvidia-596@0000:d8:00.0 -- vl_words "its capacity is not that of its VFs" "2 2 0" inventory --no-headings -o CAPACITY,USED,AVAILABLE
vl_makes "Nova gets these, because no other can start" "0 5 7" "grep -o '^device_spec.*d8:00\..' | sed 's/.*\.//' | xargs" export nova-pci
vl_counts "status does not call it full, because starts with these succeed" "0 1" '2 of 2, 2 not leased' status
start_vf 1 0000:d8:00.5
reports "a start there is refused as on any full card" start_vf 2 0000:d8:00.6 -- M_NO_CAPACITY -- M_FULL_NO_MAX 0000:d8:00.0 2 -- M_FIX_FREE there
under nvidia-596@0000:d8:00.4,0000:d8:00.5 -- vl_makes "one on a VF that Nova does not have leaves it fewer" "0 5" \
	"grep -o '^device_spec.*d8:00\..' | sed 's/.*\.//' | xargs" export nova-pci
mdevctl_has 0000:d8:00.4 "$(uuid 1)" 'no type'
# shellcheck disable=SC2016 # The inner shell expands it.
holds "neither mdevctl nor the name of the host matters to VFs" \
	unshare -u sh -c 'echo "no name" >/proc/sys/kernel/hostname; exec "$@"' - "$builddir/vgpu-lease" --root "$root" export nova-pci

### An instance is deleted, and Nova gives its VF to the next one at once, while vgpu-mgr still holds it
new_host l40s/4 nvidia-1147
under nvidia-1147@0000:26:00.4 nvidia-1156@0000:26:00.5 -- \
	vl_prints "before, VFs of two types that the card cannot have together are marked" export nova-pci -- M_NOVA_PCI_SUM 0000:26:00.0 49152
configure nvidia-1147
control plugin_delay_ms "0000:26:00.0 2000"
start_vf 1 0000:26:00.4
exec 7<>"$(node_of 0000:26:00.4)" 7>&-
end_vf 1 0000:26:00.4
said=$(start_vf 2 0000:26:00.4 2>&1)
is "$?|$said" "0|" "the start waits for the VF"
vl_words "and gets it" "0000:26:00.4 active vm2" list --no-headings -o ID,STATE,DOMAIN

### A compute node with definitions of others: of devices that are none of Nova's, and of s390 kind
new_host t4:2+gvt-g-256
of_nova nvidia-222@0000:84:00.0
mdevctl_has 0000:85:00.0 "$(uuid 1)" nvidia-222 auto
mdevctl_has 0000:00:02.0 "$(uuid 2)" i915-GVTg_V5_4 auto
mdevctl_has matrix "$(uuid 3)" vfio_ap-passthrough auto
mkdir -p "$root/etc/mdevctl.d/scripts.d/callouts"
check_counts "no word about definitions without a device that Nova does not count" 0 "^[A-Z]+ +mdevctl "
mdevctl_has 0000:84:00.0 "$(uuid 5)" nvidia-222
check_notes "only one that it counts is to be removed" "undefine -u $(uuid 5)'" mdevctl grep -o "undefine -u .*'"
holds "and the number is that of Nova" says M_CHECK_NOVA 17 nvidia-222 0 '' 16 1 <<<"$out"
mdevctl_has 0000:84:00.0 "$(uuid 5)" nvidia-223
vl_prints "one of another type on Nova's card is started, not counted" check -- M_CHECK_NOVA_STARTS nvidia-223 nvidia-222 "$(uuid 5)"
mdevctl_has 0000:84:00.0 "$(uuid 5)" nvidia-222
configure nvidia-222@0000:84:00.0
check_notes "and only one of the pool matches it" "PASS mdevctl 1 definition matches the pool" mdevctl tr -s ' '

### VFs of an Intel card that QEMUs outside libvirt have, as those of containers and of Incus
new_host flex/3 vf_flex@0000:4d:00.0
vf=0000:4d:00
holders=()
for n in 1 2; do open_device "$vf.$n" && holders+=("$holder"); done
vl_words "inventory counts VFs that are open as used" "3 2 1" inventory --no-headings -o CAPACITY,USED,AVAILABLE
vl_like "and so does status" "0|*2 of 3, 1 available*|" status
open_device "$vf.3" && holders+=("$holder")
vl_like "also if none is left" "0|*3 of 3, full*|" status
reports "as a start says" start_vf 1 $vf.1 yes -- M_OPEN "process ${holders[0]}"
kill "${holders[@]}"

### VFs whose guests name their types: what a start would refuse, check says of a guest that is off
new_host l40s/4+flex/2
mkdir -p "$root/etc/libvirt/qemu/broken.xml"
# vf_guest SENTENCE "ADDRESS MANAGED [TYPE]" [KEY ARG...]: of a guest with this VF check agrees with a start, which is refused so.
vf_guest() {
	local said
	in_words vf_domain 1 "$2" | libvirt_has vm1
	said=$(in_words start_vf 1 "$2" 2>&1)
	in_words end_vf 1 "$2"
	vl check
	is "$(notes_of domain | grep -c "^FAIL.*${said#vgpu-lease: domain vm1: }")" $(($# > 2)) "$1"
	[ $# = 2 ] || holds "as a start does, with the reason" says "${@:3}" <<<"$said"
}
configure nvidia-1152@0000:26:00.0 nvidia-1148@0000:26:00.0 vf_flex@0000:4d:00.0 policy 'pgpu_types = several'
vf_guest "check names a guest without a type, where there are several" "0000:26:00.4 no" M_WHICH_TYPE_ABSENT "nvidia-1152, nvidia-1148"
vf_guest "one whose type is mistyped" "0000:26:00.4 no nvidia-9999" M_UNKNOWN_TYPE nvidia-9999 ""
vf_guest "also of a plain VF" "0000:4d:00.1 yes nvidia-9999" M_UNKNOWN_TYPE nvidia-9999 ""
vf_guest "one whose type is not enabled" "0000:26:00.4 no nvidia-1150" M_SERVES_MORE nvidia-1152
vf_guest "but none that can start" "0000:26:00.4 no nvidia-1148"
configure nvidia-1152@0000:26:00.4 nvidia-1148@0000:26:00.5
vf_guest "one whose type is another VF's" "0000:26:00.4 no nvidia-1148" M_VF_SERVES 0000:26:00.4 nvidia-1152
set_vf_type 0000:26:00.4 1148
vf_guest "but none whose VF has its type" "0000:26:00.4 no nvidia-1148"
vf_guest "one whose VF has been given another type" "0000:26:00.4 no nvidia-1152" M_VF_OF_OTHER_TYPE nvidia-1148 nvidia-1152
### The GPU of a desktop's processor, whose VFs its driver has: libvirt binds vfio-pci for a hostdev with managed='yes' only
new_host flex/7@0000:00:02.0 vf_gpu@0000:00:02.0
control bind "0000:00:02.0 i915"
vf_guest "a guest with managed='yes' starts" "0000:00:02.1 yes"
vf_guest "one without would be refused" "0000:00:02.1 no" M_VF_BOUND 0000:00:02.1 i915
control bind "0000:00:02.1 vfio-pci"
vf_guest "unless vfio-pci is bound to its VF" "0000:00:02.1 no"

### Cards of NVIDIA's in a section of plain VFs, with VFs and without
new_host l40s/2+t4 vf_gpu@0000:26:00.0,0000:84:00.0
for card in 26 84; do
	check_says "a card in [vf_NAME] whose vGPUs have types fails for that" "^FAIL +pgpu .*0000:$card:00.0" M_NEEDS_TYPE
	is "$(grep -c "0000:$card:00.0" <<<"$out")" 1 "and is named once"
done
reports "a start does not say either that nothing names it" start_vf 1 0000:26:00.4 -- M_NEEDS_TYPE
new_host t4 nvidia-222 vf_gpu@0000:84:00.0
check_says "so does one that is in the pool for a type" "^FAIL +pgpu .*0000:84:00.0" M_NEEDS_TYPE

### Two guests take turns on one VF, each with a type of its own
new_host l40s/4 nvidia-1156@0000:26:00.0 nvidia-1147@0000:26:00.0 policy 'pgpu_types = several'
vf_domain 1 0000:26:00.4 no nvidia-1156 | libvirt_has vm1
vf_domain 2 0000:26:00.4 no nvidia-1147 | libvirt_has vm2
start_vf 1 0000:26:00.4 no nvidia-1156
vf_domain 1 0000:26:00.4 no nvidia-1156 | libvirt_runs vm1
check_counts "that one has it now is no fault of the other" 0 "^FAIL "
reports "whose start is refused meanwhile" start_vf 2 0000:26:00.4 no nvidia-1147 -- M_LEASED_TO vm1 "$(domain_uuid 1)"
rm "$root/run/libvirt/qemu/vm1.xml"
end_vf 1 0000:26:00.4 no nvidia-1156
is "$(start_vf 2 0000:26:00.4 no nvidia-1147 2>&1)" "" "and succeeds afterwards"

### A card in MIG mode, whose GPU instances are gone after a boot: its VFs list no type at all
new_host rtxpro6000/4
card=0001:c8:00.0
control mig "$card on"
rm "$root/etc/vgpu-lease.conf"
vl_says "init does not say that there is no GPU" 1 init -- M_INIT_NONE
holds "but that it has no types" says M_NO_TYPES <<<"$err"
vl_says "types refers to inventory" 0 types -- M_INIT_NOTHING
for words in '' nvidia-1525 nvidia-1525@$card; do
	under devices "$words" -- vl_prints "inventory says so with '$words'" inventory -- M_NO_TYPES
	holds "and what to do" says M_NO_TYPES_DO $card <<<"$out"
	vl_prints "as does check" check -- M_NO_TYPES
done
reports "and the refusal of a start" start_vf 1 0001:c8:00.2 no -- M_NO_TYPES

### A pool of the deployment is defined while a guest that is not of it has the VF of one definition; mdevctl starts none yet
new_host a40/8 nvidia-558@0000:41:00.0
call prepare begin 2
mdevctl_has 0000:41:00.4 "$(uuid 1)" nvidia-558 auto
call prepare begin 1
vl_words "so the guest of that definition has its vGPU on another VF" "0000:41:00.5" list --pgpu 0000:41:00.0 --domain vm1 --no-headings -o PARENT
check_notes "for which nobody is told to remove the definition" "PASS mdevctl 1 definition matches the pool" mdevctl tr -s ' '
mdevctl_has 0000:41:00.5 "$(uuid 1)" nvidia-558 auto
check_counts "but of two definitions of one UUID" 1 "^WARN +mdevctl .*undefine -u $(uuid 1) -p 0000:41:00.4'"
mdevctl_has 0000:41:00.6 "$(uuid 9)" nvidia-558
call prepare begin 3
vl_words "another guest leaves the VF of a definition to that" "0000:41:00.7" list --domain vm3 --no-headings -o PARENT

### mdevs that are defined, and started by a script after the boot: the first configuration is written before that
new_host t4:2+a40/2
mdevctl_has 0000:85:00.0 "$(uuid 1)" nvidia-222
mdevctl_has 0000:41:00.4 "$(uuid 2)" nvidia-562
mdevctl_has 0000:41:00.4 "$(uuid 3)" nvidia-999
domain 1 "$(uuid 1)" | libvirt_has vm1
rm "$root/etc/vgpu-lease.conf"
vl init --write
vl_words "a pGPU gets the type of its definitions" "0000:41:00.0 nvidia-562 0000:84:00.0 nvidia-231 0000:85:00.0 nvidia-222" inventory --no-headings -o PGPU,TYPE
check_notes "with which check finds no fault" "" mdevctl grep -v ^PASS
is "$(call prepare begin 1 2>&1)" "" "and the guest starts"

### libvirt's nodedev-define with autostart, and a configuration with another type: the boot has not started the mdev
new_host t4 nvidia-231@0000:84:00.0
mdevctl_has 0000:84:00.0 "$(uuid 1)" nvidia-230 auto
domain 1 "$(uuid 1)" | libvirt_has vm1
check_says "the domain would be refused for the type of its definition" "^FAIL +domain " M_CHECK_DOMAIN_REFUSED vm1
holds "which is named with its file" says M_TYPE_DEFINED nvidia-230 "/etc/mdevctl.d/0000:84:00.0/$(uuid 1)" < <(notes_of domain)
is "$(grep -cE '^FAIL +(domain|type|mdevctl|pgpu) ' <<<"$out")" 1 "and that is all that fails"
fails "as its start does" call prepare begin 1
mdevctl_has 0000:84:00.0 "$(uuid 1)" nvidia-231 auto
check_counts "one of the pool's type is no finding" 0 "^FAIL +domain "
mdevctl_has 0000:84:00.0 "$(uuid 1)" nvidia-230 auto
domain 1 "$(uuid 1)" nvidia-231 | libvirt_has vm1
check_counts "nor is one whose metadata have the pool's type, which comes before the definition's" 0 'would be refused'
is "$(call prepare begin 1 nvidia-231 2>&1)" "" "as a start has it"
call release end 1
domain 1 "$(uuid 1)" | libvirt_has vm1
remove_device "$(uuid 1)"
create 0000:84:00.0 nvidia-230 1
check_counts "nor is one whose mdev exists" 0 "^FAIL +domain "
domain 1 "$(uuid 1)" nvidia-231 | libvirt_has vm1
check_says "but one whose metadata ask for another type than that mdev has" "^FAIL +domain " M_CHECK_DOMAIN_REFUSED vm1
fails "as its start is refused" call prepare begin 1 nvidia-231

### Definitions of the mdevctl of years ago, which were no JSON: a domain whose mdev exists needs none
new_host t4 nvidia-222
mkdir -p "$root/etc/mdevctl.d/0000:84:00.0"
definition=$root/etc/mdevctl.d/0000:84:00.0/$(uuid 1)
printf 'mdev_type=nvidia-222\nstart=auto\n' >"$definition"
domain 1 "$(uuid 1)" | libvirt_has vm1
check_says "a start that has to create it would be refused for that file" "^FAIL +domain " M_DEFINITION_INVALID "$definition"
is "$(notes_of domain | grep -c 'correct the domain')" 0 "and nobody is told that the domain is wrong"
domain 2 "$(uuid 2)" nvidia-999 | libvirt_has vm2
check_notes "but for one whose type nobody knows" 1 domain grep -c 'correct the domain'
rm "$root/etc/libvirt/qemu/vm2.xml"
create 0000:84:00.0 nvidia-222 1
check_counts "if the mdev exists, that is no fault" 0 "^FAIL +domain "
is "$(call prepare begin 1 2>&1)" "" "as a start has it"

### The cards have other addresses since a change of the firmware, and what was defined for the old ones is defined anew
new_host t4:2@0000:af:00.0
configure nvidia-222@0000:af:00.0 nvidia-230@0000:b0:00.0
mdevctl_has 0000:3b:00.0 "$(uuid 1)" nvidia-230 auto
mdevctl_has 0000:af:00.0 "$(uuid 1)" nvidia-222
domain 1 "$(uuid 1)" | libvirt_has vm1
check_notes "the definition of the address that no card has is to go" "undefine -u $(uuid 1) -p 0000:3b:00.0'" mdevctl grep -o "undefine .*'"
call prepare begin 1
vl_words "and the guest gets its vGPU by the other one" "nvidia-222 0000:af:00.0 adopted" list --no-headings -o TYPE,PARENT,ORIGIN

call release end 1
remove_device "$(uuid 1)"
configure nvidia-222@0000:3b:00.0 nvidia-230@0000:3c:00.0
said=$(call prepare begin 1 2>&1)
is "$(grep -c 0000:3b:00.0 <<<"$said")|$(grep -c "type='" <<<"$said")" "1|0" \
	"as long as the configuration has the old ones, no type is advised that no card makes either"

### A pool that is full, and a vGPU on which guests take turns: what a start could have at another time is no finding
new_host t4 nvidia-234@0000:84:00.0
is "$(call prepare begin 2 2>&1)" "" "one guest has all of the pGPU"
for vm in 1=1 3=2; do domain "${vm%=*}" "$(uuid "${vm#*=}")" | libvirt_has "vm${vm%=*}"; done
fails "none else can start" call prepare begin 1
check_counts "which is no fault of those that are off" 0 "^FAIL +domain "

### A later kernel, with which the cards provide VFs: the definitions of mdevs and domains are those of before
new_host l40s/2 nvidia-1151
mdevctl_has 0000:26:00.4 "$(uuid 1)" nvidia-1151 auto
domain 1 "$(uuid 1)" | libvirt_has vm1
check_counts "a definition of an mdev does not match a pool of VFs" 0 "^[A-Z]+ +mdevctl "
holds "a guest with an mdev would be refused" says M_CHECK_DOMAIN_REFUSED vm1 < <(notes_of domain | grep ^FAIL)
holds "with the reason" says M_MAKES_VFS < <(notes_of domain)
configure nvidia-1151 nvidia-1148 policy 'pgpu_types = several'
domain 1 "$(uuid 1)" nvidia-1148 | libvirt_has vm1
check_says "also if it names its type" "^FAIL +domain " M_CHECK_DOMAIN_REFUSED vm1

### Two cards of which one cannot serve, since a boot or because of its slot: starts succeed on the other
new_host a100/8:2 nvidia-476
for setting in on 3g.20gb 3g.20gb; do control mig "0000:61:00.0 $setting"; done
control mig "0000:62:00.0 on"
check_says "a card whose GPU instances are gone is a warning" "^WARN +pgpu +0000:62:00.0" M_CHECK_PROVIDES_NONE "no GPU instance for it is free"
holds "with what makes one" says M_MIG_CREATES 0000:62:00.0 3g.20gb < <(notes_of pgpu)
control mig "0000:62:00.0 3g.20gb"
check_counts "one that can serve is none" 0 "^WARN "
for n in 1 2 3; do call prepare begin $n; done
check_counts "nor is one that is full" 0 "^WARN +pgpu "
new_host flex/2:2 vf_flex@0000:4d:00.0,0000:4e:00.0
for vf in 1 2; do control iommu "0000:4d:00.$vf 0000:4d:00.0"; done
check_says "so is one whose VFs are in its own IOMMU group" "^WARN +pgpu +0000:4d:00.0" M_CHECK_PROVIDES_NONE
holds "with that reason" says M_GROUP_CARD 0000:4d:00.0 '*' i915 < <(notes_of pgpu)
vl_counts "which status does not call full" "0 1" "0 of 1, none available" status

### Mixed sizes: a unit gives the VFs types of their own at each boot, and the configuration names the card for one
new_host rtxpro6000/4
control mixed "0001:c8:00.0 on"
for vf in 2=1525 3=1534 4=1534; do set_vf_type "0001:c8:00.${vf%=*}" "${vf#*=}"; done
configure nvidia-1525@0001:c8:00.0
for n in 2 3; do vf_domain $n 0001:c8:00.$n | libvirt_has "vm$n"; done
check_says "a guest's VF with another type is a warning" "^WARN +pgpu " M_CHECK_VF_TYPE 0001:c8:00.3 nvidia-1534 nvidia-1525
is "$(notes_of pgpu | grep -c ^WARN)" 1 "one that no guest has is none"
under nvidia-1525@0001:c8:00.0 nvidia-1534@0001:c8:00.3 -- check_counts "nor is one of its own section" 0 "^WARN +pgpu "

### A laptop whose GPU one guest has a part of (GVT-g), while the definition of another has all of it
new_host gvt-g i915-GVTg_V5_4@0000:00:02.0
guest 1
whole() { vf_domain 2 0000:00:02.0 yes; }
refuses "a start that would take the GPU from a running guest is refused" hook vm2 prepare begin - < <(whole) \
	-- M_PGPU_IN_USE 0000:00:02.0 "$(uuid 1)" vm1
vl plan - < <(whole)
holds "as does plan" ended 1 M_PGPU_IN_USE 0000:00:02.0 "$(uuid 1)" vm1
rm "$root/run/libvirt/qemu/vm1.xml"
is "$(whole | hook vm2 prepare begin - 2>&1)" "" "a lease without a running guest keeps nobody from it"

### The kernel is now one with mdevs on the card's VFs, of which a definition has one as a PCI device
new_host l40s-mdev/4@0000:26:00.0 nvidia-1147
guest 1
for vm in 2=4 3=5; do vf_domain "${vm%=*}" "0000:26:00.${vm#*=}" yes | libvirt_has "vm${vm%=*}"; done
refuses "a start that would take the VF from a running guest's mdev is refused" start_vf 2 0000:26:00.4 yes \
	-- M_VF_IN_USE 0000:26:00.4 "$(uuid 1)" vm1
is "$(start_vf 3 0000:26:00.5 yes 2>&1)" "" "a VF without one is libvirt's"
check_says "of which check says that its card is in the pool" "^WARN +domain .*vm3" M_HOSTDEV_OF_MDEVS 0000:26:00.5 0000:26:00.0

### Cyborg owns one card and Nova the other: an instance has an mdev of Cyborg's, which is not created again at boot
new_host t4:2
of_nova nvidia-222@0000:84:00.0
create 0000:85:00.0 nvidia-223 5
of_cyborg() { domain 5 "$(uuid 5)" | sed "s|<metadata>|&<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/>|"; }
of_cyborg | hook vm5 prepare begin -
vl_words "it is leased as it is" "nvidia-223 adopted" list --no-headings -o TYPE,ORIGIN
of_cyborg | hook vm5 release end -
holds "and stays" exists 5
remove_device "$(uuid 5)"
refuses "once it is gone, it is not replaced by a vGPU of Nova's card and type" hook vm5 prepare begin - < <(of_cyborg) \
	-- M_TYPE_DISABLED_NOVA nvidia-223 nvidia-222

### nvidia-vgpud has failed at the boot, on a host whose configuration gives all cards one type
new_host t4:2 nvidia-222
for card in 84 85; do control register "0000:$card:00.0 off"; done
said=$(call prepare begin 1 2>&1)
is "$(grep -o '0000:8[45]:00.0' <<<"$said" | xargs)" "0000:84:00.0 0000:85:00.0" "a refusal names each card once, with that reason"

### A match by vendor alone, on a host with cards of two models, of which one has the type
new_host t4:2+a40/2 'nvidia-222@10de:*'
check_says "the other is a warning" "^WARN +pgpu " M_NOT_OFFERED nvidia-222
is "$status" 0 "of a host that is sound"
control register "0000:84:00.0 off"
check_counts "but a card of the type that is not ready fails" 1 "^FAIL +pgpu .*0000:84:00.0"

### One file for a fleet, also on its hosts without a GPU: a server with the display controller of its management board
end_host
root=$work/bare
mkdir -p "$root"/{proc,dev,run,var/lib}
pci_device 0000:03:00.0 1a03 2000 030000
configure nvidia-222@10de:1eb8 vf_flex@8086:56c0
vl_makes "a type of cards that this host has not is no failure of it" "0 WARN WARN" "notes_of type | cut -d' ' -f1 | xargs" check
is "$(notes_of type | grep -c 'correct device_match')" 0 "for which nobody is told to change the file"
in_ms 30000 0 "and no guest is delayed by a minute at each boot" "$builddir/vgpu-leased" --root "$root" --wait-ready 60
pci_device 0000:03:00.0 10de 2000 030000
vl_makes "with another card of the vendor, the match may be wrong" "1 FAIL WARN" "notes_of type | cut -d' ' -f1 | xargs" check

### device_match selects a card that a guest has as a whole: a host with vGPUs and with passthrough
rm -r "$root/sys"
pci_device 0000:4d:00.0 8086 56c0 038000 i915
pci_device 0000:4d:00.1 8086 56c0 038000 vfio-pci
pci_vfs 0000:4d:00.0 31 0000:4d:00.1
pci_device 0000:4e:00.0 8086 56c0 038000 vfio-pci
pci_vfs 0000:4e:00.0 31
under vf_flex@8086:56c0 -- check_says "check warns of it, with its driver" "^WARN +pgpu .*0000:4e:00.0" M_BOUND_ELSEWHERE vfio-pci
is "$status" 0 "and the host is sound"
vf_domain 1 0000:4e:00.0 yes | libvirt_has vm1
check_counts "the guest that has it takes no vGPU from others" 0 "^WARN +domain "
ln -nfs ../../drivers/i915 "$root/sys/bus/pci/devices/0000:4e:00.0/driver"
check_counts "as it would if the card was the host's" 1 "^WARN +domain "
ln -nfs ../../drivers/vfio-pci "$root/sys/bus/pci/devices/0000:4e:00.0/driver"
rm "$root/etc/libvirt/qemu/vm1.xml"
in_ms 30000 0 "for which guests do not wait at each boot" "$builddir/vgpu-leased" --root "$root" --wait-ready 60
rm -r "$root/sys/bus/pci/devices/0000:4e:00.0"
pci_device 0000:00:02.0 8086 4680 030000 i915
pci_device 0000:03:00.0 1a03 2000 030000 ast
for card in "$root"/sys/bus/pci/devices/0000:*.0; do echo 0 >"$card/numa_node"; done
configure 'vf_flex@8086:*'
check_says "the processor's GPU, which a match by vendor selects as well, is a warning" "^WARN +pgpu " M_CANNOT_HAVE_VFS 0000:00:02.0
is "$status" 0 "of a host that is sound"
under vf_flex@numa=0 -- check_counts "one by NUMA node does not mean that of the management board" 0 0000:03:00.0
configure vf_flex@8086:4680 vf_other@8086:56c0
check_says "a card whose own ID is matched fails" "^FAIL +pgpu " M_CANNOT_HAVE_VFS 0000:00:02.0
rm -r "$root/sys/bus/pci/devices/0000:00:02.0"
pci_device 0000:4e:00.0 8086 56c0 038000 vfio-pci
under vf_flex@0000:4d:00.0,0000:4e:00.0 -- check_says "one that is named fails" "^FAIL +pgpu .*0000:4e:00.0" M_BOUND_ELSEWHERE vfio-pci
pci_device 0000:00:02.0 8086 3e92 030000 vfio-pci
under i915-GVTg_V5_4@0000:00:02.0 -- check_says "a laptop's GPU has the driver as its reason, too" "^FAIL +pgpu " M_BOUND_ELSEWHERE vfio-pci
vl_prints "it counts as a pGPU, although it provides nothing" status -- M_STATUS_POOL 0 1
pci_device 0000:84:00.0 10de 1eb8 030200 vfio-pci
configure nvidia-222@10de:1eb8
check_says "so does one that is matched, if no other has the type" "^FAIL +pgpu .*0000:84:00.0" M_BOUND_ELSEWHERE vfio-pci
vl_prints "and counts" status -- M_STATUS_POOL 0 1
under nvidia-222@0000:84:00.0,0000:99:00.0 -- vl_prints "unlike one that the host does not have" status -- M_STATUS_POOL 0 1
under nvidia-222 nvidia-231 -- vl_prints "one that two types could have counts once" status -- M_STATUS_POOL 0 1

### An NVIDIA type is configured for an address that is another device's by now
while read -r vendor device class driver what; do
	rm -rf "$root/sys/bus/pci/devices/0000:84:00.0"
	pci_device 0000:84:00.0 "$vendor" "$device" "$class" "$driver"
	under nvidia-222@0000:84:00.0 -- check_says "where $what is, check says so, and nothing of its driver" "^FAIL +pgpu .*0000:84:00.0" \
		M_OTHER_KIND_OF_DEVICE "$vendor:$device" "$what"
done <<-END
	8086 1572 020000 i40e a network card
	8086 1572 020000 - a network card
	15b3 101d 020000 vfio-pci a network card
	144d a80a 010802 nvme a storage controller
	8086 352a 060400 pcieport a bridge
	10de 1aef 040300 snd_hda_intel a multimedia device
END

### A host whose script makes an mdev of a type that the configuration does not have: after a boot, the hook would make another
new_host p4:2
configure nvidia-64
create 0000:01:00.0 nvidia-65 1
guest 1
check_says "that the guest's type is not enabled is a warning" "^WARN +guest " M_CHECK_LEASED_DISABLED "$(uuid 1)" vm1 nvidia-65 0000:01:00.0 nvidia-65
mdevctl_has 0000:01:00.0 "$(uuid 1)" nvidia-65
check_counts "unless mdevctl makes it again with its type" 0 "^WARN +guest "
tap_done
