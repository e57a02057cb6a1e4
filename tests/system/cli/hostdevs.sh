#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# PCI hostdevs that cannot be meant so: plan and check name each, and what it is; a start goes on without a word.
. "$(dirname "$0")/../../lib/cli.sh"

host l40s/4+flex/3:2+cx6+t4:1
mkdir -p "$root/etc/libvirt/qemu" "$root/etc/libvirt/hooks"
with() { vf_domain 1 "$1" yes >"$tmp/vm.xml"; } # ADDRESS: the domain vm1 with this device
starts() { "$hook" --root "$root" -- vm1 prepare begin - <"$tmp/vm.xml" >"$tmp/said" 2>&1 && [ ! -s "$tmp/said" ]; }
tells() { # SENTENCE ADDRESS MESSAGE [ARG...]
	with "$2"
	vl plan "$tmp/vm.xml"
	holds "$1: plan" says "${@:3}" <<<"$err"
	is "$status" 0 "$1: which is no refusal"
	vl plan --json "$tmp/vm.xml"
	holds "$1: plan --json" says "${@:3}" <<<"$out"
	cp "$tmp/vm.xml" "$root/etc/libvirt/qemu/vm1.xml"
	vl check
	holds "$1: check" says "${@:3}" < <(grep '^WARN .*vm1.xml' <<<"$out")
	rm "$root/etc/libvirt/qemu/vm1.xml"
	holds "$1: the start goes on without a word" starts
}
silent() { # SENTENCE ADDRESS
	with "$2"
	vl plan "$tmp/vm.xml"
	is "$status|$err" "0|" "$1: plan says nothing"
	cp "$tmp/vm.xml" "$root/etc/libvirt/qemu/vm1.xml"
	vl check
	fails "$1: nor does check" grep -q vm1.xml <<<"$out"
	rm "$root/etc/libvirt/qemu/vm1.xml"
}

configure nvidia-1147@0000:26:00.0 nvidia-222 vf_flex@0000:4d:00.1
tells "a pGPU that is named" 0000:26:00.0 M_HOSTDEV_PGPU 0000:26:00.0
tells "a pGPU of the type that takes the rest" 0000:84:00.0 M_HOSTDEV_PGPU 0000:84:00.0
tells "a VF of a card that has another in the pool" 0000:4d:00.2 M_HOSTDEV_BESIDE 0000:4d:00.2
tells "a VF of a card that is not in the pool" 0000:4e:00.1 M_HOSTDEV_OUTSIDE 0000:4e:00.1 0000:4e:00.0
tells "an address without a device" 0000:27:00.4 M_HOSTDEV_ABSENT 0000:27:00.4
silent "a network card's VF" 0000:17:00.2
silent "a network card" 0000:17:00.0
configure </dev/null
silent "without a pool, a GPU" 0000:84:00.0
tap_done
