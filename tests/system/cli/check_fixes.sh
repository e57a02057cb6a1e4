#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check: one line for one cause, with a fix that fits it. A type's name where its ID is needed has its ID as the fix.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2+l40s/4
of_nova nvidia-{222..232}
vl check
is "$(says_times M_NO_PGPU_LEFT <<<"$out")" 1 "ten types for which no pGPU is left are one line"
holds "which names them" says \
	M_NO_PGPU_LEFT "nvidia-223, nvidia-224, nvidia-225, nvidia-226, nvidia-227, nvidia-228, nvidia-229, nvidia-230 and 2 more" nvidia-222 them <<<"$out"
fails "and advises no key that nova.conf does not have" grep -q device_match <<<"$out"
configure nvidia-222 nvidia-223
check_counts "in our own file it does" 1 'nvidia-223.*device_match'

# Presets: a pool that a deployment has made, and nobody leases.
configure nvidia-222@0000:84:00.0 nvidia-1147@10de:26b9 policy 'reclaim = never'
for n in {1..16}; do create 0000:84:00.0 nvidia-222 "$n"; done
check_counts "where idle presets fill the card, check says how to see why they are kept" 1 'nvidia-222 would.*gc --dry-run'
check_counts "and does not advise to shut down a guest" 0 'nvidia-222 would.*shut down'
call prepare begin 1 nvidia-222
check_counts "where a guest leases one, it does" 1 'nvidia-222 would.*shut down'
for vf in "$root"/sys/bus/pci/devices/0000:26:00.[4-7]; do echo 1147 >"$vf/nvidia/current_vgpu_type"; done
check_counts "VFs that are preset to the type serve a start" 1 '^PASS .*nvidia-1147 .*0000:26:00.4'

hold 2
pid=$$
reports "a refusal names the process that has the vGPU open" call prepare begin 2 nvidia-222 -- M_OPEN_ALREADY 0000:84:00.0 "process $pid"
install -D <(echo "$pid") "$root/run/libvirt/qemu/other.pid"
reports "and its domain" call prepare begin 2 nvidia-222 -- M_OPEN_ALREADY 0000:84:00.0 "process $pid (QEMU of domain other)"
leave

mdevctl_has 0000:84:00.0 "$(uuid 3)" nvidia-222
vl_prints "one definition matches" check -- M_DEFINITIONS 1 "" matches

configure 'nvidia-222@10de:1eb8 numa=3'
check_says "that a card is on another NUMA node is the reason" 0000:85:00.0 M_OTHER_NODE nvidia-222 3 1 3
holds "and the fix of its type" says M_OTHER_NODE nvidia-222 3 0 3 < <(grep '^FAIL' <<<"$out")
new_host gvt-g
device=$(cut -c3- "$root/sys/bus/pci/devices/0000:00:02.0/device")
configure "i915-GVTg_V5_4@8086:$device numa=0"
check_says "where the kernel knows no NUMA node, check says to remove it" '^FAIL' M_NO_NODE i915-GVTg_V5_4 0 0
holds "and so does a refusal" says M_NO_NODE i915-GVTg_V5_4 0 0 < <(call prepare begin 1 i915-GVTg_V5_4 2>&1)
under "i915-GVTg_V5_4@8086:$device" -- holds "which helps" call prepare begin 1 i915-GVTg_V5_4

### A pGPU that does not come up: one finding for one cause, with that cause's fix
l40s=0000:26:00.0 flex=0000:4d:00.0
# only SENTENCE KEY [ARG...]: check fails, and its only finding about pGPUs and types that is none of PASS is this one.
only() {
	local sentence=$1 found
	shift
	vl check
	found=$(grep -E '^(WARN|FAIL) +(pgpu|type) ' <<<"$out")
	is "$status|$(wc -l <<<"$found")" "1|1" "$sentence: one finding"
	holds "$sentence: with its fix" says "$@" <<<"$found"
}

new_host l40s/4+flex/3
control vfs "$l40s off"
under nvidia-1147 vf_flex@8086:56c0 -- only "VFs off, of a card that a type for all takes" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "beside a pool of plain VFs, which is well" grep -q "^PASS  type .* flex " <<<"$out"
vl
is "$(grep -c 'FAIL\|WARN' <<<"$out")" 1 "status has that line alone"
for how in "device_match = 10de:26b9" "device_addresses = $l40s" "device_addresses = 0000:26:00.4" \
	"device_addresses = 0000:26:00.4, 0000:26:00.5, 0000:26:00.6"; do
	under nvidia-1147 "$how" -- only "VFs off, $how" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
done
configure nvidia-1147@0000:26:00.4,0000:26:00.5 nvidia-1148@0000:26:00.6
only "VFs off, of two types" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "which says for how many" grep -q '0000:26:00.4 and 2 more: ' <<<"$out"
control vfs "$flex off"
for how in "device_match = 8086:56c0" "device_addresses = $flex" "device_addresses = 0000:4d:00.1"; do
	under vf_flex "$how" -- only "plain VFs off, $how" M_VFS_NOT_ENABLED
done

new_host l40s/4
control register "$l40s off"
under nvidia-1147 -- only "types that are not registered, for a type that takes all" M_NOT_REGISTERED
fails "a driver that is loaded is not advised to be loaded" says M_LOAD_DRIVER <<<"$out"
configure nvidia-1147 nvidia-1148
vl check
is "$(grep -c '^FAIL' <<<"$out")|$(says_times M_NOT_REGISTERED <<<"$out")" "1|1" "for two types that take all, it is said once"

new_host l40s/4:2
control vfs "$l40s off"
under nvidia-1147@10de:26b9 -- only "one of two cards, of which the other makes VFs" M_VFS_NOT_ENABLED -- M_VFS_RESTART $l40s
holds "and a start gets one there" grep -q "^PASS  type .* on 0000:27:00.4" <<<"$out"
under nvidia-1147 -- check_says "of all cards, one that does not come up is a warning" "^WARN .*$l40s" M_VFS_NOT_ENABLED

new_host t4 nvidia-1147@10de:1eb8
only "a card without the type, that is matched" M_NOT_OFFERED nvidia-1147
under nvidia-222@0000:99:00.0 -- only "an address without a device" M_NO_PCI_DEVICE
configure nvidia-222@10de:1eb8 nvidia-1147@10de:1eb8
vl_prints "a match that matches is not to be corrected, but the type" check -- M_MATCH_UNSUITED nvidia-1147
under nvidia-1147 -- only "a type that no card has" M_NO_PGPU_SERVES nvidia-1147
under mtty-2@mtty -- only "a virtual parent that is named, without its driver" M_NO_PARENT_HERE
for_guest "$(uuid 1)" mtty-2 mtty
under mtty-2 -- only "one that had vGPUs of the type" M_NO_PARENT_HERE

### A device of [vf_NAME] that is not a GPU, as after a shift of the bus numbers
new_host flex/3+cx6 'vf_flex@0000:4d:00.0, 0000:17:00.0'
check_says "check warns of the network card" '^WARN .*0000:17:00.0' M_NOT_A_GPU flex
fails "and not of the GPU" says M_NOT_A_GPU < <(grep '0000:4d:00.0' <<<"$out")

# A vendor also makes other devices with VFs, as Intel does network cards.
configure 'vf_flex@8086:*, 15b3:*, numa=0'
vl_is "a match without a device means GPUs alone" "0|0000:4d:00.0|" inventory --no-headings -o PGPU
control bind "0000:17:00.2 mlx5_core"
vf_domain 1 0000:17:00.2 >"$tmp/nic.xml"
is "$(hook vm1 prepare begin - <"$tmp/nic.xml" 2>&1)" "" "a domain with a network card's VF starts"
vl_is "and leases nothing" "0||" list --no-headings
vl_works "plan has nothing to say about it" plan "$tmp/nic.xml"

### Mdevs of a network card, with which containers have their ports
new_host mlx5 nvidia-222
create 0000:06:00.0 mlx5_core-local 1
vl_is "gc --unused does not concern itself with them" "0||" gc --unused --grace 0 --no-headings
holds "and leaves them" exists 1
vl_is "and list does not show them" "0||" list --no-headings
orphan 0000:06:00.0 mlx5_core-local 2
vl gc --grace 0 --no-headings
fails "one that was made for a guest goes, as any orphan" exists 2
configure mlx5_core-local
vl gc --unused --grace 0 --no-headings
fails "unless their type is enabled" exists 1

### A guest's mdev that was not a GPU's, as QAT's, and that its script has not made again after a boot
new_host t4+mlx5 nvidia-222@0000:84:00.0
create 0000:06:00.0 mlx5_core-local 1
call prepare begin 1
call release end 1
is "$(call migrate begin 1 2>&1)" "" "one that the operator has created for a migrating guest is what the guest gets"
vl_words "not a vGPU of the pool under another UUID" "$(uuid 1) mlx5_core-local reserved" list --no-headings -o ID,TYPE,STATE
call release end 1
remove_device "$(uuid 1)"
reports "the guest does not get a vGPU in its place" call prepare begin 1 -- M_TYPE_DISABLED mlx5_core-local "/var/lib/vgpu-lease/affinity/$(uuid 1)" nvidia-222
fails "and none was made" exists 1
configure nvidia-222@0000:84:00.0 mlx5_core-local@0000:06:00.0
is "$(call prepare begin 1 2>&1)" "" "with its type enabled, it gets such an mdev"
is "$(readlink "$root/sys/bus/mdev/devices/$(uuid 1)" | grep -o 06:00.0)" 06:00.0 "of its own card"
call release end 1

### An accelerator (PCI class 12), as an MI300X is
end_host
card=0000:65:00.0 vf=0000:65:02.0
devices=$root/sys/bus/pci/devices
mkdir -p "$root"/{etc,run,var/lib,proc,dev}
pci_device $card 1002 74a1 120000
pci_device $vf 1002 74b5 120000
echo 0 >"$devices/$card/numa_node"
pci_vfs $card 1 $vf
under vf_mi300x@1002:74a1 -- check_counts "an accelerator serves" 1 "^PASS .*$card"
fails "and nothing is wrong with its class" says M_NOT_A_GPU <<<"$out"
pci_ids "$devices/$card" 1002 74a1 020000
check_says "of a network card with the same VFs check warns" "^WARN .*$card" M_NOT_A_GPU mi300x

### FPGAs, NPUs, and compression and network engines, which have the class of accelerators: no guest gets one for its GPU
configure 'vf_flex@8086:*, numa=0, 19e5:*'
for ids in "8086 0b30 120000 1" "8086 56c0 038000 0" "19e5 a250 120000 1" "19e5 d500 120000 0" "1dd8 100c 120000 1"; do
	read -r vendor device class other <<<"$ids"
	for pf_or_vf in $card $vf; do
		rm -f "$devices/$pf_or_vf/driver"
		pci_ids "$devices/$pf_or_vf" "$vendor" "$device" "$class"
	done
	said=$(vf_domain 1 0000:4d:00.1 yes flex | hook vm1 migrate begin - 2>&1)
	is "$?|$(grep -c "bus='0x65' slot='0x02'" <<<"$said")" "$other|$((1 - other))" \
		"a match by vendor or node $([ "$other" = 1 ] && echo 'does not mean' || echo means) $vendor:$device"
done
under vf_flex@1dd8:100c -- check_says "of such a device that is named check warns" "^WARN .*$card" M_NOT_A_GPU flex

### The name of a type, where the configuration needs its ID: the message gives the ID to write
new_host t4:2+l40s/4
conf_path=$root/etc/vgpu-lease.conf
domain 1 "$(uuid 1)" nvidia-222 >"$tmp/vm.xml"

said() { "$@" 2>&1; }
hook_says() { said hook vm1 prepare begin - <"$tmp/vm.xml"; }

# tells NAME ID SENTENCE: the configuration is refused, and the ID named, wherever a user meets it.
tells() {
	holds "$3: check" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" check)"
	holds "$3: the hook" says M_CONF_WRITE_ID "$2" "$1" <<<"$(hook_says)"
	holds "$3: plan" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" plan "$tmp/vm.xml")"
	holds "$3: list" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" list)"
}

under 'GRID T4-1B' -- tells "GRID T4-1B" nvidia-222 "a name among the enabled types"
holds "in its line" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" <<<"$(said vgpu_lease --root "$root" check)"
is "$(said vgpu_lease --root "$root" check | grep -c "^FAIL  config   $conf_path:2: ")" 1 "and once"
under 'NVIDIA L40S-2Q' -- tells "NVIDIA L40S-2Q" nvidia-1148 "a name of a type that VFs take"
under nvidia-222 'mdev_GRID T4-1B' 'max_instances = 1' -- tells "GRID T4-1B" nvidia-222 "a name in the header of a section"
under nvidia-222 mdev_T4-1B 'max_instances = 1' -- tells T4-1B nvidia-222 "one without a blank"

configure T4-1B
holds "a name that could be an ID" says M_CHECK_WRITE_ID nvidia-222 T4-1B <<<"$(said vgpu_lease --root "$root" check)"

of_nova 'GRID T4-1B'
holds "a name in nova.conf" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" -- M_CONF_NOVA_INSTEAD devices -- M_CONF_WRITE_ID nvidia-222 "GRID T4-1B" \
	<<<"$(said vgpu_lease --root "$root" check)"

configure 'GRID T4-1X'
fails "nothing is made up" says M_CONF_WRITE_ID <<<"$(said vgpu_lease --root "$root" check)"

configure nvidia-222
hook_says >/dev/null
holds "the right ID starts it" exists 1

### Two kinds of card, for which init enables two types: a domain that names none, and slips of the pen
new_host t4+p4
defined=$root/etc/libvirt/qemu
mkdir -p "$defined"

vl_counts "init enables a type for each kind of card" "0 2" '^\[mdev_' init --write
holds "and says what that means to a domain" says M_INIT_SEVERAL <<<"$out"
types=$(sed -n 's/^enabled_mdev_types = //p' "$root/etc/vgpu-lease.conf")
first=${types%%,*}

# refused SENTENCE KEY [ARG...]: check fails for the domain on standard input, and says this of it; its start fails, too. Nothing else does.
refused() {
	cat >"$defined/vm1.xml"
	vl_counts "$1: check fails" "1 1" ^FAIL check
	holds "$1: for its definition" grep -q "^FAIL  domain .*/vm1\.xml" <<<"$out"
	holds "$1: and says why" says "${@:2}" <<<"$out"
	fails "$1: its start is refused" start 2>"$work/err"
}
start() { hook vm1 prepare begin - <"$defined/vm1.xml"; }
refused "a domain that names no type" M_WHICH_TYPE_ABSENT "$types" < <(domain 1 "$(uuid 1)" | sed '/<metadata>/,/<\/metadata>/d')
uuid 1 | tee "$root"/sys/class/mdev_bus/*/mdev_supported_types/"$first"/create >/dev/null
vl_ends "one whose vGPU exists can be started" 0 check
holds "but not after a reboot" says M_CHECK_TYPELESS vm1 "$(uuid 1)" <<<"$out"
remove_device "$(uuid 1)"
refused "a type that is mistyped" M_UNKNOWN_TYPE "${first%?}x" '' < <(domain 1 "$(uuid 1)" "${first%?}x")
refused "a type of the card that is not enabled" M_NO_CAPACITY nvidia-222 '*' < <(domain 1 "$(uuid 1)" nvidia-222)
xml() { domain 1 "$(uuid 1)" "$first" | sed "$1"; } # SCRIPT
refused "a wrong placement" M_META_PLACEMENT < <(xml "s/ type='$first'/ placement='zz'/")
refused "an ID that is none" M_META_NOT_A_UUID < <(xml "s/:device uuid='[^']*'/:device uuid='bad'/")
refused "two hostdevs with one UUID" M_SAME_UUID < <(xml '/<hostdev/,/<.hostdev>/{H;/<.hostdev>/G}')
refused "XML that is too large" M_XML_TOO_LARGE 8 < <(xml '' && printf '<!--%8388608s-->' '')
sed "/<metadata>/,/<.metadata>/d; /<hostdev/,/<.hostdev>/d; s/<devices>/&<!-- mdev -->/" "$defined/vm1.xml" >"$defined/vm2.xml"
rm "$defined/vm1.xml" && vl_ends "but not that of a domain without a vGPU" 0 check && rm "$defined/vm2.xml"

domain 1 "$(uuid 1)" "$first" >"$defined/vm1.xml"
vl_counts "check fails for no domain that names its type" "0 0" ^FAIL check
holds "which starts" start
vl_ends "nor for one that runs" 0 check

# A quota is used up for as long as a guest runs: no mistake of the domain that waits for it.
printf '\n[quota]\nnone = 1\n' >>"$root/etc/vgpu-lease.conf"
vl types --no-headings --type "$first" -o NAME
for type in "$first" "$out"; do
	domain 2 "$(uuid 2)" "$type" >"$defined/vm2.xml"
	hook vm2 prepare begin - <"$defined/vm2.xml" 2>"$work/err"
	is "$? $(says_times M_QUOTA_NO_PROJECT 1 1 <"$work/err")" "1 1" "over the quota, a start with $type is refused"
	check_counts "which check does not call a mistake of the domain: $type" 0 ^FAIL
done

sed -i "s/^\[mdev_$first\]/[mdev_${first/-/}]/" "$root/etc/vgpu-lease.conf"
vl_prints "a section's type that is mistyped: check has the one that is enabled" check -- M_CONF_NOT_ENABLED_SIMILAR "$first"

vl_says "plan of a domain's name says how a domain is planned" 2 plan vm1 -- M_PLAN_OF_DOMAIN vm1
vl plan ./vm1.xml
fails "but not of a file's" says M_PLAN_OF_DOMAIN '*' <<<"$err"
tap_done
