#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the hook takes, as ratios to an empty C program measured in the same run. Three trees: 1, 4 and 16 pGPUs with
# 48 VFs and 30 types each; each of them twice. As plain files, a look at sysfs costs what it does in a kernel, and only
# the driver is another process. On a simulated host each look wakes another process: those ratios are an upper bound.
set -euo pipefail
: "${srcdir:?}" "${builddir:?}"

[ "$(id -u)" = 0 ] || { echo "make bench: needs root, for the simulated hosts" >&2; exit 1; }
work=$(mktemp -d)
# The state is in memory, as /run is.
mount -t tmpfs tmpfs "$work"
hook=$builddir/hooks/qemu
sim=$builddir/vgpu-lease-sim
vm=$srcdir/xml-templates/domain-one-vgpu.xml
uuid=4b20d080-1b54-4048-85b3-a6a62d165c01
type=nvidia-9001
drivers=()

stop() {
	[ ${#drivers[@]} = 0 ] || kill "${drivers[@]}" 2>/dev/null || :
	for n in 1 4 16; do "$sim" --stop "$work/$n" 2>/dev/null || :; done
	umount "$work" && rmdir "$work"
}
trap stop EXIT

for n in 1 4 16; do
	"$sim" "$work/$n" "bench/48x30:$n"
	mkdir -p "$work/$n/etc"
	printf '[devices]\nenabled_mdev_types = %s\n[policy]\ndriver_cleanup = 0\n' $type >"$work/$n/etc/vgpu-lease.conf"
done
parent=$(cd "$work/1/sys/class/mdev_bus" && printf '%s\n' * | head -n 1)

# as_files N: the tree of host N as plain files. The device stands where it will be; what appears and goes is its link.
as_files() {
	local plain=$work/plain$1 card
	mkdir -p "$plain"/{etc,dev/vfio,proc,var/lib,run}
	cp "$work/$1/etc/vgpu-lease.conf" "$plain/etc"
	cp -a "$work/$1/sys/." "$plain/sys" 2>/dev/null || : # what can only be written is not read
	card=$(readlink -f "$plain/sys/class/mdev_bus/$parent")
	mkdir "$card/$uuid"
	ln -s ../mdev_supported_types/$type "$card/$uuid/mdev_type"
	ln -s ../../../../kernel/iommu_groups/0 "$card/$uuid/iommu_group"
	: >"$plain/dev/vfio/0"
	rm "$card/mdev_supported_types/$type/create"
	mkfifo "$card/mdev_supported_types/$type/create"
	ln "$card/mdev_supported_types/$type/create" "$card/$uuid/remove"
	"$builddir/tests/bench/bench" --driver "$card/mdev_supported_types/$type/create" \
		"$plain/sys/bus/mdev/devices/$uuid" "$card/$uuid" &
	drivers+=($!)
}
for n in 1 4 16; do as_files $n; done
forget() { echo "rm -f $work/plain$1/sys/bus/mdev/devices/$uuid $work/plain$1/run/vgpu-lease/leases/$uuid"; }

sed '/<hostdev/,/<\/hostdev/d; 1d' "$vm" >"$work/plain.xml"

release() { echo "$hook --root $work/$1 -- vm release end - <$vm"; }
lease() { echo "$hook --root $work/$1 -- vm prepare begin - <$vm"; }
row() { local IFS=$'\t'; echo "$*"; }

{
	row "an empty C program" /dev/null "" "$builddir/tests/bench/empty"
	row "an empty C program that parses the domain" "$vm" "" "$builddir/tests/bench/parse"
	row "a domain without a vGPU (aim: under 1.2)" "$work/plain.xml" "" "$hook" vm prepare begin -
	for n in 1 4 16; do
		row "prepare with creation, $n x 48 VFs (aim: under 5)" "$vm" "$(forget $n)" \
			"$hook" --root "$work/plain$n" -- vm prepare begin -
	done
	row "release with removal, 1 pGPU (aim: under 3.2)" "$vm" "$(forget 1); $(lease plain1)" \
		"$hook" --root "$work/plain1" -- vm release end -
	for n in 1 4 16; do
		row "prepare on a simulated host, $n x 48 VFs" "$vm" "$(release $n)" \
			"$hook" --root "$work/$n" -- vm prepare begin -
	done
	row "release on a simulated host, 1 pGPU" "$vm" "$(lease 1)" "$hook" --root "$work/1" -- vm release end -
} >"$work/cases"
"$builddir/tests/bench/bench" "${BENCH_ROUNDS:-30}" <"$work/cases"
for n in 1 plain1; do
	[ ! -e "$work/$n/sys/bus/mdev/devices/$uuid" ] || { echo "make bench: $n: $uuid was not removed" >&2; exit 1; }
done
echo "Aims beside these: 16 pGPUs under 1.5 times one; peak memory of the hook under 8192 KiB."
