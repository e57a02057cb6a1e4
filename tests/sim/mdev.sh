#!/bin/bash
# The simulated host by its files, with real processes: what the kernel and the vendors' drivers answer, errno by errno.
# Needs root and /dev/fuse.
set -u
sim=${builddir:?}/vgpu-lease-sim
. "${srcdir:?}/tests/tap.sh"

if [ "$(id -u)" != 0 ] || ! [ -w /dev/fuse ]; then
	[ "${MUST_WORK:-0}" = 1 ] && { echo "Bail out! root and /dev/fuse are needed"; exit 1; }
	echo "1..0 # SKIP root and /dev/fuse are needed"
	exit 0
fi

tmp=$(mktemp -d)
root=$tmp/host
trap '"$sim" --stop "$root" 2>/dev/null; rm -rf "$tmp"' EXIT

control=$root/.kernel/control
bus=$root/sys/class/mdev_bus
mdevs=$root/sys/bus/mdev/devices

# put TEXT FILE: one write; prints how it ended, as bash's message does after the last colon.
put() {
	local said
	if said=$( (printf '%s' "$1" >"$2") 2>&1); then echo ok; else echo "${said##*: }"; fi
}

# create PARENT TYPE UUID
create() {
	put "$3" "$bus/$1/mdev_supported_types/$2/create"
}

room() {
	cat "$bus/$1/mdev_supported_types/$2/available_instances"
}

uuid() {
	printf '%08x-0000-4000-8000-00000000abcd' "$1"
}

holds "a host of several models starts" "$sim" "$root" t4:2+a40/4+mtty
is "$(room 0000:84:00.0 nvidia-222)" 16 "an empty T4 has room for 16 of 1 GiB"
is "$(create 0000:84:00.0 nvidia-222 "$(uuid 1)")" ok "an mdev is created"
is "$(room 0000:84:00.0 nvidia-222)" 15 "the room is one less"
is "$(room 0000:84:00.0 nvidia-223)" 0 "another framebuffer size no longer fits on this card"
is "$(create 0000:84:00.0 nvidia-223 "$(uuid 2)")" "Input/output error" "NVIDIA refuses with EIO"
is "$(create mtty mtty-1 "$(uuid 1)")" "File exists" "a UUID is used once on a host"
is "$(put 1 "$mdevs/$(uuid 1)/remove")" ok "it is removed"
is "$(room 0000:84:00.0 nvidia-222)" 16 "the room is back"
holds "the host is ended" "$sim" --stop "$root"
tap_done
