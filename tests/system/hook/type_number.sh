#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The number of a type belongs to its card: two boards that share an ID (A2 and A16, 10de:25b6) can have different types
# under one number. A name is resolved on the card at hand. On a plain tree.
. "$(dirname "$0")/../../lib/hook.sh"
mkdir -p "$root"/{sys/bus/pci/devices,sys/bus/mdev/devices,sys/class/mdev_bus,proc,run,dev,etc,var/lib}

card() { # ADDRESS SUBSYSTEM NAME MIB
	local at=$root/sys/bus/pci/devices/$1 type
	type=$at/mdev_supported_types/nvidia-700
	mkdir -p "$type/devices"
	for file in vendor=0x10de device=0x25b6 subsystem_vendor=0x10de "subsystem_device=0x$2" class=0x030200 numa_node=0 \
		mdev_supported_types/nvidia-700/name="$3" mdev_supported_types/nvidia-700/available_instances=4 \
		mdev_supported_types/nvidia-700/device_api=vfio-pci mdev_supported_types/nvidia-700/create= \
		"mdev_supported_types/nvidia-700/description=num_heads=4, frl_config=60, framebuffer=$4M, max_resolution=5120x2880, max_instance=4"; do
		echo "${file#*=}" >"$at/${file%%=*}"
	done
	ln -s "../../bus/pci/devices/$1" "$root/sys/class/mdev_bus/$1"
}
card 0000:08:00.0 157e "NVIDIA A2-2Q" 2048
card 0000:0c:00.0 14a9 "NVIDIA A16-4Q" 4096
configure nvidia-700

asks() { # TYPE: the plan of a domain that asks for it
	typed "$1" |
		lease plan -
}
is "$(asks A16-4Q | grep -o '0000:0[8c]:00.0' | head -n 1)" 0000:0c:00.0 "a name goes to the card that calls its type so"
is "$(asks A2-2Q | grep -o '0000:0[8c]:00.0' | head -n 1)" 0000:08:00.0 "and not to the other with the same number"
is "$(asks nvidia-700 | grep -o '0000:0[8c]:00.0' | head -n 1)" 0000:08:00.0 "a number means that of any card"

mkdir -p "$root/sys/bus/pci/devices/0000:0c:00.0/$u1"
ln -s "../../../bus/pci/devices/0000:0c:00.0/$u1" "$root/sys/bus/mdev/devices/$u1"
ln -s ../mdev_supported_types/nvidia-700 "$root/sys/bus/pci/devices/0000:0c:00.0/$u1/mdev_type"
holds "a device that exists fits by what its card calls it" asks A16-4Q
fails "and not by what another card calls that number" asks A2-2Q
lease show $u1 >"$work/said"
holds "show gives it its card's name" grep -q 'nvidia-700, NVIDIA A16-4Q' "$work/said"
holds "and its card's framebuffer" grep -q '4096 MiB' "$work/said"
holds "so does list" [ "$(lease status --json | python3 -c 'import json, sys
print(*[v["framebuffer_mib"] for p in json.load(sys.stdin)["pgpus"] for v in p["vgpus"]])')" = 4096 ]
tap_done
