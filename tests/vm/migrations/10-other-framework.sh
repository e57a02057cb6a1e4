# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a guest whose vGPU is a VF on host1 and an mdev on host2 goes there and back, where the policy lets it
# shellcheck disable=SC2154 # arrives is pair.sh's
name='NVIDIA L40S-1Q'
vf=${PF1%0}1 parent=${PF2%0}1
allow() { echo 'cross_framework = yes' >>"$CONF"; }
load_nvidia &
loading=$!
there load_nvidia_mdev as_l40s=1
wait "$loading"
trouble like_mdev 1
configure_nvidia "$PF1"
there configure_nvidia "$PF2" 'driver_cleanup = 0'
for side in '' there; do
	$side record_calls
	$side systemctl start vgpu-leased
done
# The live XML of the guest has one hostdev, of this kind: is_a KIND NAME
is_a() {
	same "$(virsh dumpxml "$2" | sed -n "s/.*<hostdev mode='subsystem' type='\([a-z]*\)'.*/\1/p" | xargs)" "$1" &&
		virsh metadata "$2" urn:vgpu-lease:domain:1 | grep "framework=[\"']$([ "$1" = mdev ] && echo mdev || echo variant)[\"']"
}
# runs_on_mdev NAME: it runs with the only mdev, and nothing else is leased.
runs_on_mdev() {
	local device
	device=$(device_in "$1")
	mdev_of "$device" "$1" 1147 "$parent" "$PF2" && only "$device" && same "$(leases | jq '.leases | length')" 1 &&
		is_state "$1" running && is_a mdev "$1"
}
knows() { virsh metadata "$1" urn:vgpu-lease:domain:1 | grep "name=[\"']${name}[\"']" | grep "framework=[\"']$2[\"']"; }
# Its QEMU draws on the vGPU, and with ramfb until the guest's driver does.
has_screen() {
	local attributes
	attributes=$(virsh dumpxml "$1" | grep -c "<hostdev .*display='on' ramfb='on'")
	same "$attributes" 1 && tr '\0' '\n' <"/proc/$(pid_of "$1")/cmdline" | grep '"driver":"vfio-pci-nohotplug"' |
		grep '"display":"on"' | grep '"ramfb":true'
}
there eval "name='$name' parent=$parent; $(declare -f allow is_a runs_on_mdev knows has_screen)"
goes_on() { runs_with mover 1147 "$vf"; }

MIGRATABLE=1 define_vf mover "$vf" 1147
run virsh start mover
check "the guest has a VF on host1" goes_on
check "whose type's name the handler writes into its metadata" within 30 knows mover variant
forget_calls
is_refused_with "not allowed" M_VF_THERE_MDEV_HERE "$name" nvidia-1147 -- M_CROSS_FRAMEWORK
after "not allowed" migrate

there allow
migrate_to 2 mover
check "allowed: the guest goes to host2" succeeded
check "there it has an mdev and its lease, nothing else, and it runs" there within 10 runs_on_mdev mover
check "nothing stays on host1" within 20 no_types
check "its vGPU's state has come along" same "$(there moves "$(there device_in mover)")" 1
check "host2 writes down what the vGPU is there" there within 30 knows mover mdev

there migrate_to 1 mover
check "the way back is refused, too, until it is allowed" there failed
check "and why" there tells M_MDEV_THERE_VF_HERE "$name" nvidia-1147 -- M_CROSS_FRAMEWORK
check "the guest runs on with its mdev" there runs_on_mdev mover
allow
there migrate_to 1 mover
check "allowed: it comes back" there succeeded
check "to a VF and its lease, nothing else, and it runs" within 10 runs_with mover 1147 "$vf"
check "its hostdev is a VF's again" is_a pci mover
check "nothing stays on host2" there within 20 none_left
check "its vGPU's state has come along twice" same "$(moves "$vf")" 2
run virsh destroy mover
check "at last nothing is left" within 20 no_types

### The guest's screen

SCREEN=1 MIGRATABLE=1 define_vf screen "$vf" 1147
run virsh start screen
check "a guest whose screen is a VF starts" runs_with screen 1147 "$vf"
check "with ramfb" has_screen screen
check "whose type's name the handler writes into its metadata" within 30 knows screen variant
migrate_to 2 screen
check "it goes to host2" succeeded
check "and runs with an mdev" there within 10 runs_on_mdev screen
check "which is its screen, with ramfb" there has_screen screen
check "nothing stays on host1" within 20 no_types
there migrate_to 1 screen
check "it comes back" there succeeded
check "and runs with a VF" within 10 runs_with screen 1147 "$(device_in screen)"
check "which is its screen, with ramfb" has_screen screen
check "nothing stays on host2" there within 20 none_left
run virsh destroy screen
check "at last nothing is left" within 20 no_types

### A VF that is another PCI device to the guest than the mdev

trouble like_mdev 0
run virsh start mover
check "a VF that shows the guest what an mdev does not" goes_on
check "whose type's name the handler writes into its metadata" within 30 knows mover variant
forget_calls
there forget_calls
is_refused "another device" ""
check "another device: as host2's QEMU says" there grep -q "Bad config data" /var/log/libvirt/qemu/mover.log
after "another device" "$arrives stopped release:*"
run virsh destroy mover
within 20 no_types
