#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Plain VFs that are disabled while a guest has one, as the kernel does it: from the first on, and waiting at the one that is
# open. And VFs that begin without a driver.
. "$(dirname "$0")/../../lib/hook.sh"
host flex/4
configure vf_flex@8086:56c0 policy 'driver_cleanup = 0' 'release_wait = 2'
pci=$root/sys/bus/pci/devices pf=0000:4d:00.0 first=0000:4d:00.1 second=0000:4d:00.2 third=0000:4d:00.3 last=0000:4d:00.4
start() { start_vf "$@" 2>"$work/err"; }
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
