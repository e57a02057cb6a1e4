#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs that are not there, as after a boot that has not enabled them: the configuration and the card say whose they are.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s/4+flex/3
pf=0000:26:00.0 vf=0000:26:00.4 flex=0000:4d:00.0 plain=0000:4d:00.2
start() { start_vf "$@" 2>"$work/err"; }
planned() { vf_domain 1 "$1" | lease plan - 2>"$work/err"; }
# refused SENTENCE ADDRESS MESSAGE [ARG...]: hook, plan and check (of the definition) say so.
refused() {
	fails "$1: the hook refuses it" start 1 "$2"
	holds "$1: it says why" says "${@:3}" <"$work/err"
	fails "$1: plan refuses it" planned "$2"
	holds "$1: plan says why" says "${@:3}" <"$work/err"
	vf_domain 1 "$2" | libvirt_has vm1
	lease check >"$work/check" 2>&1
	holds "$1: check fails for the domain" says "${@:3}" < <(grep '^FAIL .*vm1.xml' "$work/check")
	is "$(grep -c -F vm1.xml "$work/check")" 1 "$1: in one line"
	rm "$root/etc/libvirt/qemu/vm1.xml"
}
serving() { configure "nvidia-1147${1:+@$1}" policy 'driver_cleanup = 0'; } # [CARDS]

serving $pf
holds "a domain with a VF of the pool starts" start 1 $vf
end_vf 1 $vf
control vfs "$pf off"
refused "its card is named" $vf M_VFS_ENABLE $pf
holds "one of the domain's other devices passes as before" start 1 0000:00:1f.0
holds "so does an absent address that no card of the pool can have" start 1 0000:26:00.3
holds "and one behind the card's last VF" start 1 0000:26:01.0
holds "and a VF of a card that is not configured" start 1 $plain yes
control vfs "$flex off"
holds "whether that has its VFs or not" start 1 $plain yes
serving 10de:26b9
refused "its card is matched" $vf M_VFS_ENABLE $pf
serving $vf
refused "it is named itself" $vf M_VFS_ENABLE $pf
says M_VFS_NOT_ENABLED -- M_VFS_RESTART $pf < <(grep -F vgpu-lease.conf "$work/check")
tap_verdict $? "check says of the line that names it how its VFs are enabled" "$(cat "$work/check")"
fails "and does not advise to remove it" grep -q 'remove it from device_addresses' "$work/check"
serving
refused "a type takes all cards" $vf M_VFS_ENABLE $pf
arrived() { vf_domain 1 $vf | hook vm1 migrate begin - >"$work/err" 2>&1; }
fails "it cannot arrive either" arrived
holds "for the same reason" says M_VFS_ENABLE $pf <"$work/err"
configure nvidia-222@0000:99:00.0
refused "it was a vGPU before" $vf M_VFS_ENABLE $pf
control vfs "$pf on"
serving 0000:26:00.5
refused "it exists, and only another VF of its card is configured" $vf M_VF_NOT_CONFIGURED
configure vf_flex@8086:56c0
refused "a plain VF of a card that is matched" $plain M_VFS_NOT_ENABLED
holds "a VF that takes types passes where none is enabled" start 1 0000:26:00.5
control vfs "$flex on"
holds "with its VFs enabled it starts" start 1 $plain
end_vf 1 $plain
is "$(leases)" 0 "nothing is leased in the end"

### Plain VFs that are disabled while a guest has one, as the kernel does it: from the first on, and waiting at the one
# that is open. And VFs that begin without a driver.
new_host flex/4
configure vf_flex@8086:56c0 policy 'driver_cleanup = 0' 'release_wait = 2'
pci=$root/sys/bus/pci/devices pf=0000:4d:00.0 first=0000:4d:00.1 second=0000:4d:00.2 third=0000:4d:00.3 last=0000:4d:00.4
refused() { # "MESSAGE [WORD]" N ADDRESS [MANAGED]: the start is, with this message
	local message
	read -ra message <<<"$1"
	! start "${@:2}" && says "${message[@]}" <"$work/err"
}
numvfs() { echo "$1" >"$pci/$pf/sriov_numvfs"; }
states() { lease list --json | sed -n 's/.*"\(id\|state\)": "\([^"]*\)".*/\2/p' | tr '\n' ' '; }
going() { test ! -e "$pci/$second/physfn"; }

holds "a domain has the second VF" start 1 $second
open_device $second
holds "and another the last" start 5 $last
numvfs 0 &
disabling=$!
holds "VFs are being disabled, up to the one that is open" eventually going
is "$(states)" "$second active $last active " "no lease goes"
for managed in yes no; do
	fails "a start with the VF that goes is refused, managed $managed" start 2 $second $managed
	holds "since a domain leases it" says M_LEASED_TO vm1 "${vm_uuid%??}01" <"$work/err"
	holds "one with a VF behind it is refused, for that reason" refused M_VFS_BEING_DISABLED 2 $third $managed
	holds "so is one with a VF that is gone already" refused M_VFS_BEING_DISABLED 2 $first $managed
done
holds "a domain that is to have it anew is told that it goes" refused M_BEING_DISABLED 1 $second
is "$(states)" "$second active $last active " "refusals leave no lease, and take none"
vf_domain 2 $second | lease plan - >"$work/out" 2>&1
holds "plan says so" says M_LEASED_TO vm1 "${vm_uuid%??}01" <"$work/out"
holds "check says of the card what is going on" says M_VFS_BEING_DISABLED < <(lease check 2>&1)
holds "so does show of the VF that goes" says M_SHOW_BEING_DISABLED < <(lease show $second)
holds "whose device is there until then" grep -q '"exists": true' <<<"$(lease show $second --json)"
holds "and asks no file that does not answer" timeout 60 "$builddir/vgpu-lease" --root "$root" inventory
lease gc >"$work/out" 2>&1
is "$(states)" "$second active $last active " "gc leaves what a guest has"
lease release $second 2>/dev/null
is "$(states)" "$second active $last active " "so does release"
holds "a domain ends whose VF has not gone yet" end_vf 5 $last
is "$(states)" "$second active " "with its lease"
holds "the domain ends whose VF goes" end_vf 1 $second
is "$(states)" "$second releasing " "its lease stays while the guest has the VF"
close_device
wait $disabling
holds "then it goes, and the VFs" eventually test -z "$(find "$pci/" -name '0000:4d:00.[1-4]')"
lease gc >/dev/null 2>&1
is "$(states)" "" "nothing is left"

### Nobody has leased it
echo 0 >"$pci/$pf/sriov_drivers_autoprobe"
numvfs 4
fails "VFs begin without a driver where none is to be bound" test -e "$pci/$second/driver"
holds "a start with managed='yes' leaves that to libvirt" start 2 $second yes
end_vf 2 $second
holds "one with managed='no' is refused" refused "M_VF_UNBOUND $second" 2 $second no
is "$(states)" "" "without a lease"
echo "$second vfio-pci" >"$root/.kernel/control/bind"
holds "with vfio-pci it starts" start 2 $second no
end_vf 2 $second
exec 8<>"$(node_of $second)"
(exec 8<&-; numvfs 0) &
eventually going
holds "a VF that nobody leases, and that goes, is refused" refused M_BEING_DISABLED 2 $second yes
exec 8<&-
wait
is "$(states)" "" "nothing is leased in the end"
tap_done
