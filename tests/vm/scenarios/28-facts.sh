# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what libvirt and the kernel do that the hook relies on: status files, and the inodes of devices
status=/run/libvirt/qemu/facts.xml
# What tells one version of the file from another.
version() { stat -c '%i %Y %y' "$status"; }
changed() { [ "$(version)" != "$1" ]; }
names() { grep -q "$1" "$status"; }
make_device "$U1"
make_device "$U2"
hostdev "$U2" >"$WORK/second.xml"
define facts "$U1"
virsh -q start facts
check "the status file of a domain that runs names its device" names "$U1"

before=$(version)
virsh -q attach-device facts "$WORK/second.xml" --live
check "after an attach it is another file" changed "$before"
check "which names the new device" names "$U2"

before=$(version)
virsh -q detach-device facts "$WORK/second.xml" --live
check "the device leaves the domain" within 30 same "$(device_in facts)" "$U1"
check "after a detach it is another file again" within 10 changed "$before"
check "which does not name the device any more" within 10 no names "$U2"

virsh -q destroy facts
check "without its domain there is no status file" within 10 are_gone "$status"

# A device that is made again under the same UUID is told from the one before by its directory's inode.
seen=() repeated=0
for _ in {1..200}; do
	exists "$U3" || make_device "$U3"
	inode=$(stat -c %i "/sys/bus/mdev/devices/$U3/")
	[[ " ${seen[*]} " != *" $inode "* ]] || repeated=$((repeated + 1))
	seen+=("$inode")
	echo 1 >"/sys/bus/mdev/devices/$U3/remove"
done
check "a device had each of its 200 inodes only once" same "${#seen[@]} $repeated" "200 0"
