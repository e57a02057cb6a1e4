#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mdevs that are numbered by hand: a UUID that exists here is that UUID, and no placeholder.
. "$(dirname "$0")/../../lib/hook.sh"
host t4
card=0000:84:00.0 one=00000000-0000-0000-0000-000000000001
define() { mdevctl_has $card "$1" nvidia-222; }
rewritten() { lease rewrite "$work/one.xml" | grep -c "uuid='$one'"; }
sed "s/$u1/$one/" "$vm" >"$work/one.xml"
libvirt_has one-vgpu <"$work/one.xml"
named() { lease check 2>&1 | grep -c "$one"; }

is "$(rewritten)" 0 "without a device, a definition or a lease it is a placeholder: rewrite replaces it"
is "$(named)" 1 "check names its domain"
holds "and says what to do" says M_PLACEHOLDER_CHECK one-vgpu $one -- M_REWRITE_GIVES_UUID one-vgpu < <(lease check 2>&1)
fails "and its start is refused" prepare "$work/one.xml"

make_device $card nvidia-222 $one
holds "with a device it starts without a configuration" prepare "$work/one.xml"
release "$work/one.xml"
configure nvidia-222 policy 'driver_cleanup = 0'
holds "plan says that it starts" lease plan "$work/one.xml"
holds "with a configuration it starts" prepare "$work/one.xml"
is "$(leases)" 1 "and has a lease"
is "$(rewritten)" 1 "rewrite leaves it"
is "$(named)" 0 "check has nothing to say of it"
release "$work/one.xml"
is "$(leases)$(devices)" "0$one " "when it ends the device stays"

remove_device $one
define $one
is "$(rewritten)$(named)" 10 "with a definition of mdevctl alone it is the same UUID"
holds "and the hook makes it" prepare "$work/one.xml"
is "$(devices)" "$one " "as it is numbered"
rm -r "$root/etc/mdevctl.d/$card"
remove_device $one
is "$(rewritten)" 1 "a lease is enough"
rm -r "$root/run/vgpu-lease/leases"
: >"$root/run/vgpu-lease/leases"
is "$(rewritten)" 1 "and where leases cannot be read it may have one"
rm "$root/run/vgpu-lease/leases"
is "$(rewritten)" 1 "so is that a guest has had it here"
rm -r "$root/var/lib/vgpu-lease/affinity"
is "$(rewritten)" 0 "without any of them it is a placeholder again"
tap_done
