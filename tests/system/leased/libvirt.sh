#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the device handler makes of libvirt's guests, by their status files. libvirt is its own made-up host here (the test
# driver, in the daemon's process), which has none, so they are written by hand: with QEMU and devices of a kernel it is in
# tests/vm.
. "$(dirname "$0")/../../lib/leased.sh"
host t4+flex nvidia-222 vf_flex@8086:56c0 policy 'driver_cleanup = 0' 'reclaim = never'
u2=${u1%??}02 u3=${u1%??}03 u4=${u1%??}04 u5=${u1%??}05 vf=0000:4d:00.2
driver=$(cat "$root/sys/module/nvidia/version")
vf_hostdev=$(vf_hostdev $vf yes)
placeholder=00000000-0000-0000-0000-000000000001

domain() { # NAME UUID STATE [MDEV [MARKED]]: as the test driver's file has it; state 1 runs, 5 does not
	local device=${DEVICE:-} metadata=${TAKEN:-}
	[ -z "${4:-}" ] || device=$(mdev_hostdev "$4")
	[ -z "${5:-}" ] || metadata="<vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device uuid='$4'/></vgpu:lease>"
	cat <<-END
		<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>
		  <name>$1</name><uuid>$2</uuid><memory>8192</memory><os><type>hvm</type></os>
		  <metadata>$metadata</metadata>
		  <devices>$device</devices>
		  <test:runstate>$3</test:runstate>
		</domain>
	END
}
{
	echo '<node>'
	domain plain ${vm_uuid%??}10 1
	domain plugged ${vm_uuid%??}11 1 "$u1"
	domain off ${vm_uuid%??}12 5 "$placeholder" marked
	domain clash ${vm_uuid%??}13 1 "$u2"
	DEVICE=$vf_hostdev domain vf ${vm_uuid%??}14 1
	TAKEN=$(suspended_record "$(mdev_hostdev "$u4")") domain taken ${vm_uuid%??}15 1
	domain kept ${vm_uuid%??}16 1 "$u5"
	echo '</node>'
} >"$work/node.xml"

with() { sed "s/$u1/$1/; s/$vm_uuid/${2:-$vm_uuid}/" "$vm"; } # MDEV [DOMAIN]
make_device 0000:84:00.0 nvidia-222 "$u1"
# Of u2 there is a lease of a domain that libvirt does not know, for a device that another has.
prepare <(with "$u2")
prepare <(with "$u3" "${vm_uuid%??}11")
prepare <(with "$u4" "${vm_uuid%??}15")
prepare <(with "$u5" "${vm_uuid%??}16")
holders=()
for id in "$u1" $vf "$u2" "$u5"; do open_device "$id" && holders+=("$holder"); done
# After the last hook, which would finish what is that old.
sed -i 's/^since_ms=.*/since_ms=1/' "$root/run/vgpu-lease/leases/"{"$u3","$u4"}

# As libvirt has them while they run.
for name in plain plugged clash vf taken kept; do
	sed -n "/<name>$name</,/<.domain>/{s/^ *<name>/<domain type='kvm'>&/; /test:runstate/d; p}" "$work/node.xml" |
		libvirt_runs $name
done
start --connect "test://$work/node.xml"
holds "it connects" eventually said M_CONNECTED
holds "a device that a guest has, and no lease names, is leased to it" eventually is_state "$u1" active
is "$(sed -n 's/^origin=//p' "$root/run/vgpu-lease/leases/$u1")" adopted "as one that was there before"
holds "so is a VF of the pool, by a guest that has nothing else of ours" eventually is_state "$vf" active
holds "one that a guest's lease names, and the guest no longer has, is released" \
	eventually said M_RELEASED one-vgpu "$u3"
fails "what we made of it is removed" test -e "$root/sys/bus/mdev/devices/$u3"
is "$(state "$u4")" active "not one that a suspend is about to take: should that fail, the guest gets it back"
holds "a guest that was suspended and runs without its vGPU is told of" eventually said M_RUNS_WITHOUT taken "$u4" taken
holds "a device that runs in another guest than its lease says is told of" eventually said M_RUNS_ELSEWHERE clash "$u2" one-vgpu
is "$(state "$u2")" active "and left alone"
holds "what is known of a vGPU goes into the live metadata of its guest" eventually said M_METADATA_WRITTEN plugged
# As libvirt then has it in the file. Two guests have a vGPU with a type.
for known in plugged:$u1 kept:$u5; do
	facts="uuid='${known#*:}' type='nvidia-222' name='GRID T4-1B' framework='mdev' model='10de:1eb8' driver='$driver'"
	sed -i "s|<metadata>|&<vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device $facts/></vgpu:lease>|" \
		"$root/run/libvirt/qemu/${known%:*}.xml"
done
looks
before=$(said_times M_METADATA_WRITTEN)
looks
looks
is "$(said_times M_METADATA_WRITTEN) $(grep -c clash "$log")" "$before 1" "all of that once"
is "$(grep -c 'pass failed' "$log")" 0 "no pass failed"
fails "a definition with a placeholder is the operator's, and left alone" grep -q "$placeholder" "$log"

### Leases that are lost under a running guest
is_kept() { is_state "$u5" active && grep -qx origin=created "$root/run/vgpu-lease/leases/$u5"; }
holds "a guest runs with what its hook made" is_kept
rm "$root/run/vgpu-lease/leases/$u5"
holds "its lease, removed by somebody, is back at once, and says who made the vGPU" eventually is_kept
rm -rf "$root/run/vgpu-lease/leases"
holds "so it is when the directory was removed" eventually is_kept
until rm -rf "$root/run/vgpu-lease" 2>/dev/null; do :; done
holds "or all of the state" eventually is_kept
holds "with the lock that tells hooks of the handler" eventually runs
mv "$root/run/vgpu-lease" "$work/moved"
holds "or moved away" eventually is_kept
rm "$root/run/vgpu-lease/leases/$u5"
holds "and it is noticed in the new directory, too" eventually is_kept
kill "${holders[@]}"
stop

### A libvirt that does not answer
mkfifo "$work/hangs"
rm -r "$root/run/libvirt"
sed -i '$a start_grace = 1' "$root/etc/vgpu-lease.conf"
start --connect "test://$work/hangs"
eventually pgrep -P "$handler" >/dev/null
prepare <(with "$u3" "${vm_uuid%??}11")
sleep 1.1
kill -HUP "$handler"
holds "a libvirt that does not answer is said" eventually said M_UNANSWERED
holds "and holds up no pass: what a domain that is gone had is released" eventually is_state "$u3" ''
holds "nor are its processes left behind" test "$(pgrep -c -P "$handler")" -le 1
stop
sed -i 's/^start_grace = 1$/start_grace = 8/' "$root/etc/vgpu-lease.conf"
prepare <(with "$u3" "${vm_uuid%??}11")
start --connect "test://$work/hangs"
holds "nor does that take an event" within 30 is_state "$u3" ''
stop

# In a build with sanitizers the leak checker can die itself at the end of this one, after libvirt's driver has failed to open.
export ASAN_OPTIONS+=:detect_leaks=0
start --connect "test://$work/not-there.xml"
holds "a libvirt that is not there is said" eventually said M_NOT_CONNECTED
holds "and is no reason to end" runs
stops "it ends when it is told to"
tap_done
