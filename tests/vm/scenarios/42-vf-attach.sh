# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs attached to a running guest and detached from it, and one that is suspended with a VF
V1=0000:01:00.1 V2=0000:01:00.2
configure_mtty "vf_plain@$V1, $V2"
enable_vfs "$PF1"
define plain
virsh -q start plain
check "the VF has no driver" same "$(driver_of "$V1")" ''
run vgpu-lease attach --type plain plain
check "a domain that runs gets it" tells M_ATTACHED "$V1" plain "$V1" plain
check "its QEMU has it open" uses_open plain "$V1"
check "it is leased to the domain" vf_held_by "$V1" plain
check "the domain has it" same "$(vf_in plain)" "$V1"
check "its definition has not" same "$(vf_in plain --inactive)" ''
succeeds "show finds no difference" vgpu-lease show plain

run vgpu-lease attach --type plain --persistent plain
check "a second one is another" tells M_ATTACHED "$V2" plain "$V2" plain
check "leased, too" lease "$V2" '.state == "active" and .domain.name == "plain"'
check "for good: the definition has it" same "$(vf_in plain --inactive)" "$V2"
run vgpu-lease attach --type plain plain
check "without a free one an attach is refused" tells M_NO_FREE_VF "$PF1" 2 2
run vgpu-lease detach plain "$V1"
check "the first is detached" tells M_DETACHED "$V1" plain
check "the guest has the other left" same "$(vf_in plain)" "$V2"
check "the first has no driver again" same "$(driver_of "$V1")" ''
check "nobody has it leased" same "$(leases | jq -r '.leases[].id')" "$V2"

succeeds "a guest is suspended without its VF" vgpu-lease suspend plain
check "which others may use" within 60 vf_is_free "$V2"
succeeds "it is resumed" vgpu-lease resume plain
check "with that VF" uses_open plain "$V2"
check "leased" vf_held_by "$V2" plain
run vgpu-lease detach --persistent plain "$V2"
check "and detached for good" same "$(vf_in plain)$(vf_in plain --inactive)" ''
check "it is free" within 60 vf_is_free "$V2"

run vgpu-lease attach --type plain plain
check "it can have one again" vf_held_by "$V1" plain
run virsh destroy plain
check "what was attached is released when the domain ends" within 60 vf_is_free "$V1"

printf '[policy]\nrelease_timeout = 3\n' >>"$CONF"
GUEST=halt define stubborn "$V1"
virsh -q start stubborn
run vgpu-lease detach stubborn "$V1"
check "a guest that does not let go is an error" tells M_NOT_LET_GO stubborn "$V1"
check "it keeps its VF" uses stubborn "$V1"
check "and its lease" vf_held_by "$V1" stubborn
run virsh destroy stubborn
check "until it ends" within 60 vf_is_free "$V1"
