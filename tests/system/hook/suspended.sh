#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The host is suspended, or its wall clock set: neither is time that a domain had.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
configure nvidia-222 policy 'driver_cleanup = 0'
# What a process sees after a suspend: the clock that goes on meanwhile is ahead, that of running time is not.
later() { unshare --time --boottime 1000 --fork "$@"; }
prepare "$vm"
holds "time passes" later true
later "$builddir/vgpu-lease" --root "$root" gc >"$work/gc"
is "$(leases)$(devices)" "1$u1 " "a suspend between a start and its QEMU takes nothing of start_grace"
holds "the domain's end" later "$builddir/hooks/qemu" --root "$root" -- vm release end - <"$vm"
is "$(leases)$(devices)" 0 "releases"
holds "an arrival" hook vm migrate begin - <"$vm"
later "$builddir/vgpu-lease" --root "$root" gc >"$work/gc"
is "$(leases)" 1 "is reserved for as long as the host runs"
tap_done
