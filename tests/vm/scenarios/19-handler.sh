# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the device handler sees what no hook is called for, whatever becomes of it and of libvirtd
succeeds "the unit of the handler starts" systemctl start vgpu-leased
check "within its rights" within 10 connected
define guest
run virsh start guest
hostdev "$U1" >"$WORK/hostdev.xml"

make_device "$U1"
run virsh attach-device guest "$WORK/hostdev.xml" --live
check "a device is plugged into a running domain" uses_open guest "$U1"
check "it is leased to it, as one that was there before" within 10 held_by "$U1" guest adopted
check "what is known of it is in the live metadata" within 10 marked guest "$U1"
run virsh detach-device guest "$WORK/hostdev.xml" --live
check "unplugged, it is released" within 20 no_lease
check "the device stays, as it was there before" exists "$U1"
check "the guest runs on" is_state guest running

run virsh attach-device guest "$WORK/hostdev.xml" --live
check "plugged in again, it is leased again" within 10 held_by "$U1" guest adopted
run systemctl restart libvirtd
check "libvirtd is started again under the handler" within 60 connected
run virsh detach-device guest "$WORK/hostdev.xml" --live
check "which hears of what comes after" within 20 no_lease

run virsh attach-device guest "$WORK/hostdev.xml" --live
check "plugged in before the host sleeps, it is leased" within 10 held_by "$U1" guest adopted
suspend_host "an mdev"
check "the handler is connected" within 30 connected
check "the guest runs, with its device" is_state guest running
check "and its lease" held_by "$U1" guest adopted
run virsh detach-device guest "$WORK/hostdev.xml" --live
check "what is unplugged after that, the handler sees" within 20 no_lease

# What it had seen plugged in is forgotten with it: a lease of a moment ago may be on its way in then.
printf '[policy]\nstart_grace = 5\n' >>"$CONF"
run virsh attach-device guest "$WORK/hostdev.xml" --live
for _ in 1 2 3; do
	systemctl kill --kill-whom=main -s KILL vgpu-leased
	sleep "0.$((RANDOM % 10))"
done
systemctl start vgpu-leased
check "the handler, killed and started again, finds what was plugged in meanwhile" within 10 held_by "$U1" guest adopted
systemctl kill --kill-whom=main -s KILL vgpu-leased
run virsh detach-device guest "$WORK/hostdev.xml" --live
check "and what was unplugged" within 20 no_lease
run virsh destroy guest
configure_mtty
systemctl reload vgpu-leased
echo 1 >"/sys/bus/mdev/devices/$U1/remove"

any=00000000-0000-0000-0000-000000000000
METADATA="<vgpu:device uuid='$any' type='mtty-2'/>" define request "$any"
stays_a_while() { sleep 3 && same "$(device_in request --inactive)" "$any"; }
check "a placeholder of a new definition stays" stays_a_while
succeeds "until somebody asks for a UUID" vgpu-lease rewrite request
check "and is told which" shows "$any -> "
device=$(device_in request --inactive)
check "in the metadata, too" same "$(virsh dumpxml --inactive request | grep -c "uuid=[\"']${device}[\"']")" 2
run virsh start request
check "then it starts" uses request "$device"
check "with a device of ours" held_by "$device" request
check "and the facts in its live metadata" within 10 marked request "$device"
run virsh destroy request
check "nothing is left of it" within 15 nothing_left

systemctl stop vgpu-leased
rmmod mtty
(sleep 2; modprobe mtty || insmod /lib/modules/*/mtty.ko) >/dev/null 2>&1 &
run /usr/libexec/vgpu-lease/vgpu-leased --wait-ready 60
check "at boot the pool's parents are waited for, when they come late" succeeded
check "and no longer than that" test "$TOOK" -lt 30

define later "$U2"
virsh -q start later
systemctl start vgpu-leased
check "a domain that started before the handler is marked, too" within 10 marked later "$U2"
check "its definition is left as it was" no grep -q vgpu:device <<<"$(virsh dumpxml --inactive later)"
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$(systemctl show -P MainPID vgpu-leased)/stat"; }
quiet() {
	local before
	before=$(ticks)
	sleep 10
	same $(($(ticks) - before > 5)) 0
}
check "while nothing happens the handler takes next to no CPU" within 60 quiet
rm -rf /run/vgpu-lease/leases
systemctl reload vgpu-leased
check "leases that were lost are written down again" within 10 lease "$U2" '.state == "active"'
run virsh destroy later
check "and released" within 15 no_lease
check "nothing was refused to the handler" same "$(journal | grep -E 'vgpu-leased.*(denied|not permitted|Read-only)')" ''

# What a hook cannot release, as somebody has it open still.
fresh
systemctl start vgpu-leased
define late "$U3"
virsh -q start --paused late
keeps_open "$(group_of "$U3")"
run virsh destroy late
check "a device that is open when its domain ends is left to the handler" lease "$U3" '.state == "releasing"'
check "no child of the hook waits for it" no pgrep -f /etc/libvirt/hooks/qemu
sleep 12
check "which does not give up" lease "$U3" '.state == "releasing"'
touch "$WORK/close"
check "and releases it when it is closed" within 20 nothing_left
run systemctl stop vgpu-leased
check "it ends when it is told to" same "$(systemctl show -P Result vgpu-leased)" success
