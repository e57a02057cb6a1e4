# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mdevs by their files, below $sys. Sourced.
# shellcheck disable=SC2154 # sys is the caller's
bus=$sys/class/mdev_bus mdevs=$sys/bus/mdev/devices
type_dir() { echo "$bus/$1/mdev_supported_types/$2"; }          # PARENT TYPE
create() { put "$3" "$(type_dir "$1" "$2")/create"; }           # PARENT TYPE UUID
remove() { put 1 "$mdevs/$1/remove"; }                          # UUID
capacity() { cat "$(type_dir "$1" "$2")/available_instances"; } # PARENT TYPE
fits() { [ "$(capacity "$1" "$2")" = "$3" ]; }                  # PARENT TYPE NUMBER
uuid() { printf '%08x-0000-4000-8000-00000000abcd' "$1"; }      # NUMBER
