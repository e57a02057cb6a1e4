# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the device handler releases what is closed late, also where the kernel gives it no inotify instance
instances=$(sysctl -n fs.inotify.max_user_instances)
sysctl -q fs.inotify.max_user_instances=0
systemctl start vgpu-leased
check "the handler runs" within 60 connected
define late "$U1"
run virsh start --paused late
check "the domain has its device" uses late "$U1"
keeps_open "$(group_of "$U1")"
run virsh destroy late
check "a device that is open when its domain ends is left to the handler" lease "$U1" '.state == "releasing"'
touch "$WORK/close"
check "which releases it when it is closed" within 20 nothing_left
check "the handler is still there" connected
sysctl -q fs.inotify.max_user_instances="$instances"
