# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what libvirt, the lease and the kernel say of a guest's vGPU, and where they differ
# The picture that is watched, while only the kernel and udev tell of what happens.
drawn() { grep -ao $'\e\[2J' "$WORK/screen" | wc -l; }
pictures() { same "$(drawn)" "$1"; }
pictured() { tr -d '\r' <"$WORK/screen" | awk -v RS=$'\033\\[2J' 'END { print }' | grep -aF "$1"; }
# still: for so long nothing is drawn.
still() {
	local before
	before=$(drawn)
	sleep 3
	pictures "$before"
}
udevadm settle
SHELL=/bin/bash TERM=xterm script -qfec "stty cols 132 rows 24; vgpu-lease status --watch" /dev/null </dev/null >"$WORK/screen" &
watcher=$!
check "status --watch draws its picture" within 10 pictures 1
check "and draws it once while nothing happens" still
make_device "$U3"
check "an mdev that somebody creates by sysfs is in it within seconds" within 5 pictured "$U3"
udevadm settle
sleep 1
check "then nothing is drawn again" still
echo 1 >"/sys/bus/mdev/devices/$U3/remove"
check "removed by sysfs, it is not" within 5 no pictured "$U3"
check "and each of the two was a picture or two" test "$(drawn)" -le 5
kill $watcher
wait $watcher

define seen "$U1"
succeeds "a domain that does not run has no differences" vgpu-lease show seen
check "and a vGPU in its definition" shows "$U1" config
rm -f /var/log/libvirt/qemu/seen.log
virsh -q start seen
succeeds "nor has one that runs" vgpu-lease show seen
check "which has it open" grep -E "^$U1 .* live,config +active +created +yes +$(pid_of seen)\$" <<<"$OUT"
check "and is not tainted by that" no grep -q custom-monitor /var/log/libvirt/qemu/seen.log

make_device "$U2"
virsh -q attach-device seen /dev/stdin --live <<-END
	<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$U2'/></source></hostdev>
END
errs "what somebody else attached is a difference" vgpu-lease show seen
check "and is named" tells M_ABOUT "$U2" -- M_SHOW_NOT_LEASED

rm -f "/run/vgpu-lease/leases/$U1"
run vgpu-lease show seen
check "so is a lease that was lost" tells M_ABOUT "$U1" -- M_SHOW_NOT_LEASED
virsh -q destroy seen
