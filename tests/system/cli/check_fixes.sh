#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check: one line for one cause, with a fix that fits it.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:2+l40s/4
all="nvidia-222, nvidia-223, nvidia-224, nvidia-225, nvidia-226, nvidia-227, nvidia-228, nvidia-229, nvidia-230, nvidia-231, nvidia-232"
mkdir -p "$root/etc/nova"
printf '[devices]\nenabled_mdev_types = %s\n' "$all" >"$root/etc/nova/nova.conf"
configure devices 'nova_conf = /etc/nova/nova.conf'
vl check
is "$(says_times M_NO_PGPU_LEFT <<<"$out")" 1 "ten types for which no pGPU is left are one line"
holds "which names them" says \
	M_NO_PGPU_LEFT "nvidia-223, nvidia-224, nvidia-225, nvidia-226, nvidia-227, nvidia-228, nvidia-229, nvidia-230 and 2 more" nvidia-222 <<<"$out"
fails "and advises no key that nova.conf does not have" grep -q device_match <<<"$out"
configure nvidia-222 nvidia-223
vl check
holds "in our own file it does" grep -q 'nvidia-223.*device_match' <<<"$out"

# Presets: a pool that a deployment has made, and nobody leases.
configure nvidia-222@0000:84:00.0 nvidia-1147@10de:26b9 policy 'reclaim = never'
for n in {1..16}; do create 0000:84:00.0 nvidia-222 "$n"; done
vl check
line=$(grep 'nvidia-222 would' <<<"$out")
holds "where idle presets fill the card, check says how to see why they are kept" grep -q 'gc --dry-run' <<<"$line"
fails "and does not advise to shut down a guest" grep -q 'shut down' <<<"$line"
call prepare begin 1 nvidia-222
vl check
holds "where a guest leases one, it does" grep -q 'shut down' < <(grep 'nvidia-222 would' <<<"$out")
for vf in "$root"/sys/bus/pci/devices/0000:26:00.[4-7]; do echo 1147 >"$vf/nvidia/current_vgpu_type"; done
vl check
holds "VFs that are preset to the type serve a start" grep -q '^PASS .*nvidia-1147 .*0000:26:00.4' <<<"$out"

# What has a device open is named.
hold 2
pid=$$
reports "a refusal names the process that has the vGPU open" call prepare begin 2 nvidia-222 -- M_OPEN_ALREADY 0000:84:00.0 "process $pid"
mkdir -p "$root/run/libvirt/qemu"
echo "$pid" >"$root/run/libvirt/qemu/other.pid"
reports "and its domain" call prepare begin 2 nvidia-222 -- M_OPEN_ALREADY 0000:84:00.0 "process $pid (QEMU of domain other)"
leave

# One definition.
mdevctl_has 0000:84:00.0 "$(uuid 3)" nvidia-222
vl_prints "one definition matches" check -- M_DEFINITIONS 1 "" matches

# A NUMA node in device_match: that of another card, or one where the kernel knows none.
configure 'nvidia-222@10de:1eb8 numa=3'
check_says "that a card is on another NUMA node is the reason" 0000:85:00.0 M_OTHER_NODE nvidia-222 3 1 3
holds "and the fix of its type" says M_OTHER_NODE nvidia-222 3 0 3 < <(grep '^FAIL' <<<"$out")
new_host gvt-g
device=$(cut -c3- "$root/sys/bus/pci/devices/0000:00:02.0/device")
configure "i915-GVTg_V5_4@8086:$device numa=0"
check_says "where the kernel knows no NUMA node, check says to remove it" '^FAIL' M_NO_NODE i915-GVTg_V5_4 0 0
holds "and so does a refusal" says M_NO_NODE i915-GVTg_V5_4 0 0 < <(call prepare begin 1 i915-GVTg_V5_4 2>&1)
configure "i915-GVTg_V5_4@8086:$device"
holds "which helps" call prepare begin 1 i915-GVTg_V5_4
tap_done
