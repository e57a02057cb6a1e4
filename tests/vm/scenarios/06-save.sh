# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a guest that sleeps on disk has no vGPU, and gets one when it wakes
MIGRATABLE=1 define sleeper "$U1"
define other "$U1"
managed() { virsh dominfo "$1" | grep -q "^Managed save: *$2"; }

run virsh start sleeper
check "the domain has its device" uses sleeper "$U1"
succeeds "it is saved" virsh save sleeper "$WORK/sleeper.save"
check "nothing is left while it sleeps" within 15 nothing_left
succeeds "it is restored" virsh restore "$WORK/sleeper.save"
check "the device is made again" uses sleeper "$U1"
check "the lease is the domain's again" held_by "$U1" sleeper

succeeds "it is put to sleep by managedsave" virsh managedsave sleeper
check "nothing is left this time, either" within 15 nothing_left
run virsh start --paused other
check "meanwhile another domain takes that device" held_by "$U1" other
succeeds "the sleeper wakes all the same" virsh start sleeper
new=$(device_in sleeper)
check "with another device" test -n "$new" -a "$new" != "$U1"
check "which it uses" uses sleeper "$new"
check "and holds" held_by "$new" sleeper
check "its definition names the first device as before" same "$(device_in sleeper --inactive)" "$U1"
check "the other domain keeps what it has" uses other "$U1"

run virsh managedsave sleeper
check "it goes to sleep once more" managed sleeper yes
check "the other domain's device is the only one left" within 15 only "$U1"
echo 'max_instances = 1' >>"$CONF"
errs "it does not wake where there is no capacity" virsh start sleeper
check "the refusal names it" shows "sleeper"
check "its saved state is kept" managed sleeper yes
check "the other domain's lease is the only one" same "$(leases | jq -r '.leases[].domain.name')" other
succeeds "the other domain ends" virsh destroy other
succeeds "now there is capacity, and it wakes" virsh start sleeper
check "from its saved state" managed sleeper no
run virsh destroy sleeper
check "at last nothing is left" within 15 nothing_left
