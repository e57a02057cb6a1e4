#!/usr/bin/env bash
# udev's events on a made-up /sys.
set -u
if ! [ -x "${builddir:?}/tests/system/leased/udev_events" ] || ! command -v umockdev-wrapper >/dev/null; then
	[ "${MUST_WORK:-0}" = 1 ] && { echo "Bail out! umockdev is needed, and its library when the tree is configured"; exit 1; }
	echo "1..0 # SKIP umockdev is needed, and its library when the tree is configured"
	exit 0
fi
ASAN_OPTIONS=verify_asan_link_order=0 exec umockdev-wrapper "$builddir/tests/system/leased/udev_events"
