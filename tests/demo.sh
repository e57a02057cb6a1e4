#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job on two simulated hosts with eight Tesla T4 each: what libvirt's calls of the hook do, step by step. Each
# command is shown as it is run, and can be run again by hand from the same directory while DEMO_KEEP=1 keeps the hosts.
set -euo pipefail

: "${srcdir:?}" "${builddir:?}"
cd "$builddir"
demo=demo
templates=$(realpath --relative-to=. "$srcdir")/xml-templates

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() {
	printf '%s$ %s%s\n' "$bold" "$1" "$plain"
	bash -c "$1" | sed 's/^/  /'
}

stop() {
	./vgpu-lease-sim --stop $demo/a 2>/dev/null || :
	./vgpu-lease-sim --stop $demo/b 2>/dev/null || :
}
stop
rm -rf $demo
mkdir -p $demo/a/etc $demo/b/etc
[ -n "${DEMO_KEEP:-}" ] || trap 'stop; rm -rf $demo' EXIT

cat >$demo/a/etc/vgpu-lease.conf <<'EOF'
[devices]
enabled_mdev_types = nvidia-222

[policy]
driver_cleanup = 0
EOF
cp $demo/a/etc/vgpu-lease.conf $demo/b/etc
vm=$templates/domain-one-vgpu.xml

say 'Two hosts, a and b, each with eight Tesla T4. The type nvidia-222 (GRID T4-1B) is in the pool.'
show "./vgpu-lease-sim $demo/a t4:8"
show "./vgpu-lease-sim $demo/b t4:8"
show "cat $demo/a/etc/vgpu-lease.conf"

say 'The domain names a vGPU that does not exist; nothing says which card or type.'
show "grep -A 4 '<hostdev' $vm"
show "./vgpu-lease --root $demo/a plan $vm | head -n 3"

say 'virsh start: libvirt calls the hook with "prepare begin". Afterwards the kernel has the device.'
show "hooks/qemu --root $demo/a -- one-vgpu prepare begin - <$vm"
show "ls -l $demo/a/sys/bus/mdev/devices"
show "./vgpu-lease --root $demo/a status"

say 'Another domain with the same UUID is refused, with the reason and the fix.'
show "sed 's/one-vgpu/copy/; s/<uuid>8f2d5b1e/<uuid>8f2d5b1f/' $vm | hooks/qemu --root $demo/a -- copy prepare begin - 2>&1 || true"

say 'On host b another guest has a vGPU with this UUID.'
show "sed 's/one-vgpu/other/; s/<uuid>8f2d5b1e/<uuid>8f2d5b1f/' $vm | hooks/qemu --root $demo/b -- other prepare begin -"

say 'virsh migrate: on b, "migrate begin" reserves a device and prints the XML with its new UUID; "prepare begin" makes it.'
show "hooks/qemu --root $demo/b -- one-vgpu migrate begin - <$vm >$demo/migrated.xml"
show "diff -U 1 $vm $demo/migrated.xml || true"
show "./vgpu-lease --root $demo/b list"
show "hooks/qemu --root $demo/b -- one-vgpu prepare begin - <$demo/migrated.xml"
show "./vgpu-lease --root $demo/b list"

say 'The guest runs on b: a gives its device back with "release end migrated".'
show "hooks/qemu --root $demo/a -- one-vgpu release end migrated <$vm"
show "./vgpu-lease --root $demo/a list"
show "ls $demo/a/sys/bus/mdev/devices"

say 'virsh destroy, on b.'
show "hooks/qemu --root $demo/b -- one-vgpu release end destroyed <$demo/migrated.xml"
show "./vgpu-lease --root $demo/b list"
show "ls $demo/b/sys/bus/mdev/devices"
