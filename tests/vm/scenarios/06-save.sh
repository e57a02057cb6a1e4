# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a guest that sleeps on disk has no vGPU, and gets one when it wakes
MIGRATABLE=1 define sleeper "$U1"
define other "$U1"
managed() { virsh dominfo "$1" | grep -q "^Managed save: *$2"; }

run virsh start sleeper
check "the domain has its device" uses sleeper "$U1"
run virsh save sleeper "$WORK/sleeper.save"
check "it is saved" succeeded
check "nothing is left while it sleeps" within 15 nothing_left
run virsh restore "$WORK/sleeper.save"
check "it is restored" succeeded
check "the device is made again" uses sleeper "$U1"
check "the lease is the domain's again" held_by "$U1" sleeper

run virsh managedsave sleeper
check "it is put to sleep by managedsave" succeeded
check "nothing is left this time, either" within 15 nothing_left
run virsh start --paused other
check "meanwhile another domain takes that device" held_by "$U1" other
run virsh start sleeper
check "the sleeper wakes all the same" succeeded
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
run virsh start sleeper
check "it does not wake where there is no capacity" failed
check "the refusal names it" shows "sleeper"
check "its saved state is kept" managed sleeper yes
check "the other domain's lease is the only one" same "$(leases | jq -r '.leases[].domain.name')" other
run virsh destroy other
check "the other domain ends" succeeded
run virsh start sleeper
check "now there is capacity, and it wakes" succeeded
check "from its saved state" managed sleeper no
run virsh destroy sleeper
check "at last nothing is left" within 15 nothing_left
