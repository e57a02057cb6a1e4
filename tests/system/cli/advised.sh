#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On a simulated host each command that a message advises works there as it is printed: it has --root.
# And what has no effect in a domain is told.
. "$(dirname "$0")/../../lib/cli.sh"
PATH=$builddir:$PATH

# advises SENTENCE TEXT [OPERAND]: the text advises a command of vgpu-lease, and each works here. OPERAND is what `plan` plans.
advises() {
	local command commands said wrong='' status
	commands=$(grep -oE "'vgpu-lease [^']*'" <<<"$2" | tr -d "'" | sort -u)
	[ -n "$commands" ] || wrong="no command is advised: $2"
	while read -r command && [ -n "$command" ]; do
		[[ $command == "vgpu-lease --root $root "* ]] || wrong+="$command: not of this host"$'\n'
		[[ $command != *' plan' ]] || command+=" $3"
		status=0
		said=$(timeout 20 bash -c "$command" 2>&1 </dev/null) || status=$?
		[ $status -lt 2 ] || wrong+="$command: $status: $said"$'\n'
	done <<<"$commands"
	nothing "$1" "$wrong"
}

host t4:2
vm=$work/vm1.xml
domain 1 "$(uuid 1)" >"$vm"

### Without a configuration
unconfigured() { rm -f "$root/etc/vgpu-lease.conf" && vl "$@"; }
unconfigured check
advises "check: how to write a first configuration" "$out"
unconfigured status
advises "so does status" "$out"
unconfigured plan "$vm"
advises "so does plan" "$err"
rm "$root/etc/vgpu-lease.conf"
advises "and the hook" "$(call prepare begin 1 2>&1)"
unconfigured init --write
advises "init: what to run next" "$(tail -n 1 <<<"$out")"
advises "so does the file that it writes" "$(cat "$root/etc/vgpu-lease.conf")"

### With a vGPU that was not made for a guest, and one of a creation that was cut off
pool() { configure "$1" policy 'driver_cleanup = 0'; }
pool nvidia-222
create 0000:85:00.0 nvidia-222 2
vl show "$(uuid 2)"
advises "show, of a vGPU: what removes it" "$out"
create 0000:85:00.0 nvidia-222 2
vl gc
advises "so does gc" "$out"
for command in list check 'check --json'; do
	call prepare begin 1
	cut_off 1
	age 1
	in_words vl "$command"
	advises "$command: what gc can release" "$out"
done
pool nvidia-999
vl check
advises "check: what lists the types" "$out"
vl plan "$vm"
advises "plan: what shows why" "$err" "$vm"

### A domain whose name is more than one word, as on Unraid
domain 1 00000000-0000-0000-0000-000000000001 | sed 's|<name>vm1|<name>Windows 11 (vGPU)|' >"$vm"
libvirt_has "Windows 11 (vGPU)" <"$vm"
pool nvidia-222
vl check
advises "check: what gives it a UUID" "$out"
advises "and the hook" "$(hook 'Windows 11 (vGPU)' prepare begin - <"$vm" 2>&1)"

### What has no effect in a domain's metadata, PCI hostdevs that cannot be meant so, and devices that are given past libvirt:
# plan and check tell each, and a start goes on without a word
new_host l40s/4+flex/3:2+cx6+t4:1
defined=$root/etc/libvirt/qemu
mkdir -p "$defined/networks" "$root/etc/libvirt/hooks"
# with EXPRESSION: the domain vm1, changed by sed; with_device ADDRESS: with this device.
with() { domain 1 "$(uuid 1)" nvidia-222 | sed "$1" >"$tmp/vm.xml"; }
with_device() { vf_domain 1 "$1" yes >"$tmp/vm.xml"; }
warnings() { grep -c '^vgpu-lease: warning: .*vm\.xml: ' <<<"$err"; }
checked() { # what check says of the domain's definition
	cp "$tmp/vm.xml" "$defined/vm1.xml"
	vl check
	rm "$defined/vm1.xml"
	grep vm1.xml <<<"$out"
}
# tells SENTENCE COMMAND...: plan and check have one warning, in which the command finds this; hook and exit status know nothing of it.
tells() {
	vl plan "$tmp/vm.xml"
	holds "$1: plan" "${@:2}" <<<"$err"
	is "$status|$(warnings)" "0|1" "$1: which is no refusal"
	vl plan --json "$tmp/vm.xml"
	holds "$1: plan --json" "${@:2}" < <(grep -A1 '"warnings": \[' <<<"$out")
	is "$status|$err" "0|" "$1: and only there"
	checked >"$tmp/found"
	holds "$1: check" "${@:2}" < <(grep '^WARN ' "$tmp/found")
	is "$(wc -l <"$tmp/found")" 1 "$1: in one line"
	hook vm1 prepare begin - <"$tmp/vm.xml" >"$tmp/said" 2>&1
	is "$?|$(cat "$tmp/said")" "0|" "$1: the start goes on without a word"
	hook vm1 release end - <"$tmp/vm.xml"
}
silent() { # SENTENCE
	vl plan "$tmp/vm.xml"
	is "$status|$err|$(checked)" "0||" "$1: neither plan nor check says anything"
}

### Metadata
configure nvidia-222
with '' && silent "a domain whose metadata are right"
with "s/ type='nvidia/ tpye='nvidia/" && tells "an attribute with a typo" grep -qF "'tpye'"
with "s/urn:vgpu-lease:domain:/urn:vgpu-lease:domains:/" && tells "a namespace with a typo" grep -qF urn:vgpu-lease:domain:1
with "s/ type='nvidia-222'/& numa='7'/" && tells "a NUMA node that is not there" says M_NUMA_ABSENT 7
with "s|<vgpu:device uuid='[^']*'|&/><vgpu:device uuid='$(uuid 2)'|"
tells "a <vgpu:device> without its hostdev" grep -qF "$(uuid 2)"

with '/<hostdev/,/<\/hostdev>/d'
vl plan "$tmp/vm.xml"
like "$status|$(warnings)|$out" "0|1|*$(message M_NO_VGPU)*" "where there is no vGPU the warning says why"
printf '<domain' >"$defined/broken.xml"
mkfifo "$defined/pipe.xml"
with "s/ type='nvidia-222'/ tpye='nvidia-222'/"
is "$(checked | wc -l)|$(grep -c -e broken.xml -e pipe.xml <<<"$out")" "1|0" "a file that is no domain's is passed over"
rm "$defined"/*.xml

### Hostdevs
configure nvidia-1147@0000:26:00.0 nvidia-222 vf_flex@0000:4d:00.1
odd() { with_device "$2" && tells "$1" says "${@:3}"; } # SENTENCE ADDRESS MESSAGE [ARG...]
odd "a pGPU that is named" 0000:26:00.0 M_HOSTDEV_PGPU 0000:26:00.0
odd "a pGPU of the type that takes the rest" 0000:84:00.0 M_HOSTDEV_PGPU 0000:84:00.0
under vf_flex@0000:4d:00.1 -- odd "a pGPU one of whose VFs is named, where no type takes the rest" 0000:4d:00.0 M_HOSTDEV_PGPU 0000:4d:00.0
configure nvidia-1147@0000:26:00.0 nvidia-222 vf_flex@0000:4d:00.1
odd "a VF of a card that has another in the pool" 0000:4d:00.2 M_HOSTDEV_BESIDE 0000:4d:00.2
odd "a VF of a card that is not in the pool" 0000:4e:00.1 M_HOSTDEV_OUTSIDE 0000:4e:00.1 0000:4e:00.0
odd "an address without a device" 0000:27:00.4 M_HOSTDEV_ABSENT 0000:27:00.4
with_device 0000:17:00.2 && silent "a network card's VF"
with_device 0000:17:00.0 && silent "a network card"

### Devices that <qemu:commandline> gives to QEMU itself
# with_argument ARGUMENT: the domain has no vGPU that libvirt knows of, but gives QEMU this device.
with_argument() {
	with "/<metadata>/,/<\\/metadata>/d; /<hostdev/,/<\\/hostdev>/d; s|</domain>|<qemu:commandline \
		xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:arg value='-device'/><qemu:arg value='$1'/></qemu:commandline>&|"
}
past() { with_argument "$2" && tells "$1" says M_PAST_LIBVIRT "$3"; } # SENTENCE ARGUMENT ID
past "an mdev" "vfio-pci,sysfsdev=/sys/bus/mdev/devices/$(uuid 3),display=on" "$(uuid 3)"
past "an mdev below its parent" "vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:84:00.0/$(uuid 3)" "$(uuid 3)"
past "a VF" "vfio-pci,host=4d:00.1,id=gpu" 0000:4d:00.1
past "a VF in JSON" '{"driver":"vfio-pci","host":"0000:26:00.4"}' 0000:26:00.4
with_argument vfio-pci,host=0000:26:00.0 && tells "a whole card of the pool" says M_PAST_LIBVIRT_PGPU 0000:26:00.0
with_argument vfio-pci,host=17:00.2 && silent "a network card's VF that is given so"
with_argument "vfio-ap,sysfsdev=/sys/bus/mdev/devices/$(uuid 3)" && silent "an mdev that is no vGPU"
configure </dev/null
with_device 0000:84:00.0 && silent "without a pool, a GPU"
tap_done
