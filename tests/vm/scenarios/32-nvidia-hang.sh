# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a driver of VFs that hangs delays the hook for no longer than its manual says, and another card not at all
load_nvidia
configure_nvidia
time_hook
vf=${PF1%0}1 sibling=${PF1%0}2 beside=${PF2%0}1
define_vf asks "$vf" 1147
define_vf later "$sibling" 1147
define_vf other "$beside" 1147
has_it() { typed_by "$beside" other 1147; }
is_gone() { vf_is "$beside" 0; }
# Nobody else is held up by the first card.
other_goes_on() { served_in_time "$1" other has_it is_gone; }

hold_at create
refused_in_time "its creation hangs" asks
refused_in_time "another's creation hangs on the card" later
check "the reason is not MIG mode" no shows "MIG mode"
other_goes_on "a creation hangs"
no_trouble
check "once the driver answers, what it created is collected" within 60 collected no_types

for files in list current 'list current'; do
	# shellcheck disable=SC2086 # words they are
	hold_at $files
	refused_in_time "its files hang ($files)" asks
	[ "$files" != 'list current' ] || other_goes_on "the files of another card hang"
	no_trouble
done

hold_at params
refused_in_time "the parameters hang" asks
other_goes_on "another's parameters hang"
no_trouble
check "once the driver answers, the vGPU is collected" within 60 collected no_types

# What the driver gives an error for.
for step in list current create params; do
	fail_at "$step" EIO
	run timeout 60 virsh start --paused asks
	check "an error at $step refuses the start, in one line" refused asks "$vf"
	no_trouble
	check "and leaves nothing" no_types
done
fail_at open EIO
run virsh start --paused asks
check "a device that QEMU cannot open starts no domain" shows "$vf"
check "and leaves nothing" within 60 no_types
no_trouble

# QEMU hangs, and libvirt waits for it: the hook has ended by then, or is not called yet.
hold_at open
virsh start --paused asks >/dev/null 2>&1 &
opening=$!
check "QEMU hangs when it opens the device" within 120 hangs_in vf_open
check "its lease is there" lease "$vf" '.state == "active"'
run vgpu-lease gc
check "gc lets it be" vf_is "$vf" 1147
other_goes_on "an open hangs"
no_trouble
wait "$opening"
check "then the domain starts" typed_by "$vf" asks 1147

hold_at close
kill -9 "$(pid_of asks)"
check "QEMU hangs when it closes the device" within 120 hangs_in vf_close
other_goes_on "a close hangs"
run vgpu-lease gc
check "gc does not clear what is being closed" vf_is "$vf" 1147
no_trouble
check "once it is closed, nothing is left" within 60 collected no_types
check "in the time that the hook promises" within 60 end_in_time

slow_at 1000 create params open
run timeout 60 virsh start --paused asks
check "a driver that only takes its time is waited for" typed_by "$vf" asks 1147
no_trouble
hold_at remove
run timeout 60 virsh destroy asks
check "the removal hangs: the domain ends" is_state asks "shut off"
check "the hook takes no longer than it promises" end_in_time
check "nor does libvirt" promised
other_goes_on "a removal hangs"
no_trouble
check "once it answers, nothing is left" within 60 collected no_types

run timeout 60 virsh start --paused asks
fail_at remove EIO
run timeout 60 virsh destroy asks
check "a removal that fails: the domain ends" is_state asks "shut off"
check "its VF keeps the type" vf_is "$vf" 1147
check "by a lease that is being released" lease "$vf" '.state == "releasing"'
run vgpu-lease gc
check "gc says what the driver answers" shows "$vf" "Input/output error"
no_trouble
check "in the end nothing is left" within 60 collected no_types
tell_times
