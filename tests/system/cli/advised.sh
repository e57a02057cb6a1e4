#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On a simulated host each command that a message advises works there as it is printed: it has --root.
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
tap_done
