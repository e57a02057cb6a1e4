#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a domain's metadata say to nobody: plan and check tell it, and no start is stopped by it.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:2
configure nvidia-222
# with EXPRESSION: the domain vm1, changed by sed.
with() {
	domain 1 "$(uuid 1)" nvidia-222 | sed "$1" >"$tmp/vm.xml"
}
warnings() { grep -c '^vgpu-lease: warning: ' <<<"$err"; }

defined=$root/etc/libvirt/qemu
mkdir -p "$defined/networks" "$root/etc/libvirt/hooks"
# tells SENTENCE EXPRESSION WORD: one warning each from plan and check, with this word; the hook and the exit status know nothing of it.
tells() {
	with "$2"
	vl plan "$tmp/vm.xml"
	like "$status|$(warnings)|$err" "0|1|*$(message M_WARNING "*vm.xml: *$3*")" "$1: plan"
	vl plan --json "$tmp/vm.xml"
	is "$status|$err|$(grep -A1 '"warnings": \[' <<<"$out" | grep -c -F -- "$3")" "0||1" "$1: plan --json"
	cp "$tmp/vm.xml" "$defined/vm1.xml"
	vl check
	is "$(grep -F vm1.xml <<<"$out" | grep -c -F -- "$3")|$(grep -c vm1.xml <<<"$out")" "1|1" "$1: check"
	rm "$defined/vm1.xml"
	"$hook" --root "$root" -- vm1 prepare begin - <"$tmp/vm.xml" >"$tmp/said" 2>&1
	is "$?|$(cat "$tmp/said")" "0|" "$1: the start goes on without a word"
	"$hook" --root "$root" -- vm1 release end - <"$tmp/vm.xml"
}

with ''
cp "$tmp/vm.xml" "$defined/vm1.xml"
vl plan "$tmp/vm.xml"
is "$status|$err" "0|" "a domain whose metadata are right has no warning"
vl check
fails "nor has its definition" grep -q vm1.xml <<<"$out"
tells "an attribute with a typo" "s/ type='nvidia-222'/ tpye='nvidia-222'/" "'tpye'"
tells "a namespace with a typo" "s/urn:vgpu-lease:domain:1/urn:vgpu-lease:domains:1/" "urn:vgpu-lease:domain:1"
tells "a NUMA node that is not there" "s/ type='nvidia-222'/& numa='7'/" "$(message M_NUMA_ABSENT 7)"
tells "a <vgpu:device> without its hostdev" "s|<vgpu:device uuid='[^']*'|&/><vgpu:device uuid='$(uuid 2)'|" "$(uuid 2)"

# A domain without a vGPU, as far as we can tell.
with '/<hostdev/,/<\/hostdev>/d'
vl plan "$tmp/vm.xml"
like "$status|$(warnings)|$out" "0|1|*$(message M_NO_VGPU)*" "where there is no vGPU the warning says why"
# check reads what it may, and takes nothing amiss.
printf '<domain' >"$defined/broken.xml"
mkfifo "$defined/pipe.xml"
with "s/ type='nvidia-222'/ tpye='nvidia-222'/"
cp "$tmp/vm.xml" "$defined/vm1.xml"
vl check
is "$(grep -c vm1.xml <<<"$out")|$(grep -c -e broken.xml -e pipe.xml <<<"$out")" "1|0" "a file that is no domain's is passed over"
tap_done
