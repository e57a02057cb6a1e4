# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a domain without a vGPU is none of our business
define plain
run virsh start plain
check "a domain without a vGPU starts" succeeded
check "it runs" is_state plain running
run virsh destroy plain
check "it can be destroyed" succeeded
check "no state directory was made for it" no test -e /run/vgpu-lease -o -e /var/lib/vgpu-lease
check "the hook said nothing about it" same "$(journal | grep vgpu-lease)" ''

echo 'this is no configuration' >"$CONF"
run virsh start plain
check "it starts under a broken configuration, too" succeeded
