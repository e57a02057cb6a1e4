#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a pass of the device handler takes: 200 domains are defined (libvirt's test driver), 50 of them run with four
# vGPUs each, on a simulated host with 1000 mdevs on 32 cards, 16 of them with 48 VFs. The host is a file system in user space: a
# kernel's answers come sooner.
set -euo pipefail
. "$(dirname "$0")/../lib/leased.sh"
host bench/48x30:16+t4:16
configure nvidia-9001 nvidia-222 policy 'reclaim = never'
write_node "$work/node.xml" 200 50 4
n=0
make_some() { # TYPE COUNT PARENT: at most a thousand in all
	local i
	for ((i = 0; i < $2 && n < 1000; i++)); do
		n=$((n + 1))
		make_device "$3" "$1" "$(uuid $n)"
	done
}
for parent in "$root"/sys/class/mdev_bus/*; do
	parent=$(basename "$parent")
	if [ -e "$root/sys/bus/pci/devices/$parent/physfn" ]; then make_some nvidia-9001 1 "$parent"; else make_some nvidia-222 16 "$parent"; fi
done
# libvirt's files, as large as those of real guests.
mkdir -p "$root/etc/libvirt/qemu"
printf -v filler '<!-- %*s -->\n' 6000 ''
for ((n = 0; n < 200; n++)); do
	{ sed -n "s,.*\(<domain .*<name>vm$n</name>.*\),\1,p" "$work/node.xml"; echo "$filler"; } >"$root/etc/libvirt/qemu/vm$n.xml"
	[ $n -ge 50 ] || echo "$filler" >>"$root/run/libvirt/qemu/vm$n.xml"
done
# The guests have theirs open.
for ((n = 1; n <= 200; n++)); do
	# shellcheck disable=SC2034 # It is open: that is all.
	exec {fd}<>"$root/dev/vfio/$(basename "$(readlink "$root/sys/bus/mdev/devices/$(uuid $n)/iommu_group")")"
done
echo "vgpu-leased: 200 domains, 50 of them running with 200 vGPUs, 1000 mdevs on 32 cards; medians of ${BENCH_ROUNDS:-30} passes"
"$builddir/tests/system/leased/passes" "$root" "test://$work/node.xml" "${BENCH_ROUNDS:-30}" >"$work/took"
echo "  a pass, with facts for libvirt: $(sed -n 's/^pass //p' "$work/took" | sort -n | sed -n "$((${BENCH_ROUNDS:-30} / 2 + 1))p") ms"
sed -E '/^pass/d; s/^rss .* (.*)/  memory: \1 KiB/; s/^peak (.*)/  at most: \1 KiB/' "$work/took"
[ "$(leases)" = 200 ] || echo "but only $(leases) of 200 vGPUs are leased"
