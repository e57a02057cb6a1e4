# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a refusal tells whoever typed `virsh start` what is wrong and what to do

METADATA="<vgpu:device uuid='$U1' type='mtty-9'/>" define picky "$U1"
run virsh start picky
check "an unknown type is refused in one line with domain, type and those that there are" refused picky mtty-9 mtty-2
check "nothing is left of it" within 5 nothing_left

define full "$U1"
for n in {10..21}; do
	make_device "bbbbbbbb-0000-4000-8000-0000000000$n"
done
run virsh start full
check "a full pool is refused in one line with domain, device, type and parent" refused full "$U1" mtty-2 mtty
check "no lease is left of it" no_lease
check "the devices of others are as they were" same "$(devices | wc -w)" 12

errs "the command for planning refuses it, too" vgpu-lease plan "$WORK/full.xml"

echo 'nonsense = 1' >>"$CONF"
run virsh start full
check "a wrong configuration is refused in one line with domain, file and line" refused full "$CONF" nonsense 5

rm "$CONF"
run virsh start full
check "a missing configuration is refused in one line with domain and device" refused full "$U1"
