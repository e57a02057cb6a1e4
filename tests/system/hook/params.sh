#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The parameters of a vGPU: set when it is created and when it is adopted; and what its mdevctl definition sets.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1+l40s/4:1
card=0000:84:00.0 vf=0000:26:00.4
log_here
log_says() { logged | says "$@" >/dev/null; }
configure nvidia-222@0000:84:00.0 'vgpu_params = frame_rate_limiter=0' nvidia-1147@10de:26b9 \
	'vgpu_params = frame_rate_limiter=0' policy 'driver_cleanup = 0'
params() { cat "$root/sys/bus/mdev/devices/$u1/nvidia/vgpu_params"; }

### What exists
make_device $card nvidia-222 $u1
prepare
is "$(params)" frame_rate_limiter=0 "an mdev that exists gets the parameters of its section"
release
prepare <(asking "uuid='$u1' params='disable_vnc=1'")
is "$(params)" disable_vnc=1 "or those of the domain"
release
control inject 'params any EPERM 1'
holds "a domain starts if its driver refuses them" prepare
holds "and the log says that they are not set" eventually log_says M_WITHOUT_PARAMS prepare one-vgpu "$u1" frame_rate_limiter=0 '*'
release
remove_device $u1
set_vf_type $vf 1147
with_vf >"$work/vf.xml"
prepare "$work/vf.xml"
is "$(cat "$root/sys/bus/pci/devices/$vf/nvidia/vgpu_params")" frame_rate_limiter=0 "a VF that has its type gets them, too"
release "$work/vf.xml"

### What mdevctl would set
define() { mdevctl_has $card $u1 nvidia-222 manual "$1"; } # ATTRS
sed -i '/^vgpu_params/d' "$root/etc/vgpu-lease.conf"
define '[{"nvidia/vgpu_params": "enable_uvm=1"}, {"nvidia/vgpu_params": "enable_debugging=1"}]'
prepare
is "$(params)" enable_debugging=1 "a vGPU that is defined gets the attributes of its definition, in their order"
release
remove_device $u1
define '[{"nvidia/vgpu_params": "enable_uvm=1"}, {"nonsense": "5"}]'
reports "one that cannot be written is named" prepare -- M_ATTR_NOT_SET nonsense 5 '*'
is "$(leases)$(devices)" 0 "and nothing is left of that start"
for wrong in '[{"../remove": "1"}]' '[{"/etc/passwd": "1"}]' '["x"]' '{"a": "b"}' '[{"a": 1}]'; do
	define "$wrong"
	reports "attrs that are $wrong are refused" prepare -- M_ATTRS_INVALID "$card/$u1"
done
is "$(leases)$(devices)" 0 "and leave nothing"
tap_done
