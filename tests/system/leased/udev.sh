#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# udev's events on a made-up /sys.
. "$(dirname "$0")/../../lib/tap.sh"
if ! [ -x "$builddir/tests/system/leased/udev_events" ] || ! command -v umockdev-wrapper >/dev/null; then
	skip_all "umockdev is needed, and its library when the tree is configured"
fi
ASAN_OPTIONS+=:verify_asan_link_order=0 exec umockdev-wrapper "$builddir/tests/system/leased/udev_events"
