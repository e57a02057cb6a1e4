# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of the simulated host, which they start themselves in $root: "$sim" "$root" MODEL. Sourced first.
# shellcheck source=tests/lib/host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
# shellcheck disable=SC2034 # Read by the tests.
tmp=$work control=$root/.kernel/control
bus=$root/sys/class/mdev_bus
mdevs=$root/sys/bus/mdev/devices

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

# capacity PARENT TYPE
capacity() {
	cat "$(type_dir "$1" "$2")/available_instances"
}

# has_room PARENT TYPE NUMBER
has_room() {
	[ "$(capacity "$1" "$2")" = "$3" ]
}

# uuid NUMBER
uuid() {
	printf '%08x-0000-4000-8000-00000000abcd' "$1"
}

# milliseconds since the epoch
now() {
	date +%s%3N
}
