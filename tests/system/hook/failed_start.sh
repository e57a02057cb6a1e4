#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A guest whose QEMU fails soon after its vGPU was created: the next start tries that pGPU last.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
configure nvidia-222 policy 'driver_cleanup = 0' 'start_grace = 60'
one=0000:84:00.0 two=0000:85:00.0
prepare
is "$(parent_of $u1)" $one "a guest gets a vGPU of the first pGPU"
release "$vm" failed
holds "when QEMU has failed" test -e "$root/run/vgpu-lease/failed/$one"
prepare
is "$(parent_of $u1)" $two "its next start gets one of the second, though it was on the first before"
release "$vm" failed
prepare
is "$(leases)" 1 "if all have failed it starts all the same"
release
rm -r "$root/run/vgpu-lease/failed"
prepare
release "$vm" crashed
fails "one that ends otherwise says nothing about its pGPU" test -e "$root/run/vgpu-lease/failed"
prepare
sed -i s/^since_ms=.*/since_ms=1/ "$root/run/vgpu-lease/leases/$u1"
release "$vm" failed
fails "nor one that fails later" test -e "$root/run/vgpu-lease/failed"
make_device $one nvidia-222 $u1
prepare
release "$vm" failed
fails "nor one with a vGPU that was there" test -e "$root/run/vgpu-lease/failed"
tap_done
