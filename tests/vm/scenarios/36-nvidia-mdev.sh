# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NVIDIA's mdevs, of a card without VFs and of VFs of one: the simulator's sentences, a driver that hangs, a zombie
load_nvidia_mdev
# shellcheck disable=SC2034 # the list's
sys=/sys dev=/dev t4=$PF1 vfs=("${PF2%0}"{1..4})
# shellcheck source=tests/lib/nvidia_mdev.sh
. "${here:?}/nvidia_mdev.sh"

configure_nvidia_mdev
V1=${PF2%0}1
check "the card without VFs is a parent, and so are the other one's VFs" \
	same "$(cd /sys/class/mdev_bus && echo 0000:*)" "$PF1 $V1 ${PF2%0}2 ${PF2%0}3 ${PF2%0}4"
counts() { vgpu-lease inventory --json | jq -r --arg pgpu "$1" --arg type "nvidia-$2" '.pgpus[] | select(.address == $pgpu) | .types[] |
	select(.id == $type) | "\(.capacity) \(.used) \(.available)"'; }
check "the inventory counts what fits into the card's framebuffer" same "$(counts "$PF1" 230)" "16 0 16"
check "of VFs there is one vGPU each" same "$(counts "$PF2" 557)" "4 0 4"

of_type "$U1" 230 define card "$U1"
run virsh start --paused card
check "a domain gets a vGPU of the card" mdev_of "$U1" card 230 "$PF1" "$PF1"
check "with the configured parameters" same "$(<"/sys/bus/mdev/devices/$U1/nvidia/vgpu_params")" frame_rate_limiter=0
of_type "$U2" 557 define vf "$U2"
run virsh start --paused vf
check "another one a vGPU of a VF" mdev_of "$U2" vf 557 "$V1" "$PF2"
check "the inventory counts both" same "$(counts "$PF1" 230), $(counts "$PF2" 557)" "16 1 15, 4 1 3"
of_type "$U3" 231 define larger "$U3"
run virsh start --paused larger
check "another framebuffer size is refused on the card" refused larger "$U3" "$PF1" nvidia-230
of_type "$U3" 558 define larger "$U3"
run virsh start --paused larger
check "and on each VF of the other one" refused larger "$U3" "$PF2" nvidia-557
succeeds "the check is well" vgpu-lease check

kill -9 "$(pid_of vf)"
check "a QEMU that is killed leaves nothing, once the driver has had its time" within 60 collected only "$U1"
# Nor does it take ten seconds more, until the driver could have done it.
echo 'driver_cleanup = 0' >>"$CONF"
run virsh start --paused larger
check "then the other size is served" mdev_of "$U3" larger 558 "$V1" "$PF2"

hold_at close
kill -9 "$(pid_of card)"
check "QEMU hangs when it closes the device" within 120 hangs_in vgpu_close
run timeout 60 virsh destroy larger
check "the other card's vGPU goes meanwhile" within 60 only "$U1"
run vgpu-lease gc
check "gc does not remove what is being closed" only "$U1"
no_trouble
check "once it is closed, gc leaves nothing" within 60 collected none_left

# What it hangs in before there is a guest.
time_hook
has_it() { mdev_of "$U2" vf 557 "$V1" "$PF2"; }
is_gone() { no exists "$U2"; }
other_goes_on() { served_in_time "$1" vf has_it is_gone; }
hold_at create
refused_in_time "its creation hangs" card
other_goes_on "a creation hangs"
no_trouble
check "once the driver answers, what it created is collected" within 60 collected none_left
hold_at params
refused_in_time "its parameters hang" card
no_trouble
check "once the driver answers, the vGPU is collected" within 60 collected none_left
for step in create params; do
	fail_at "$step" EIO
	run timeout 60 virsh start --paused card
	check "an error at $step refuses the start, in one line" refused card "$U1"
	no_trouble
	check "and leaves nothing" none_left
done
fail_at open EIO
errs "a device that QEMU cannot open starts no domain" timeout 60 virsh start --paused card
check "and leaves nothing" within 60 none_left
no_trouble
hold_at open
virsh start --paused card >/dev/null 2>&1 &
opening=$!
check "QEMU hangs when it opens the device" within 120 hangs_in vgpu_open
run vgpu-lease gc
check "gc lets it be" only "$U1"
no_trouble
wait "$opening"
check "then the domain starts" mdev_of "$U1" card 230 "$PF1" "$PF1"
run virsh destroy card
check "and ends" within 60 none_left

# Until driver_cleanup is over, the hook leaves it to the driver to remove a vGPU.
sed -i 's/^driver_cleanup.*/driver_cleanup = 120/' "$CONF"
trouble removal_ms 8000
run virsh start --paused vf
succeeds "the hook does not wait for a driver that removes its vGPUs by itself" virsh destroy vf
check "nor removes one before it" exists "$U2"
check "its lease is being released" lease "$U2" '.state == "releasing"'
check "once the driver has removed it, gc drops the lease" within 60 collected none_left
no_trouble
sed -i 's/^driver_cleanup.*/driver_cleanup = 0/' "$CONF"

# vgpu-mgr lets go later than QEMU: nothing of the vGPU is to be seen, and the VF is still occupied.
sed -i 's/^lock_timeout.*/lock_timeout = 30/' "$CONF"
plugin_lag 5000
run virsh start --paused vf
run virsh destroy vf
run virsh start --paused vf
check "a removal that vgpu-mgr delays keeps the next start of the domain waiting, no longer" mdev_of "$U2" vf 557 "$V1" "$PF2"
run virsh destroy vf
check "in the end gc leaves nothing" within 60 collected none_left
no_trouble

# A vGPU that was removed before the driver was done with it takes its capacity with it.
trouble zombies 1
run virsh start --paused card
run virsh destroy card
check "a vGPU is removed" within 60 collected none_left
check "the driver goes on counting it" same "$(<"$(types_of "$PF1")/nvidia-230/available_instances")" 15
of_type "$U3" 234 define whole "$U3"
run virsh start --paused whole
check "what would fit into the empty card is refused, and the reason guessed" refused whole "$U3" "$(message M_CAPACITY_LOST)"
run virsh start --paused vf
check "where VFs are the parents" mdev_of "$U2" vf 557 "$V1" "$PF2"
run virsh destroy vf
check "and one is lost" within 60 none_left
run virsh start --paused vf
check "the next start takes another" mdev_of "$U2" vf 557 "${PF2%0}2" "$PF2"
tell_times
