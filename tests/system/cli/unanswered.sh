#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A driver that does not answer: what cannot be seen is neither there nor gone, and nothing goes on it.
. "$(dirname "$0")/../../lib/cli.sh"

vf=0000:26:00.4
record=$root/run/vgpu-lease/leases/$vf
host l40s/4
configure nvidia-1147 policy 'driver_cleanup = 0'
with_vf() { # SUBCOMMAND...: as libvirt calls the hook for a domain that names the VF
	vf_domain 1 $vf | "$hook" --root "$root" -- vm1 "$@"
}
state() { sed -n 's/^state=//p' "$record"; }
outcome() { jq -r '.items[] | .outcome' <<<"$out"; }

with_vf prepare begin -
control hang "current_vgpu_type any"
vl gc --json
is "$status $(outcome)" "0 stays" "gc leaves a vGPU whose driver does not answer"
is "$(state)" active "and its lease as it is"
holds "and says why" says M_PRESENCE_UNKNOWN 0000:26:00.0 <<<"$out"
vl list --json
is "$(jq -r '.leases[0].state' <<<"$out")" active "list shows it"
fails "and advises no gc for it" says M_GC_COLLECTS <<<"$out"
control hang clear
vl gc
is "$(state)" active "once the driver answers, gc keeps what was leased a moment ago"
is "$(cat "$root/sys/bus/pci/devices/$vf/nvidia/current_vgpu_type")" 1147 "and the vGPU is there"

### A release that is due
sed -i 's/^state=.*/state=releasing/; s/^since_ms=.*/since_ms=1/; s/^writer=.*/writer=4194305/' "$record"
control hang "current_vgpu_type any"
vl gc --json
is "$status $(outcome) $(state)" "0 stays releasing" "a release that is due waits until the driver answers"
control hang clear
# Until the process that hung has ended nobody asks the driver.
is_done() { vl gc --json; [ "$status $(outcome)" = "0 removed" ]; }
holds "and is done then" eventually is_done

### A creation that hangs: gc cannot do anything about what waits for it
root=$tmp/mdevs
host t4
configure nvidia-222 policy 'release_timeout = 3' 'create_timeout = 1' 'driver_cleanup = 0'
control create_delay_ms 12000
call prepare begin 4 2>/dev/null
call release end 4
for command in 'list --json' check "show $(uuid 4)" 'gc --dry-run'; do
	# shellcheck disable=SC2086 # The words of a command line.
	vl $command
	fails "$command advises no gc" grep -q "run 'vgpu-lease .*gc'\|^remove \| remove: " <<<"$out"
	[ "$command" = check ] || holds "but says what the release waits for" says M_GC_WAITS 0000:84:00.0 <<<"$out"
done
SECONDS=0
vl gc
holds "gc waits for it no longer than for a guest" [ $SECONDS -lt 8 ]
is "$status" 1 "and fails then"
holds "with the cause" says M_GC_GAVE_UP <<<"$out"
holds "the write ends" eventually flock -n "$(card_lock 0000:84:00.0)" true
vl gc --json
is "$status $(outcome)" "0 removed" "and gc releases it then"

### A guest that ended without its release: what is said of its lease
control create_delay_ms 0
sed -i '$a start_grace = 60' "$root/etc/vgpu-lease.conf"
call prepare begin 5
runs 5
vl list --json
is "$(jq -r '.leases[].note' <<<"$out")" null "of a guest that runs nothing is to be said"
rm "$root/run/libvirt/qemu/vm5.xml"
vl_prints "one that has ended is told, with when gc releases it" list --json -- M_DOMAIN_IDLE -- M_GC_LATER
fails "no gc is advised before" says M_GC_COLLECTS <<<"$out"
vl check
fails "and check says of none that it runs" grep -q "vm5 runs" <<<"$out"
age 5
vl_prints "gc is advised when it does" list --json -- M_GC_COLLECTS "$(message M_DOMAIN_ENDED)"
vl gc --json
is "$status $(outcome)" "0 removed" "and does"
tap_done
