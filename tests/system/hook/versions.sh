#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A lease of a later version, whose meaning has changed, beside the hook, the handler and gc of this one: starts are
# refused and say why; nothing else fails, and nothing is removed. The file is tests/unit/state/files/lease-2.
. "$(dirname "$0")/../../lib/leased.sh"
host t4 nvidia-222 policy 'release_wait = 0' 'release_timeout = 1' 'driver_cleanup = 0'
later=c6f1a2b3-0000-4000-8000-00000000000a
file=$root/run/vgpu-lease/leases/$later
sed '/<hostdev/,/<\/hostdev>/d; /<metadata/,/<\/metadata>/d' "$vm" >"$work/plain.xml"
explains() { says M_LATER_LEASE "$later"; }
stays() { cmp -s "$file" "$srcdir/tests/unit/state/files/lease-2" && [ "$(leases) $(devices)" = "2 $u1 " ]; }

prepare || tap_bail_out "the first domain does not start"
cp "$srcdir/tests/unit/state/files/lease-2" "$file"

# What the hook says goes to its log as well; it ends with 0 where libvirt acts upon a failure.
err=$(prepare 2 2>&1) && err="it started"
holds "a start beside a lease of a later version is refused, and says which and what to do" explains <<<"$err"
holds "and leaves that lease and all others" stays
err=$(another 2 | migrate /dev/stdin 2>&1) && err="it arrived"
holds "so is an arrival" explains <<<"$err"
holds "a domain without a vGPU starts" prepare "$work/plain.xml"
holds "a running guest survives a restart of libvirt" hook vm reconnect begin - <"$vm"
is "$(another 2 | restore /dev/stdin 2>/dev/null; echo $?)" 0 "a saved one keeps its image, and its XML"
holds "a domain ends" release
holds "and its vGPU stays for the later version to release" stays

for words in "gc" "gc --dry-run" "retype 0000:84:00.0 nvidia-223"; do
	err=$(in_words lease "$words" 2>&1) && err="done"
	holds "$words says why it does nothing" explains <<<"$err"
done
holds "and does nothing" stays

start
holds "the handler runs, and says why it decides nothing" eventually said M_LATER_LEASE "$later"
kill -HUP "$daemon"
sleep 1
holds "it removes nothing, either" stays
holds "and still runs" runs

# As the later version does, which reads it, when its domain ends.
rm "$file"
is "$(release && echo 0)" 0 "once that lease has ended, a domain's end"
holds "is the end of its vGPU again" eventually gone
holds "and a domain starts" prepare 2
stops "the handler ends as always"
tap_done
