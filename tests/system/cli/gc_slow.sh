#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gc: releases of different pGPUs do not wait for a slow one.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:3
configure nvidia-222 policy 'driver_cleanup = 0' 'release_timeout = 60' 'release_wait = 0' 'create_timeout = 1'
left() { ls "$root/run/vgpu-lease/leases"; }
# One vGPU on each of three cards; the removals of the first hang, and their leases have been releasing for an hour.
for n in 1 2 3; do
	configure <<<"$(sed '/^\[mdev/,$d' "$root/etc/vgpu-lease.conf")
$(printf '[mdev_nvidia-222]\ndevice_addresses = 0000:8%d:00.0' $((n + 3)))"
	call prepare begin $n
done
sed -i 's/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/' "$root"/run/vgpu-lease/leases/*
configure <<<"$(sed '/^\[mdev/,$d' "$root/etc/vgpu-lease.conf")"
control remove_delay_ms "0000:84:00.0 20000"

others_done() { [ "$(left | xargs)" = "$*" ]; }

vgpu_lease --root "$root" gc >"$tmp/gc" 2>&1 &
gc=$!
holds "gc finishes what it can while a release hangs" within 15 others_done "$(uuid 1)"
control remove_delay_ms "0000:84:00.0 0"
wait $gc
is "$(left)$(wc -l <"$tmp/gc")" 4 "and that release when it no longer hangs"
tap_done
