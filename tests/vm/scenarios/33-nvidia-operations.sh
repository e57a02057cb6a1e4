# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what befalls a domain with a VF of NVIDIA's framework: failures, a rival, libvirtd gone, somebody who has the VF open
load_nvidia
configure_nvidia
printf 'start_grace = 1\nrelease_timeout = 60\n' >>"$CONF"
V1=${PF1%0}1 V2=${PF1%0}2 V3=${PF1%0}3

ARGUMENT=-no-such-option define_vf bad "$V1" 1147
run virsh start --paused bad
check "a domain with an option that QEMU does not know does not start" shows no-such-option
check "and its VF has no type" within 60 no_types
define_vf first "$V1" 1147
another_hook <<-'END'
	#!/bin/sh
	[ "$2" != start ]
END
errs "nor does one that another hook stops" virsh start --paused first
check "whose VF has no type either" within 60 no_types
no_other_hook
all_is_well "before"

CONFINED=1 define_vf first "$V1" 1147
run virsh start first
check "a domain with an AppArmor profile of its own starts" typed_by "$V1" first 1147
define_vf second "$V1" 1147
run virsh start second
check "a second domain with that VF is refused in one line" refused second "$V1" "$(message M_LEASED_TO first "$(uuid_of first)")"
check "the first runs on with it" typed_by "$V1" first 1147
all_is_well "beside a guest"

suspend_host "a VF of NVIDIA's framework"
check "the guest has its VF and lease as before" typed_by "$V1" first 1147
check "and runs" is_state first running
all_is_well "after a sleep of the host"

running() { is_state first running && uses first "$V1"; }
rm -f "/run/vgpu-lease/leases/$V1"
run systemctl restart libvirtd
check "the guest runs on after a restart of libvirtd" within 60 running
check "a lease that was lost is restored" within 60 leased_as "$V1" first 1147
run virsh destroy first
check "destroyed, it leaves nothing" within 60 no_types
check "the kernel has denied the hook nothing" no denied

race first second
check "which has the VF" typed_by "$V1" "$WINNER" 1147
check "the other is told who has it" tells M_LEASED_TO "$WINNER" "$(uuid_of "$WINNER")"
run virsh destroy "$WINNER"
check "nothing is left of either" within 60 no_types

define_vf slow "$V2" 1148
interrupt slow "of a domain with a VF"
sleep 2
run vgpu-lease gc
check "gc leaves nothing of it" within 60 no_types
run virsh start --paused slow
check "then it starts" typed_by "$V2" slow 1148
run virsh destroy slow
check "and nothing is left" within 60 no_types

# vgpu-mgr lets go later than QEMU, and later than the driver waits for it.
for lag in 3000 9000; do
	plugin_lag "$lag"
	run virsh start --paused slow
	succeeds "a vgpu-mgr that lets go after $lag ms keeps nobody waiting for the end" virsh destroy slow
	check "and the VF, until it does" lease "$V2" '.state == "releasing"'
	check "then gc clears its type" within 60 collected no_types
done
no_trouble

# A type that somebody else gave a VF.
put 1147 "$PCI/$V3/nvidia/current_vgpu_type" >"$WORK/given"
define_vf guest "$V3" 1147
run virsh start --paused guest
check "a VF that has its type already is used" typed_by "$V3" guest 1147 adopted
run virsh destroy guest
check "its lease is released" within 60 no_lease
check "and its type stays" vf_is "$V3" 1147
put 0 "$PCI/$V3/nvidia/current_vgpu_type" >"$WORK/cleared"

define_vf late "$V1" 1147
run virsh start --paused late
check "a domain has its VF" typed_by "$V1" late 1147
keeps_open "$(group_of "$V1")"
succeeds "it is destroyed while a process has its VF open, and libvirt not kept waiting" virsh destroy late
check "the VF keeps its type" vf_is "$V1" 1147
check "its lease is being released" lease "$V1" '.state == "releasing"'
run vgpu-lease release "$V1"
check "nor is it released by command" tells M_HELD_OPEN "*" late
touch "$WORK/close"
check "when it is closed, gc ends both" within 60 collected no_types
no_other_hook
all_is_well "after"

# A guest that sleeps on disk has no VF, and gets one when it wakes.
managed() { virsh dominfo sleeper | grep -q "^Managed save: *$1"; }
MIGRATABLE=1 define_vf sleeper "$V1" 1147
run virsh start sleeper
save_vf sleeper save sleeper "$WORK/sleeper.save"
check "a guest with a VF is saved" succeeded
check "nothing is left while it sleeps" within 60 no_types
run virsh restore "$WORK/sleeper.save"
check "restored, it has its VF" typed_by "$V1" sleeper 1147
check "and the state of its vGPU" same "$(moves "$V1")" 1
save_vf sleeper save sleeper "$WORK/sleeper.save"
check "it goes to sleep again" within 60 no_types
run virsh start --paused second
check "meanwhile another domain takes that VF" typed_by "$V1" second 1147
run virsh restore "$WORK/sleeper.save"
new=$(device_in sleeper)
check "restored all the same, the sleeper has another one" test -n "$new" -a "$new" != "$V1"
check "in its XML and its metadata" names sleeper "$new"
check "by a lease and a type of its own" typed_by "$new" sleeper 1147
check "its definition names the first as before" same "$(device_in sleeper --inactive)" "$V1"

save_vf sleeper managedsave sleeper
check "it is put to sleep by managedsave" within 60 typed_are "$V1"
configure_nvidia "$PF1"
sed -i '/^\[mdev_nvidia-1147/a max_instances = 1' "$CONF"
errs "it does not wake where there is no capacity" virsh start sleeper
check "the refusal names the limit" tells M_CAP_REACHED 1
check "its saved state is kept" managed yes
check "nothing but the other domain has a vGPU" typed_are "$V1"
run virsh destroy second
check "the other domain ends" within 60 no_types
run virsh start sleeper
check "then it wakes, with a VF" typed_by "$(device_in sleeper)" sleeper 1147
check "from its saved state" managed no
run virsh destroy sleeper
check "at last nothing is left" within 60 no_types
