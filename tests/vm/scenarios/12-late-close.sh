# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a device that somebody still has open, under whatever name, when its domain is released
printf '\n[policy]\nrelease_timeout = 60\n' >>"$CONF"
define late "$U1"
run virsh start --paused late
check "the domain has its device" uses late "$U1"

# After QEMU has ended, and before the release, another process opens the device, by a node of its own. A third one has an
# ordinary file under the name of the device's node, in a mount namespace of its own: that is nobody's device.
group=$(group_of "$U1")
node=/var/tmp/vm-test-node # /run takes no devices
mknod "$node" c $((0x$(stat -c %t "$group"))) $((0x$(stat -c %T "$group")))
: >"$WORK/file"
# shellcheck disable=SC2016 # the other shell's arguments
unshare -m sh -c 'mount --bind "$1" "$2" && exec sleep 600 9<"$2"' - "$WORK/file" "$group" &
named=$!
keeps_open "$node"
succeeds "the domain is destroyed, and libvirt not kept waiting" virsh destroy late
check "the device is there, as it is open" exists "$U1"
check "its lease says that it is being released" lease "$U1" '.state == "releasing"'
errs "nor is it removed by command" vgpu-lease release "$U1"
check "which says that it is open" shows "$U1" open
# Read before the device goes: with its node the kernel takes away what is mounted on it, and the name with it.
other=$(readlink "/proc/$named/fd/9")
touch "$WORK/close"
check "when it is closed, gc releases it" within 20 collected nothing_left
check "beside a process that had another file under that name" test "$other" = "$group"
rm "$node"
kill "$named"
wait "$named" 2>/dev/null
