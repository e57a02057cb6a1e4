#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a refusal advises works: each is tried here.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1+l40s/4+mtty
configure nvidia-222 mtty-1 nvidia-558@0000:99:00.0 policy 'driver_cleanup = 1' 'release_wait = 1'
refusal() { typed "$1" | lease plan - 2>&1 | grep 'unknown type'; }
planned() { typed "$1" | lease plan - >/dev/null 2>&1; }

said=$(refusal nvidia-9)
holds "an unknown type is answered with the enabled types that a pGPU here has" says M_ENABLED_TYPES "nvidia-222" <<<"$said"
holds "and with the command that lists all" says M_SEE_TYPES <<<"$said"
advised=${said##*enabled: } advised=${advised%%;*}
fails "not with one for which no pGPU is left" grep -q mtty-1 <<<"$said"
for type in ${advised//,/}; do holds "$type, which is advised, would do" planned "$type"; done
said=$(refusal "GRID T4-3B")
holds "a name that is unknown is answered with names" says M_ENABLED_TYPES "nvidia-222 (GRID T4-1B)" <<<"$said"
holds "which would do" planned "GRID T4-1B"

prepare
release
sed "s/$vm_uuid/${vm_uuid%??}77/; s/one-vgpu/other/" "$vm" >"$work/other.xml"
holds "a UUID whose release is under way is waited for, where no other UUID is needed" prepare "$work/other.xml"
release "$work/other.xml"
tap_done
