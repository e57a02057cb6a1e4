# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a domain without a vGPU is none of our business
define plain
succeeds "a domain without a vGPU starts" virsh start plain
check "it runs" is_state plain running
succeeds "it can be destroyed" virsh destroy plain
check "no state directory was made for it" no test -e /run/vgpu-lease -o -e /var/lib/vgpu-lease
check "the hook said nothing about it" same "$(journal | grep vgpu-lease)" ''

echo 'this is no configuration' >"$CONF"
succeeds "it starts under a broken configuration, too" virsh start plain
