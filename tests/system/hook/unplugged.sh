#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Leases that a running domain does not use: an attach was killed midway, or a device was unplugged and no handler runs.
. "$(dirname "$0")/../../lib/hook.sh"
host t4+l40s/1
configure_both 'driver_cleanup = 0' 'create_timeout = 1' 'start_grace = 1'
with_vf >"$work/vf.xml"
# runs HOSTDEVS: libvirt's status file of the domain, with these in it
runs() {
	printf "<domain type='kvm'><name>vm</name><uuid>%s</uuid>\n%s\n</domain>\n" $vm_uuid "$1" | libvirt_runs vm
}
edit_lease() { sed -i "$1" "$root/run/vgpu-lease/leases/"*; }
why() { lease gc --dry-run; }

### The device is in the domain
prepare
runs "<hostdev><source><address uuid='$u1'/></source></hostdev>"
edit_lease 's/^since_ms=.*/since_ms=1/'
lease gc >/dev/null
is "$(leases)$(devices)" "1$u1 " "the vGPU of a running domain stays"
runs "<metadata><record uuid='$u1'/></metadata>"
lease gc >/dev/null
is "$(leases)$(devices)" "1$u1 " "also one that only a suspend's record names"

### It is not
runs ""
edit_lease "s/^since_ms=.*/since_ms=1/"
open_device $u1
lease gc >/dev/null
is "$(leases)" 1 "one that is open stays"
close_device
lease gc >"$work/gc"
is "$(leases)$(devices)" 0 "what nobody attaches any more, and the domain does not have, is released"
prepare
runs ""
edit_lease 's/^since_ms=.*/since_ms=1/; s/^state=.*/state=creating/; s/^writer_start=.*/writer_start=1/'
lease gc >"$work/gc"
is "$(leases)$(devices)" 0 "also if the attach was killed while it created it"
prepare
runs ""
edit_lease 's/^state=.*/state=creating/; s/^writer_start=.*/writer_start=1/'
remove_device $u1
lease gc >"$work/gc"
is "$(leases)" 0 "or before"

### The same of a VF
prepare "$work/vf.xml"
runs "<metadata><k:suspended xmlns:k='urn:vgpu-lease:suspended:1' hostdevs='&lt;hostdev&gt;'/></metadata>"
edit_lease 's/^since_ms=.*/since_ms=1/'
lease gc >/dev/null
is "$(leases)" 1 "a VF that a suspend may have taken stays"
runs ""
lease gc >"$work/gc"
is "$(leases)$(cat "$root/sys/bus/pci/devices/0000:26:00.4/nvidia/current_vgpu_type")" 00 "one that nothing names is released"
tap_done
