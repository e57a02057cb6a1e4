# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a process that libvirtd's AppArmor profile may not look into hinders nobody
jail=$WORK/jail profile=$WORK/profile
cp /usr/bin/sleep "$jail"
cat >"$profile" <<-END
	profile vm-test-jail $jail { file, signal, }
END
succeeds "a profile of its own is loaded" apparmor_parser -r "$profile"
"$jail" 600 &
jailed=$!
check "a process is confined by it" within 5 grep -q '^vm-test-jail' "/proc/$jailed/attr/current"
check "libvirtd is confined by another" same "$(tr -d '\0' <"/proc/$(pidof libvirtd)/attr/current")" 'libvirtd (enforce)'

make_device "$U1"
define existing "$U1"
succeeds "a domain starts whose device exists" virsh start --paused existing
check "with it" uses existing "$U1"
check "adopted" held_by "$U1" existing adopted
run virsh destroy existing
check "destroyed, its lease ends" within 15 no_lease
check "and the device stays" exists "$U1"
echo 1 >"/sys/bus/mdev/devices/$U1/remove"

define made "$U2"
run virsh start --paused made
check "a domain starts whose device is made" uses made "$U2"
run virsh destroy made
check "destroyed, it leaves nothing behind" within 20 nothing_left
run virsh start --paused made
check "it starts again" held_by "$U2" made
run systemctl restart libvirtd
check "libvirtd is started again under it" within 60 is_state made paused
check "with its device" held_by "$U2" made
run virsh destroy made
check "destroyed then, it leaves nothing behind either" within 20 nothing_left
kill "$jailed"
wait "$jailed" 2>/dev/null
apparmor_parser -R "$profile"
