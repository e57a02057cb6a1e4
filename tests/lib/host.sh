# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A simulated host for tests in bash: sourced. Without root and /dev/fuse the test is skipped, or fails with MUST_WORK=1.
#
#     start_host MODEL [WORD...]   starts it in $root, configured so; it ends with the script, or with end_host
#     $work                        a directory of the test's own, gone with the script
. "${BASH_SOURCE[0]%/*}/tap.sh"
. "${BASH_SOURCE[0]%/*}/xml.sh"
. "${BASH_SOURCE[0]%/*}/configure.sh"
sim=$builddir/vgpu-lease-sim

if [ "$(id -u)" != 0 ] || ! [ -w /dev/fuse ]; then
	skip_all "root and /dev/fuse are needed"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-lease-test.XXXXXX")
root=$work/host
# The lock of a card, below run/vgpu-lease, and where it is.
lock_of() { echo "pgpu/$1.lock"; }
card_lock() { echo "$root/run/vgpu-lease/$(lock_of "$1")"; }
# take_lock FILE: another process, in $holder, takes this lock; let_go: it ends.
take_lock() {
	flock -F "$1" sleep 600 >/dev/null 2>&1 &
	holder=$!
	until ! flock -n "$1" true; do sleep 0.02; done
	taken_ago "$1" 0
}
let_go() { kill "$holder" && wait "$holder" 2>/dev/null; }
# taken_ago FILE SECONDS: what the lock's file says if $holder took it then.
taken_ago() {
	local then=$(($(cut -d. -f1 /proc/uptime) - $2))
	printf '%-10d %-20d %-20d\n' "$holder" "$(cut -d' ' -f22 "/proc/$holder/stat")" "${then}000" >"$1"
}
mkdir "$work/json"

start_host() { # MODEL [WORD...]: with words, configured so
	"$sim" "$root" "$1" || { echo "Bail out! the simulated host does not start"; exit 1; }
	[ $# = 1 ] || configure "${@:2}"
}
# under WORD... -- COMMAND...: configures the host so, for the command and what follows.
under() {
	tap_split "$@"
	configure "${tap_before[@]}"
	"${tap_behind[@]}"
}
end_host() { "$sim" --stop "$root" 2>/dev/null || :; }
# new_host MODEL [WORD...]: another one in its place, which has nothing of it. What finishes releases there may still be at it.
new_host() {
	end_host
	eventually rm -rf "${root:?}" 2>/dev/null
	host "$@"
}

# vgpu_lease ARGUMENT...: runs the command. Tests call it with --json in this way only, or with as_nobody.
vgpu_lease() { keep_json "$builddir/vgpu-lease" "$@"; }

# keep_json COMMAND...: what it prints as JSON is kept. `check`, which only reads, is asked for JSON in any case, so that
# every finding is compared.
keep_json() {
	local status=0 kept=$work/json/$EPOCHREALTIME.$BASHPID
	if [[ " $* " != *' --json '* ]]; then
		"$@" || status=$?
		if [[ " $* " == *' check '* ]]; then keep_json "$@" --json >/dev/null 2>&1 || :; fi
		return $status
	fi
	"$@" >"$kept" || status=$?
	cat "$kept"
	while [[ $1 != */vgpu-lease ]]; do shift; done
	printf '%s\n' $status "${@:2}" >"$kept.call"
	return $status
}

# A call that was cut off by the test has no file .call.
json_fits() {
	compgen -G "$work/json/*.call" >/dev/null || return 0
	holds "all JSON that was printed has what its schemas say, and no more" \
		python3 "$srcdir/tests/lib/json_fits.py" "$srcdir/schemas" "$work/json"
}

# What is misspelt ends the test: it is no command that fails.
command_not_found_handle() { tap_bail_out "no command is called '$1'"; }

# Each host that runs in $work ends. A child of the hook may be at it still: it finishes releases.
clean_up() {
	local at
	[ -z "$handler" ] || kill -KILL "$handler" 2>/dev/null
	while read -r at; do
		"$sim" --stop "$(printf '%b' "${at%/.kernel}")"
	done < <(awk -v "work=$work/" 'index($2, work) == 1 && $2 ~ /\/\.kernel$/ { print $2 }' /proc/mounts) 2>/dev/null
	for _ in {1..100}; do
		rm -rf "$work" 2>/dev/null && return
		sleep 0.1
	done
}
trap clean_up EXIT

# as_nobody COMMAND...: without root's rights; vgpu-lease is that of the build, where such a user can run it.
as_nobody() {
	local run=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	[ "$1" = vgpu-lease ] || { "${run[@]}" "$@"; return; }
	install -D "$builddir/vgpu-lease" "$work/bin/vgpu-lease" && chmod 755 "$work"
	keep_json "${run[@]}" "$work/bin/vgpu-lease" "${@:2}"
}

# program NAME: one in $work/bin, a script of what is on standard input.
program() { mkdir -p "$work/bin" && { echo '#!/bin/bash -e' && cat; } >"$work/bin/$1" && chmod 755 "$work/bin/$1"; }

# control FILE LINE: one of the simulator's knobs.
control() { echo "$2" >"$root/.kernel/control/$1"; }

# pending OPERATION: the driver is at such a write (create, remove; '.' is any).
pending() { grep -q "^$1" "$root/.kernel/control/pending"; }
is_locked() { [ -e "$1" ] && ! flock -n "$1" true; }

# within SECONDS COMMAND...: the command succeeds before that time is over.
within() {
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}
# stalled_ms: for how long, since the boot, something that could run had to wait for a processor.
stalled_ms() { sed -n 's/^some .*total=\(.*\)...$/\1/p' /proc/pressure/cpu 2>/dev/null; }
# in_ms MS STATUS SENTENCE COMMAND...: it ends so, in less than this, and what the machine was busy with others. What takes three
# times as long is left alone: it may not be to be killed. What it prints is in $work/out.
in_ms() {
	local began=${EPOCHREALTIME/./} ms=0 most=$(($1 * 3)) stalled pid status=unfinished
	stalled=$(stalled_ms)
	"${@:4}" <&0 >"$work/out" 2>&1 &
	pid=$!
	while [ -d /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status 2>/dev/null && [ $ms -lt $most ]; do
		sleep 0.02
		ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	done
	[ $ms -ge $most ] || { status=0 && wait $pid || status=$?; }
	stalled=$(($(stalled_ms) - stalled))
	is "$status, $((ms < $1 + stalled ? 0 : ms)) ms late" "$2, 0 ms late" "$3 ($ms ms, stalled for $stalled)"
}
# for_guest ID TYPE PARENT: this vGPU was made for a guest, as the hook remembers it of one that was new when a guest came.
for_guest() {
	mkdir -p "$root/var/lib/vgpu-lease/affinity"
	echo "$2 $3 - $(</proc/sys/kernel/random/boot_id)" >"$root/var/lib/vgpu-lease/affinity/$1"
}
# A bound for what has failed: whatever succeeds does so sooner, also on a slow machine.
eventually() { within 60 "$@"; }

# node_of ID: the file by which a process opens the mdev or VF.
node_of() { echo "$root/dev/vfio/$(basename "$(readlink "$root"/sys/bus/{mdev,pci}/devices/"$1"/iommu_group)")"; }
open_device() { # ID: a process that has it open; its pid is in $holder
	sleep 600 >/dev/null 2>&1 9<>"$(node_of "$1")" &
	holder=$!
	eventually test -d "$root/.kernel/proc/$holder"
}
close_device() { kill "$holder" && wait "$holder" 2>/dev/null; }
remove_device() { echo 1 >"$root/sys/bus/mdev/devices/$1/remove"; }

# with_lock FILE COMMAND...: while somebody else has this lock.
with_lock() { (exec 8>>"$1" && flock 8 && "${@:2}" 8>&-); }
# start_handler [OPTION...]: the device handler on this host, in $handler; what it says is in $log. It ends with the script.
handler='' leased=$builddir/vgpu-leased log=$work/log
start_handler() { "$leased" --root "$root" --foreground "$@" >/dev/null 2>"$log" & handler=$!; }
# stop_handler [SIGNAL]: ends it; its exit status is in $status.
stop_handler() {
	local pid=$handler
	handler=
	kill "-${1:-TERM}" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
}
# with_handler COMMAND...: as where the device handler runs: the hook leaves slow releases to it.
with_handler() { with_lock "$root/run/vgpu-lease/handler.lock" "$@"; }
# hook GUEST OP SUBOP EXTRA: as libvirt calls it, with the domain on standard input.
hook() { "$builddir/hooks/qemu" --root "$root" -- "$@"; }
# vf_domain N ADDRESS [MANAGED [TYPE]]: the domain vmN with this VF; start_vf, end_vf: it starts, it ends; vf_serves SENTENCE ...: both.
vf_domain() { vf_xml "vm$1" "$(domain_uuid "$1")" "${@:2}"; }
start_vf() { vf_domain "$@" | hook "vm$1" prepare begin -; }
end_vf() { vf_domain "$@" | hook "vm$1" release end destroyed; }
vf_serves() { holds "$1" start_vf "${@:2}" && end_vf "${@:2}"; }
vf_type() { cat "$root/sys/bus/pci/devices/$1/nvidia/current_vgpu_type"; }
set_vf_type() { echo "$2" >"$root/sys/bus/pci/devices/$1/nvidia/current_vgpu_type"; }

# pci_ids DIRECTORY VENDOR DEVICE CLASS [SUBVENDOR SUBDEVICE]: what a device is, in hex digits, as the kernel shows it.
pci_ids() {
	printf 'pci:v0000%sd0000%ssv0000%ssd0000%sbc%ssc%si%s\n' "${2^^}" "${3^^}" "${5:-0000}" "${6:-0000}" \
		"${4:0:2}" "${4:2:2}" "${4:4:2}" >"$1/modalias"
	echo "0x$4" >"$1/class"
}
# pci_device ADDRESS VENDOR DEVICE CLASS [DRIVER]: on a tree without a simulator; "-" is no driver.
pci_device() {
	local at=$root/sys/bus/pci/devices/$1
	mkdir -p "$at"
	pci_ids "$at" "$2" "$3" "$4"
	[ "${5:--}" = - ] || ln -s "../../drivers/$5" "$at/driver"
}
# pci_vfs ADDRESS TOTAL [VF...]: this card of the tree can have so many VFs, and has these, each in an IOMMU group of its own.
pci_vfs() {
	local at=$root/sys/bus/pci/devices n=0 vf
	echo "$2" >"$at/$1/sriov_totalvfs"
	echo $(($# - 2)) >"$at/$1/sriov_numvfs"
	for vf in "${@:3}"; do
		ln -s "../$1" "$at/$vf/physfn"
		ln -s "../$vf" "$at/$1/virtfn$((n++))"
		mkdir -p "$root/sys/kernel/iommu_groups/$n/devices/$vf"
		ln -s "../../../../kernel/iommu_groups/$n" "$at/$vf/iommu_group"
	done
}

# mdevctl_has PARENT UUID TYPE [START [ATTRS]]: a definition of mdevctl's.
mdevctl_has() {
	mkdir -p "$root/etc/mdevctl.d/$1"
	echo "{\"mdev_type\": \"$3\", \"start\": \"${4:-manual}\", \"attrs\": ${5:-[]}}" >"$root/etc/mdevctl.d/$1/$2"
}
# log_here: what the programs log from here on comes to $socket, and is in $work/logged. It ends with the script.
log_here() {
	socket=$root/run/systemd/journal/socket
	mkdir -p "${socket%/*}"
	python3 "$srcdir/tests/lib/journald.py" "$socket" >"$work/logged" &
	journald=$!
	trap 'kill -KILL "$journald"; clean_up' EXIT
	holds "there is a log" eventually test -S "$socket"
}
# libvirt_has NAME: libvirt has a definition of this domain, whose XML is on standard input.
libvirt_has() { mkdir -p "$root/etc/libvirt/qemu" && cat >"$root/etc/libvirt/qemu/$1.xml"; }
# libvirt_runs NAME: libvirt has a status file of this domain, whose XML is on standard input.
libvirt_runs() {
	mkdir -p "$root/run/libvirt/qemu"
	{ echo "<domstatus state='running'>" && cat && echo "</domstatus>"; } >"$root/run/libvirt/qemu/$1.xml"
}
