# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a definition that names no device yet
any=00000000-0000-0000-0000-000000000000
METADATA="<vgpu:device uuid='$any' type='mtty-2'/>" domain template wish "$any"

run virsh define "$WORK/template.xml"
check "libvirt takes a placeholder" succeeded
run virsh start --paused wish
check "but such a domain does not start" failed
check "and is told what to do" shows "domain wish" rewrite
check "nothing is left of the attempt" within 5 nothing_left

run vgpu-lease rewrite "$WORK/template.xml"
check "rewrite succeeds" succeeded
check "no placeholder is left" no shows "$any"
printf '%s\n' "$OUT" >"$WORK/wish.xml"
run virsh define "$WORK/wish.xml"
check "libvirt takes the result" succeeded
device=$(device_in wish)
check "hostdev and metadata name the same device" same "$(grep -o "uuid='$device'" "$WORK/wish.xml" | wc -l)" 2
run virsh start --paused wish
check "now it starts, with that device" uses wish "$device"
check "which is leased to it" held_by "$device" wish
run virsh destroy wish
check "nothing is left of it" within 15 nothing_left
