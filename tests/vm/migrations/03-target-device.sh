# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what the target has under the device's UUID
there policy 'reserve_ttl = 60'
MIGRATABLE=1 define mover "$U1"
run virsh start mover

migrate_to 2 mover
check "where the UUID is free, the domain keeps it" there has mover "$U1"
check "and the hook printed nothing" no there rewritten mover
check "nothing stays on host1" within 20 nothing_left

make_device "$U1"
there migrate_to 1 mover
check "what somebody else made under that UUID is adopted" has mover "$U1" adopted
check "and the hook printed nothing" no rewritten mover
check "nothing stays on host2" there within 20 nothing_left

define other "$U1"
there domain other other "$U1"
there run virsh create --paused "$WORK/other.xml"
check "on host2 another domain takes the UUID" there held_by "$U1" other
migrate_to 2 mover
check "where another domain has the UUID, the domain comes all the same" succeeded
device=$(there device_in mover)
check "with another device" there held_by "$device" mover
check "which it uses" there uses mover "$device"
check "each domain there has its own" there in_order
check "the device that somebody else made stays on host1" within 20 only "$U1"
check "without a lease" no_lease
there run virsh destroy other

# One that is younger than start_grace may be for a guest of whoever made it.
policy 'start_grace = 5'
make_device "$U3"
sleep 6
there migrate_to 1 mover
check "a free device of the type is taken, not the one that a definition names" held_by "$U3" mover adopted
check "the domain uses it" uses mover "$U3"

there other_hook migrate 'echo "not today" >&2; exit 1'
migrate_to 2 mover
check "another hook on host2 refuses" shows "not today"
check "what ours had reserved is still there" same "$(there states)" reserved
there no_other_hook
migrate_to 2 mover
check "a second attempt right after succeeds" succeeded
check "with one device and one lease" there has mover "$U3"
check "both foreign devices stay on host1" within 20 only "$U1" "$U3"

run virsh start mover
check "the same domain is started on host1, too" held_by "$U1" mover adopted
there migrate_to 1 mover
check "then it cannot come" there failed
check "because it runs there" there tells M_PLAN_RUNS_HERE
check "the lease on host1 is as it was" held_by "$U1" mover adopted
check "and is the only one" same "$(states)" active
check "host2 is as it was" there has mover "$U3"
there run virsh destroy mover
check "at last nothing is left on host2" there within 20 nothing_left

### A plain VF, whose driver cannot send its state

run virsh destroy mover
vf=${PF1%0}1
for side in '' there; do
	$side configure_vfs
	$side enable_vfs "$PF1"
	$side record_calls
done
define plain "$vf"
run virsh start plain
check "a guest has a plain VF" uses plain "$vf"
forget_calls
migrate_to 2 plain
check "its migration is refused" failed
check "as libvirt says" shows "VFIO migration is not supported in kernel"
check "host2 is not even asked" there called
check "and nothing is left there" there vf_is_free "$vf"
check "where the VF has no driver, as before" there has_no_driver "$vf"
check "the guest runs on with its VF" is_state plain running
check "and its lease" vf_held_by "$vf" plain
check "no hook was called for it" called
run virsh destroy plain
check "which goes when it ends" within 60 vf_is_free "$vf"
