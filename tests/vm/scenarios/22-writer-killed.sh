# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a process of the hook that is killed while the driver makes its vGPU costs the domain nothing
load_stuck
configure_stuck
sed -i 's/^create_timeout.*/create_timeout = 300/' "$CONF"
METADATA="<vgpu:device uuid='$U2' type='stuck-1'/>" define asks "$U2"
hang_at create
virsh start --paused asks >"$WORK/started" 2>&1 &
starting=$!
check "a creation hangs" within 60 hangs
for writer in $(stuck_processes); do kill -KILL "$writer"; done
hang_at nowhere
wait "$starting"
run cat "$WORK/started"
check "its writer was killed, but the domain has its vGPU" on_stuck "$U2" asks
check "and runs with it" uses_open asks "$U2"
run virsh destroy asks
check "released, it is gone" within 15 nothing_left
