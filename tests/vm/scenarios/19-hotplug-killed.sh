# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# attach, detach, suspend and resume are killed at any time, and nothing is lost, doubled or left over
# killed SECONDS COMMAND...: the command, killed after this time unless it is done.
killed() { timeout -s KILL "$@" >/dev/null 2>&1 </dev/null; }
extra() { leases | jq -r --arg id "$U1" '.leases[] | select(.id != $id).id'; }
# Whatever is left of an attach or a detach is released.
only_one() {
	local id
	for id in $(extra); do vgpu-lease detach busy "$id"; done
	same "$(extra)$(devices)" "$U1" && same "$(device_in busy | xargs)" "$U1"
}
# Whatever is left of a suspend or a resume is put right.
restored() {
	vgpu-lease resume busy
	is_state busy running && same "$(device_in busy | xargs)" "$U1" && held_by "$U1" busy && only "$U1" &&
		same "$(virsh metadata busy --uri urn:vgpu-lease:suspended:1 2>/dev/null | xargs)" ''
}

define busy "$U1"
virsh -q start busy
pid=$(pid_of busy)
for time in 0.1 0.3 0.6 1; do killed "$time" vgpu-lease attach busy; done
check "what killed attaches left can be detached" within 60 only_one
vgpu-lease attach busy >/dev/null
for time in 0.3 0.8; do killed "$time" vgpu-lease detach busy "$(extra | head -n 1)"; done
check "so can what killed detaches left" within 60 only_one
check "the guest runs on with what it had" same "$(is_state busy running && uses busy "$U1" && pid_of busy)" "$pid"

for time in 0.5 1.5; do
	killed "$time" vgpu-lease suspend busy
	check "a suspend that is killed after $time s is put right by a resume" within 60 restored
done
for time in 0.7 2; do
	vgpu-lease suspend busy >/dev/null
	killed "$time" vgpu-lease resume busy
	check "so is a resume that is killed after $time s" within 60 restored
done
virsh -q destroy busy
check "in the end nothing is left" within 15 nothing_left
