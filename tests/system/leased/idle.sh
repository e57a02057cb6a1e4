#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the device handler takes while nothing happens, and whether it grows.
. "$(dirname "$0")/../../lib/leased.sh"
needs "$builddir/tests/system/leased/passes"
host t4:2+mtty nvidia-222 policy 'driver_cleanup = 0' 'reclaim = never'
write_node "$work/node.xml" 8 4 1
for n in 1 2 3 4; do make_device 0000:84:00.0 nvidia-222 "$(uuid $n)"; done

### CPU
# Of the handler, and of the process of a pass.
each() { printf "/proc/%s/$1\n" "$handler" $(pgrep -P "$handler"); }
# shellcheck disable=SC2016 # awk's fields
ticks() { each stat | xargs awk '{ sub(/.*\) /, ""); n += $12 + $13 } END { print n }'; }
# shellcheck disable=SC2016 # awk's fields
wakes() { each status | xargs awk '/ctxt_switches/ { n += $2 } END { print n }'; }
start --connect "test://$work/node.xml"
eventually said M_CONNECTED
before=
is_asleep() { # for four seconds
	local was=$before
	sleep 4
	before="$(ticks) $(wakes)"
	[ "$was" = "$before" ]
}
holds "while nothing happens it does not even wake up" eventually is_asleep
stop

### Memory
read -r _ early late < <("$builddir/tests/system/leased/passes" "$root" "test://$work/node.xml" 1000 | grep ^rss)
holds "after 1000 passes it is not larger than after 100 (by more than 256 KiB): $early, $late KiB" test $((late - early)) -le 256
tap_done
