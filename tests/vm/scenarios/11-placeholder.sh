# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a definition that names no device yet
any=00000000-0000-0000-0000-000000000000
METADATA="<vgpu:device uuid='$any' type='mtty-2'/>" domain template request "$any"

succeeds "libvirt takes a placeholder" virsh define "$WORK/template.xml"
errs "but such a domain does not start" virsh start --paused request
check "and is told what to do" shows "domain request" "vgpu-lease rewrite request"
check "nothing is left of the attempt" within 5 nothing_left

succeeds "rewrite succeeds" vgpu-lease rewrite "$WORK/template.xml"
check "no placeholder is left" no shows "$any"
printf '%s\n' "$OUT" >"$WORK/request.xml"
succeeds "libvirt takes the result" virsh define "$WORK/request.xml"
device=$(device_in request)
check "hostdev and metadata name the same device" same "$(grep -o "uuid='$device'" "$WORK/request.xml" | wc -l)" 2
run virsh start --paused request
check "now it starts, with that device" uses request "$device"
check "which is leased to it" held_by "$device" request
run virsh destroy request
check "nothing is left of it" within 15 nothing_left

run virsh undefine request
run virsh define "$WORK/template.xml"
succeeds "rewrite of the domain itself succeeds" vgpu-lease rewrite request
fresh=$(device_in request)
check "and says what it put where" shows "$any -> $fresh"
run virsh start --paused request
check "it starts, too" uses request "$fresh"
run virsh destroy request
check "nothing is left of it either" within 15 nothing_left

# A device that somebody has numbered by hand is that device.
numbered=00000000-0000-0000-0000-000000000001
make_device "$numbered"
define numbered "$numbered"
succeeds "rewrite leaves a device that exists" vgpu-lease rewrite numbered
run virsh start --paused numbered
check "its domain starts" uses numbered "$numbered"
run virsh destroy numbered
check "no lease is left" within 15 no_lease
check "and the device is left standing" only "$numbered"
echo 1 >"/sys/bus/mdev/devices/$numbered/remove"
