# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs of NVIDIA's framework attached to a running guest and detached, suspended with it, and given another type
load_nvidia
configure_nvidia
printf 'reclaim_grace = 0\n' >>"$CONF"
V1=${PF1%0}1 V2=${PF1%0}2
define guest
virsh -q start guest
run vgpu-lease attach --type nvidia-1147 guest
check "a domain that runs gets a VF" tells M_ATTACHED "$V1" nvidia-1147 "$V1" guest
check "its QEMU has it open" uses_open guest "$V1"
check "it has the type, and a lease" leased_as "$V1" guest 1147
check "its definition does not have it" same "$(vf_in guest)-$(vf_in guest --inactive)" "$V1-"
succeeds "show finds no difference" vgpu-lease show guest
check "between libvirt, lease, kernel and QEMU" grep -qE "^$V1 +nvidia-1147 +$V1 +live +active +created +yes +$(pid_of guest)$" <<<"$OUT"
run vgpu-lease attach --type nvidia-1148 guest
check "one of another framebuffer size comes from the other card" leased_as "${PF2%0}1" guest 1148
run vgpu-lease detach guest "$V1"
check "the first is detached" tells M_DETACHED "$V1" guest
check "the guest has the other left" same "$(vf_in guest)" "${PF2%0}1"
check "the first has no type" vf_is "$V1" 0
run virsh destroy guest
check "what was attached is released when the domain ends" within 60 no_types

define_vf guest "$V1" 1147
virsh -q start guest
succeeds "a guest is suspended without its VF" vgpu-lease suspend guest
check "whose type and lease are gone" no_types
succeeds "it is resumed" vgpu-lease resume guest
check "with that VF" uses_open guest "$V1"
check "and its type" leased_as "$V1" guest 1147

# Behind the back of the pool: a VF with a type of somebody else's, attached by libvirt.
systemctl start vgpu-leased
check "the handler runs" within 60 connected
put 1147 "$PCI/$V2/nvidia/current_vgpu_type" >"$WORK/given"
MANAGED=no hostdev "$V2" >"$WORK/hostdev.xml"
run virsh attach-device guest "$WORK/hostdev.xml" --live
check "a VF can be attached by other means" uses_open guest "$V2"
check "the handler leases it" within 60 leased_as "$V2" guest 1147 adopted
succeeds "show finds no difference then either" vgpu-lease show guest
run virsh detach-device guest "$WORK/hostdev.xml" --live
left() { same "$(leases | jq -r '.leases[].id')" "$V1"; }
check "detached so, its lease goes" within 60 left
check "and it keeps its type" vf_is "$V2" 1147
run virsh destroy guest
check "the guest's own goes with it" within 60 vf_is "$V1" 0
systemctl stop vgpu-leased

# What nobody uses keeps the card from another framebuffer size.
sed -i '/reclaim_grace/a reclaim = never' "$CONF"
define_vf larger "$V1" 1148
run virsh start --paused larger
check "a domain of another framebuffer size does not start beside it" shows "$PF1" nvidia-1147
sed -i '/reclaim = never/d' "$CONF"
run vgpu-lease gc --dry-run --unused
check "gc says that it could go" grep -q "^remove  *$V2 " <<<"$OUT"
run vgpu-lease retype "$PF1" nvidia-1148
check "retype frees the card" tells M_RETYPE_FREE "$PF1" nvidia-1148 4
check "whose VFs have no type then" no_types
run virsh start --paused larger
check "and the domain starts" typed_by "$V1" larger 1148
run virsh destroy larger
check "in the end nothing is left" within 60 no_types
