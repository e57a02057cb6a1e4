# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs that are disabled under a running guest, and enabled again
V1=0000:01:00.1 V2=0000:01:00.2 V3=0000:01:00.3
configure_vfs
enable_vfs "$PF1"
enable_vfs "$PF2"
vfs_are() { [ "$(find "$PCI/$PF1/" -name 'virtfn*' | wc -l)" = "$1" ]; }
has_vf() { virsh dumpxml "$1" | grep -q "<hostdev"; }
# The kernel asks QEMU to give the VF up, that asks the guest, which lets go.
define guest "$V1"
run virsh start guest
check "a guest has a VF" uses guest "$V1"
disable_vfs "$PF1"
check "VFs can be disabled under a guest that lets go" vfs_are 0
check "which runs on without" within 60 no has_vf guest
check "no hook was called: the lease is still there" vf_held_by "$V1" guest
run vgpu-lease show guest
check "show tells, and how to end it" tells M_ABOUT "$V1" -- M_SHOW_NOT_PLUGGED
check "the kernel has no such VF" grep -qE "^$V1 +plain +$V1 +config +active +created +- +-$" <<<"$OUT"
run vgpu-lease gc
check "gc leaves a running domain its lease" tells M_ITS_DOMAIN_RUNS
run vgpu-lease check
check "check tells of VFs that are not enabled" tells M_ABOUT "$PF1" -- M_VFS_NOT_ENABLED
run vgpu-lease detach guest "$V1"
check "detach ends the lease" no_lease

define late "$V1"
errs "a domain whose VF is not there does not start" virsh start late
check "and leaves no lease" no_lease
enable_vfs "$PF1"
run virsh start late
check "enabled again, it does" uses late "$V1"
check "with its lease" vf_held_by "$V1" late

# With the device handler nobody need do anything.
systemctl start vgpu-leased
check "the handler runs" within 60 connected
disable_vfs "$PF1"
check "the handler ends the lease of what was disabled" within 120 no_lease
check "while the guest runs on" is_state late running
enable_vfs "$PF1"
hostdev "$V1" >"$WORK/hostdev.xml"
run virsh attach-device late "$WORK/hostdev.xml" --live
check "enabled again, it can be attached by other means" uses_open late "$V1"
check "and the handler leases it" within 120 vf_held_by "$V1" late adopted
run virsh destroy late
check "until the domain ends" within 60 vf_is_free "$V1"

# A guest that does not let go.
GUEST=halt define deaf "$V2"
run virsh start deaf
check "a guest that lets go of nothing has a VF" uses deaf "$V2"
disable_vfs "$PF1" &
disabling=$!
check "to disable VFs waits for it" within 60 no test -e "$PCI/$V2/physfn"
check "it has its VF" uses_open deaf "$V2"
check "and its lease" vf_held_by "$V2" deaf
check "its driver is gone" no test -e "$PCI/$V2/driver"
check "the VF before it is gone" test ! -e "$PCI/$V1"
check "the one behind it is not" test -e "$PCI/$V3/physfn"
cat "$PCI/$PF1/sriov_numvfs" >"$WORK/numvfs" &
reading=$!
define second "$V2"
run virsh start second
check "no other domain waits for it" tells M_LEASED_TO deaf "$(virsh domuuid deaf)"
define third "$V3"
run virsh start third
check "nor for one behind it" tells M_VFS_BEING_DISABLED
run vgpu-lease gc
check "which gc leaves" vf_held_by "$V2" deaf
run vgpu-lease check
check "check says of the card what is going on" tells M_VFS_BEING_DISABLED
check "no VF is taken for a card" no tells M_CANNOT_HAVE_VFS "$V2"
check "how many there are is not told meanwhile" test ! -s "$WORK/numvfs"
configure_mtty "vf_plain@$V2"
run vgpu-lease check
check "of one that is named, check says that it is being disabled" tells M_BEING_DISABLED
check "which it is" shows "$V2"
configure_vfs
run virsh destroy deaf
check "until it ends" within 60 no_lease
wait "$disabling" "$reading"
check "then there are none" vfs_are 0
enable_vfs "$PF1"
run virsh start deaf
check "enabled again, the VF has a new guest" uses deaf "$V2"
run virsh destroy deaf
check "and is free in the end" within 60 vf_is_free "$V2"
succeeds "the check is well" vgpu-lease check
