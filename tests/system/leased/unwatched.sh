#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The device handler where all inotify instances, or watches, of its user are taken.
. "$(dirname "$0")/../../lib/leased.sh"
needs "$builddir/tests/system/leased/no_inotify"
host t4 nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 0'

quiet() { # no pass within four seconds
	local before
	before=$(passes)
	sleep 4
	[ "$(passes)" = "$before" ]
}

for what in instances watches; do
	program leased <<<"exec $builddir/tests/system/leased/no_inotify $what $builddir/vgpu-leased \"\$@\""
	leased=$work/bin/leased start
	holds "without inotify $what it starts" runs
	holds "and says once what is missing" eventually grep -q "fs.inotify.max_user_$what" "$log"
	prepare && open_device "$u1" && release
	is "$(state $u1)" releasing "a release is left to it"
	close_device
	holds "and finished all the same" eventually gone
	prepare && open_device "$u1" && release && close_device
	holds "so is the next" eventually gone
	is "$(grep -c fs.inotify "$log")" 1 "that was said once"
	holds "while nothing happens it makes no pass" eventually quiet
	stops "it ends when it is told to"
done
tap_done
