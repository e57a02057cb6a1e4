# shellcheck shell=bash
# For tests of the simulated host: starts one in a folder of its own, ends it with the script. Sourced first.
# Needs root and /dev/fuse.
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

# put TEXT FILE: one write; prints "ok" or what the system says of it.
put() {
	local said
	if said=$( (printf '%s' "$1" >"$2") 2>&1); then echo ok; else echo "${said##*: }"; fi
}

type_dir() {
	echo "$bus/$1/mdev_supported_types/$2"
}

# create PARENT TYPE UUID
create() {
	put "$3" "$(type_dir "$1" "$2")/create"
}

# remove UUID
remove() {
	put 1 "$mdevs/$1/remove"
}

# room PARENT TYPE
room() {
	cat "$(type_dir "$1" "$2")/available_instances"
}

# has_room PARENT TYPE NUMBER
has_room() {
	[ "$(room "$1" "$2")" = "$3" ]
}

# uuid NUMBER
uuid() {
	printf '%08x-0000-4000-8000-00000000abcd' "$1"
}

# node UUID: its file in /dev/vfio
node() {
	local group
	group=$(readlink "$mdevs/$1/iommu_group") && echo "$root/dev/vfio/${group##*/}"
}

# knob FILE LINE
knob() {
	put "$2" "$control/$1" >/dev/null
}

# within SECONDS COMMAND...: the command succeeds before that time is over.
within() {
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# milliseconds since the epoch
now() {
	date +%s%3N
}
