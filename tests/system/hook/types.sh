#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which type a vGPU gets where its domain does not say: a definition's, the remembered one, the pool's. And its parameters.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
pool() { configure "$@" policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 5'; } # TYPE...
two=(nvidia-222@0000:84:00.0 nvidia-223@0000:85:00.0 'max_instances = 1')
affinity=/var/lib/vgpu-lease/affinity/$u1

### The pool's
pool nvidia-222 nvidia-999@0000:99:00.0
starts_with() { prepare && type_of $u1 && release; }
is "$(starts_with)" nvidia-222 "a type whose cards this host does not have does not count: a domain without metadata gets the other"

### The remembered one
is "$(cut -d' ' -f1 "$root$affinity")" nvidia-222 "what a UUID was is remembered"
pool nvidia-223
is "$(starts_with)" nvidia-223 "a remembered type that is not enabled any more gives way to the pool's"
pool "${two[@]}"
is "$(starts_with)" nvidia-223 "one that is enabled stays, though the pool has several"
rm "$root$affinity"
pool nvidia-222
prepare && release
pool nvidia-223@0000:85:00.0 'max_instances = 1' nvidia-224@0000:84:00.0
reports "where it is no longer enabled and others are, the refusal names it" prepare \
	-- M_TYPE_DISABLED nvidia-222 "$affinity" "nvidia-223, nvidia-224"
is "$(lease plan "$vm" 2>&1 | says_times M_TYPE_DISABLED nvidia-222)" 1 "and so does plan"
instance="<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>"
reports "of Nova's instance, which has no such metadata, it says what can be done with Nova" \
	prepare <(sed "s|</uuid>|&$instance|" "$vm") -- M_TYPE_DISABLED_NOVA nvidia-222 "nvidia-223, nvidia-224"
fails "and nothing of the metadata" says M_OR_WRITE <<<"$said"
pool "${two[@]}"

### A definition's
make_device 0000:85:00.0 nvidia-223 "${u1%??}aa"
mdevctl_has 0000:85:00.0 $u1 nvidia-223
reports "a type from a definition is named with its file" prepare \
	-- M_NO_CAPACITY "$(message M_TYPE_DEFINED nvidia-223 "/etc/mdevctl.d/0000:85:00.0/$u1")"
holds "and what to write instead" says M_OR_WRITE "type='nvidia-222'" <<<"$said"

### Boards that share an ID, and drivers of different versions: what one has says nothing about the other
new_host rtx6000+rtx8000+l40s
card=0000:26:00.0 types=$root/var/lib/vgpu-lease/types
in_pool() { lease inventory --json | jq -r '[.pgpus[] | select(.in_pool) | "\(.address) \(.type)"] | join(", ") | if . == "" then "none" else . end'; }
matches() { configure "nvidia-256@$1" "nvidia-264@$2"; } # MATCH_OF_RTX6000 MATCH_OF_RTX8000

### RTX 6000 and RTX 8000: 10de:1e30
matches 10de:1e30:12ba 10de:1e30:129e
is "$(in_pool)" "0000:65:00.0 nvidia-256, 0000:b3:00.0 nvidia-264" "a match tells two boards of one ID by their subsystem"
matches 10de:1e30:129e 10de:1e30:12ba
is "$(in_pool)" none "and takes no other board"
matches 10de:1e30 10de:1e30
is "$(in_pool)" "0000:65:00.0 nvidia-256, 0000:b3:00.0 nvidia-264" "two matches are no conflict where a card offers one of the types"
holds "a start knows it as well" prepare <(typed nvidia-264)
is "$(parent_of $u1)" 0000:b3:00.0 "and goes to the right card"
release
matches 10de:1e30:12ba9 10de:1e30
holds "a subsystem has four digits" says M_CONF_BAD_MATCH 10de:1e30:12ba9 < <(lease check 2>&1)

### What is remembered is of one board and one version of the driver
configure "nvidia-9999@$card" nvidia-1147@0000:99:00.0
record() { printf '%s\n' "vgpu-lease types 1 all" "9999 : NVIDIA L40S-64Q" "8888 : NVIDIA L40S-1-12C" "1147 : NVIDIA L40S-1Q" >"$types/$1"; }
mkdir -p "$types"
record 10de:26b9
record 10de:26b9:10de:1851@535.1
record 10de:26b9:10de:9999@550.90.05
is "$(in_pool)" none "a type that the driver no longer has is not served, whatever an earlier one had"
holds "check says which driver had it" says M_GONE_WITH_DRIVER nvidia-9999 535.1 < <(lease check | tr -s ' ')
fails "and retype is not advised" lease retype --dry-run $card nvidia-9999
configure nvidia-8888@$card nvidia-1147@0000:99:00.0
holds "of a MIG-backed type it says that MIG mode is off" says M_MIG_IS_OFF < <(lease check | tr -s ' ')
configure "nvidia-9999@$card" nvidia-1147@0000:99:00.0
record 10de:26b9:10de:1851@550.90.05
is "$(in_pool)" none "nor what this version had before: an empty card shows all"
lease gc >/dev/null
fails "which replaces the record" grep -q 9999 "$types/10de:26b9:10de:1851@550.90.05"
holds "by what it lists" grep -q '^1147 : NVIDIA L40S-1Q$' "$types/10de:26b9:10de:1851@550.90.05"

### A2 and A16: 10de:25b6
new_host a2+a16 nvidia-746@10de:25b6 nvidia-713@10de:25b6
is "$(in_pool)" "0000:08:00.0 nvidia-746, 0000:0c:00.0 nvidia-713" "each board serves its own type"
is "$(lease types --json | jq -c '[.types[] | select(.capacity > 0) | .id, .capacity]')" '["nvidia-746",4,"nvidia-713",4]' "and has the capacity of that alone"

### The number of a type belongs to its card: two boards that share an ID (A2 and A16, 10de:25b6) can have different types
# under one number. A name is resolved on the card at hand. On a plain tree.
end_host
eventually rm -rf "$root"
mkdir -p "$root"/{sys/bus/pci/devices,sys/bus/mdev/devices,sys/class/mdev_bus,proc,run,dev,etc,var/lib}

card() { # ADDRESS SUBSYSTEM NAME MIB
	local at=$root/sys/bus/pci/devices/$1
	local type=$at/mdev_supported_types/nvidia-700
	mkdir -p "$type/devices"
	pci_ids "$at" 10de 25b6 030200 10de "$2"
	for file in ../../numa_node=0 name="$3" available_instances=4 device_api=vfio-pci create= \
		"description=num_heads=4, frl_config=60, framebuffer=$4M, max_resolution=5120x2880, max_instance=4"; do
		echo "${file#*=}" >"$type/${file%%=*}"
	done
	ln -s "../../bus/pci/devices/$1" "$root/sys/class/mdev_bus/$1"
}
card 0000:08:00.0 157e "NVIDIA A2-2Q" 2048
card 0000:0c:00.0 14a9 "NVIDIA A16-4Q" 4096
configure nvidia-700

asks() { typed "$1" | lease plan -; } # TYPE: the plan of a domain that asks for it
chosen() { asks "$1" | grep -o '0000:0[8c]:00.0' | head -n 1; }
is "$(chosen A16-4Q)" 0000:0c:00.0 "a name goes to the card that calls its type so"
is "$(chosen A2-2Q)" 0000:08:00.0 "and not to the other with the same number"
is "$(chosen nvidia-700)" 0000:08:00.0 "a number means that of any card"

mkdir -p "$root/sys/bus/pci/devices/0000:0c:00.0/$u1"
ln -s "../../../bus/pci/devices/0000:0c:00.0/$u1" "$root/sys/bus/mdev/devices/$u1"
ln -s ../mdev_supported_types/nvidia-700 "$root/sys/bus/pci/devices/0000:0c:00.0/$u1/mdev_type"
holds "a device that exists fits by what its card calls it" asks A16-4Q
fails "and not by what another card calls that number" asks A2-2Q
like "$(lease show $u1)" "*nvidia-700, NVIDIA A16-4Q*4096 MiB*" "show gives it its card's name and framebuffer"
is "$(lease status --json | jq '.pgpus[].vgpus[].framebuffer_mib')" 4096 "so does status"

### The parameters of a vGPU: set when it is created and when it is adopted; and what its mdevctl definition sets
new_host t4:1+l40s/4:1
card=0000:84:00.0 vf=0000:26:00.4
log_here
log_says() { logged | says "$@" >/dev/null; }
configure nvidia-222@0000:84:00.0 'vgpu_params = frame_rate_limiter=0' nvidia-1147@10de:26b9 \
	'vgpu_params = frame_rate_limiter=0' policy 'driver_cleanup = 0'
params() { cat "$root/sys/bus/mdev/devices/$u1/nvidia/vgpu_params"; }

### What exists
make_device $card nvidia-222 $u1
then_is "an mdev that exists gets the parameters of its section" frame_rate_limiter=0 params prepare
release
then_is "or those of the domain" disable_vnc=1 params prepare <(asking "uuid='$u1' params='disable_vnc=1'")
release
control inject 'params any EPERM 1'
holds "a domain starts if its driver refuses them" prepare
holds "and the log says that they are not set" eventually log_says M_WITHOUT_PARAMS prepare one-vgpu "$u1" frame_rate_limiter=0 '*'
release
remove_device $u1
set_vf_type $vf 1147
with_vf >"$work/vf.xml"
then_is "a VF that has its type gets them, too" frame_rate_limiter=0 "cat $root/sys/bus/pci/devices/$vf/nvidia/vgpu_params" prepare "$work/vf.xml"
release "$work/vf.xml"

### What mdevctl would set
define() { mdevctl_has $card $u1 nvidia-222 manual "$1"; } # ATTRS
sed -i '/^vgpu_params/d' "$root/etc/vgpu-lease.conf"
define '[{"nvidia/vgpu_params": "enable_uvm=1"}, {"nvidia/vgpu_params": "enable_debugging=1"}]'
then_is "a vGPU that is defined gets the attributes of its definition, in their order" enable_debugging=1 params prepare
release
remove_device $u1
define '[{"nvidia/vgpu_params": "enable_uvm=1"}, {"nonsense": "5"}]'
reports "one that cannot be written is named" prepare -- M_ATTR_NOT_SET nonsense 5 '*'
is "$(leases)$(devices)" 0 "and nothing is left of that start"
for wrong in '[{"../remove": "1"}]' '[{"/etc/passwd": "1"}]' '["x"]' '{"a": "b"}' '[{"a": 1}]'; do
	define "$wrong"
	reports "attrs that are $wrong are refused" prepare -- M_ATTRS_INVALID "$card/$u1"
done
is "$(leases)$(devices)" 0 "and leave nothing"
tap_done
