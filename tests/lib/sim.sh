# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of the simulated host, which they start themselves in $root: "$sim" "$root" MODEL. Sourced first.
. "${BASH_SOURCE[0]%/*}/host.sh"
# shellcheck disable=SC2034 # Read by the tests.
tmp=$work control=$root/.kernel/control sys=$root/sys
. "${BASH_SOURCE[0]%/*}/mdevs.sh"
now() { date +%s%3N; } # milliseconds since the epoch

# What nvidia_mdev.sh and nvidia_vf.sh call, of the card $card. A creation goes on by itself, after three seconds.
# shellcheck disable=SC2154 # card is the caller's
fail_at() { control inject "$1 $card $2 1000"; }
hold_at() {
	case $1 in
	create) control create_delay_ms "$card 3000" ;;
	current) control hang "current_vgpu_type $card" ;;
	list) control hang "creatable_vgpu_types $card" ;;
	esac
}
plugin_lag() { control plugin_delay_ms "$card $1"; }
no_trouble() {
	control inject clear
	control hang clear
	control create_delay_ms "$card 0"
	plugin_lag 0
}
