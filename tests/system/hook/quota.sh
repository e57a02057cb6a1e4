#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A project's quota: it holds on each way a vGPU comes to a domain.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1 nvidia-222 policy 'driver_cleanup = 0' 'reclaim = never' quota 'default = 1' 'none = unlimited'
u() { echo "${u1%??}$1"; }
project="<metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1' project='blue'/></metadata>"
for i in 11 12 14; do another $i | sed "s|</uuid>|&$project|" >"$work/$i.xml"; done
full=(M_QUOTA blue 1 1)

holds "the first of a project's domains starts" prepare "$work/11.xml"
make_device 0000:84:00.0 nvidia-222 "$(u 0c)"
reports "one that arrives where its device was made beforehand is refused" migrate "$work/12.xml" -- "${full[@]}"
is "$(leases)" 1 "nothing is reserved for it"
is "$(restore "$work/12.xml" 2>&1)$?" 0 "a restore says nothing and ends with 0, as its failure would delete the image"
is "$(leases)" 1 "but it reserves nothing"
reports "and the prepare that follows refuses" prepare "$work/12.xml" -- "${full[@]}"
is "$(refusals quota) $(refusals request)" "2 0" "the metrics tell the quota from what is wrong with a domain"
release "$work/12.xml" failed
release "$work/11.xml"
is "$(leases)" 0 "with the first gone"
holds "the second can arrive" migrate "$work/12.xml"
holds "and arrive once more, since that takes the place of what it had reserved" migrate "$work/12.xml"
holds "and start" prepare "$work/12.xml"
open_device "$(u 0c)"
release "$work/12.xml"
is "$(listed state)" releasing "while its last QEMU is on its way out"
holds "it is restored with another vGPU" restore "$work/12.xml"
is "$(lease list --json | grep -c '"state": "reserved"')" 1 "as what it leaves behind is not counted against it"
close_device
release "$work/12.xml"
lease gc >"$work/gc"
is "$(leases)$(devices | wc -w)" 01 "all of it is released"

### What nobody has any more
sed -i 's/driver_cleanup = 0/&\nrelease_timeout = 1\nstart_grace = 1\ncreate_timeout = 1\nreuse = never/' "$root/etc/vgpu-lease.conf"
rm -rf "$root/run/vgpu-lease/leases/"*
# An end without the hook's child: it was killed, or gave up.
left='s/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/; s/^writer_start=.*/writer_start=1/'
prepare "$work/11.xml"
sed -i "$left" "$root/run/vgpu-lease/leases/$(u 0b)"
holds "what a released domain left behind makes capacity in the quota" prepare "$work/14.xml"
is "$(leases) $(devices | grep -c "$(u 0b)")" "1 0" "and is gone"
sleep 1.2
holds "a migration counts on what is left of a domain that died without a release" migrate "$work/11.xml"
is "$(leases)" 2 "and leaves it to the start that follows"
holds "which makes it" prepare "$work/11.xml"
is "$(leases) $(devices | grep -c "$(u 0e)")" "1 0" "and has it"
tap_done
