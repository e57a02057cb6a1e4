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
tap_done
