#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# inside.sh SCENARIO   runs scenarios/SCENARIO.sh in a test machine, where that directory and tap.sh lie beside this file
#
# A scenario is a list of `run` (a command, its output kept) and `check` (a sentence and what proves it), or both in one
# (`succeeds`, `errs`); it finds a machine without domains, leases and devices, and the configuration below. A check that
# fails is followed by all that tells why.
set -u

here=$(cd "$(dirname "$0")" && pwd)
NAME=${1:?usage: inside.sh SCENARIO}
WORK=/run/vm-test                 # the scenario's own files
KEPT=/run/vm-json                # what was printed as JSON
# shellcheck disable=SC2034 # a scenario's
CONF=/etc/vgpu-lease.conf
FRESH=/run/vm-fresh
HOOK=/etc/libvirt/hooks/qemu
IMAGES=/var/lib/libvirt/images
MTTY=/sys/class/mdev_bus/mtty/mdev_supported_types
# Devices that the domains name.
# shellcheck disable=SC2034 # not every one in this file
U1=aaaaaaaa-0000-4000-8000-000000000001 U2=aaaaaaaa-0000-4000-8000-000000000002 U3=aaaaaaaa-0000-4000-8000-000000000003
OUT='' STATUS=0 TOOK=0            # of the last `run`

### Saying what is so

# run COMMAND...: runs it, and keeps its output, exit status and time in seconds in OUT, STATUS and TOOK.
run() {
	local start=$EPOCHREALTIME
	LAST="$*"
	OUT=$("$@" 2>&1 </dev/null)
	STATUS=$?
	TOOK=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000000))
	return "$STATUS"
}

# check SENTENCE COMMAND...: the command proves the sentence, and all is told where it does not.
check() {
	holds "$@" && return
	tell | sed 's/^/# /'
	return 1
}

# succeeds SENTENCE COMMAND..., errs SENTENCE COMMAND...: runs it, and checks that it succeeds, or that it does not.
succeeds() {
	run "${@:2}"
	check "$1" succeeded
}
errs() {
	run "${@:2}"
	check "$1" failed
}

# What a developer needs to see when a check has failed.
tell() {
	printf 'last command: %s\nexit status %s after %s s, and its output:\n%s\n' "${LAST:-}" "$STATUS" "$TOOK" "$OUT"
	echo "devices: $(devices)"
	echo "leases:"
	leases | jq -c ".leases[]"
	ls -l /run/vgpu-lease/leases
	echo "domains:"
	timeout 5 virsh list --all
	echo "journal:"
	journal | grep -E 'vgpu-lease|libvirtd|DENIED|mtty|vfio' |
		grep -vE 'systemd-machined|audit.*STATUS' | tail -n 40
} 2>&1

# The journal since the scenario began.
journal() { journalctl -q --no-pager -o short-precise --after-cursor "$CURSOR"; }

succeeded() { [ "$STATUS" = 0 ]; }
failed() { [ "$STATUS" != 0 ]; }

# same GOT EXPECTED: the same text?
same() {
	[ "$1" = "$2" ] || { printf 'got:  %s\nexpected: %s\n' "$1" "$2"; return 1; }
}
# tells KEY [ARG...]: does the output of the last `run` hold this message (tests/lib/messages)?
tells() { says "$@" <<<"$OUT"; }
# shows TEXT...: does it hold each of these names?
shows() {
	local text
	for text; do
		[[ $OUT == *"$text"* ]] || { printf 'not said: %s\n' "$text"; return 1; }
	done
}
no() { ! "$@"; }
# are_gone PATH...: none of them is there.
are_gone() {
	local path
	for path; do
		[ -e "$path" ] || [ -L "$path" ] || continue
		echo "still there: $path"
		return 1
	done
}
# refused TEXT...: the last `run` failed with one line of ours, which holds these.
refused() {
	local ours text
	failed || return
	ours=$(sed -n '/unexpected exit status 1: /,$ { s/.*unexpected exit status 1: //; /./p }' <<<"$OUT")
	echo "ours: $ours"
	[ -n "$ours" ] && [ "$(wc -l <<<"$ours")" = 1 ] && [ "${#ours}" -le 1000 ] || return
	for text; do
		[[ $ours == *"$text"* ]] || { echo "not said: $text"; return 1; }
	done
}
# What the kernel has denied the hook and libvirtd since the installation, but for what 21-unreadable confines so that the
# hook may not look into it, and a call at the very moment at which another scenario replaces the hook: the old file has no name
# by then.
denied() { journalctl -b -k -q --no-pager -o cat --since "@$(stat -c %W "$0")" |
	grep 'apparmor="DENIED"' | grep -vE 'peer="vm-test-jail"|operation="exec".* - deleted entry"' | grep -E 'vgpu-lease|hooks/|profile="libvirtd"'; }
# within SECONDS COMMAND...: does it become true in this time?
within() {
	local end=$((SECONDS + $1)) said
	shift
	until said=$("$@" 2>&1); do
		[ "$SECONDS" -lt "$end" ] || { echo "$said"; return 1; }
		sleep 0.2
	done
}

### The kernel's devices. Each process takes a twentieth of a second or more here: so the shell does what it can itself.

devices() {
	local all=(/sys/bus/mdev/devices/*)
	[ ! -e "${all[0]}" ] || echo "${all[@]##*/}"
}
available() { echo "$(<"$MTTY/mtty-2/available_instances")"; }
make_device() { echo "$1" >"$MTTY/${2:-mtty-2}/create"; }
only() { same "$(devices)" "$*"; }
exists() { [ -e "/sys/bus/mdev/devices/$1" ]; }
type_of() { basename "$(readlink "/sys/bus/mdev/devices/$1/mdev_type")"; }

### SR-IOV VFs, of the two PFs that a machine has

# shellcheck disable=SC2034 # a scenario's
PF1=0000:01:00.0 PF2=0000:02:00.0
PCI=/sys/bus/pci/devices
is_vf() { [[ $1 == *:* ]]; }
# enable_vfs PF: four, for which the kernel looks for no driver.
enable_vfs() {
	echo 0 >"$PCI/$1/sriov_drivers_autoprobe"
	echo 4 >"$PCI/$1/sriov_numvfs"
}
disable_vfs() { [ "$(<"$PCI/$1/sriov_numvfs")" = 0 ] || echo 0 >"$PCI/$1/sriov_numvfs"; }
# The driver of a PCI device; nothing: it has none.
driver_of() { [ ! -e "$PCI/$1/driver" ] || basename "$(readlink "$PCI/$1/driver")"; }
has_no_driver() { same "$(driver_of "$1")" ''; }
bind_vfio() {
	modprobe vfio-pci
	echo vfio-pci >"$PCI/$1/driver_override"
	echo "$1" >/sys/bus/pci/drivers_probe
}
# A pool of mdevs and of the VFs of both PFs.
configure_vfs() { configure_mtty vf_plain@1b36:0010; }
# vf_held_by VF NAME [ORIGIN]: is there an active lease of this domain?
vf_held_by() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .domain.uuid == \"$(uuid_of "$2")\" and
		.origin == \"${3:-created}\" and .type == \"plain\" and .parent == \"$1\" and .pgpu == \"${1%.*}.0\" and
		.framework == \"vf\""
}
# The VF is leased to nobody, still there, and open nowhere.
vf_is_free() { no_lease && [ -e "$PCI/$1/physfn" ] && closed; }

# bits "NAME..." NAME...: the sum of these names' bits: 1 for the first of all, 2, 4, ... Other names have none.
bits() {
	local name bit=1 sum=0
	for name in $1; do
		[[ " ${*:2} " != *" $name "* ]] || sum=$((sum + bit))
		bit=$((bit * 2))
	done
	echo "$sum"
}

### A driver that hangs: driver/stuck.c

# shellcheck disable=SC2034 # a scenario's
STUCK=/sys/class/mdev_bus/stuck/mdev_supported_types/stuck-1
load_stuck() { modprobe stuck || insmod /lib/modules/*/extra/stuck.ko; }
# hang_at STEP...: available, description, create, remove; whoever is at another step goes on. `nowhere`: everybody does.
hang_at() {
	bits 'available description create remove' "$@" >/sys/module/stuck/parameters/hang
}
# The processes that do.
stuck_processes() {
	local pid
	grep -lsF '[stuck]' /proc/[0-9]*/stack | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}
hangs() { [ -n "$(stuck_processes)" ]; }
# on_stuck DEVICE NAME: is there a lease of this domain for a vGPU that was made there?
on_stuck() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .origin == \"created\" and .type == \"stuck-1\""
}
# A pool of both, in which nothing is to take longer than five seconds.
configure_stuck() { configure_mtty stuck-1@stuck policy 'lock_timeout = 5' 'create_timeout = 5'; }

### Domains

# domain FILE NAME [DEVICE...]: writes the XML of a domain, which has these mdevs and VFs, to WORK/FILE.xml. From the environment:
# METADATA, what its <vgpu:lease> holds; ARGUMENT, one more for QEMU; DISK, its image; GUEST, the name of its firmware, which
# is the guest (idle); MIGRATABLE=1, so that it can be saved with its mdev; SCREEN=1, so that the first device is its
# screen, with ramfb before the guest has a driver; CONFINED=1, for an
# AppArmor profile of its own, which takes libvirt as long to make as all the rest of a start.
domain() {
	local file=$WORK/$1.xml name=$2 device
	shift 2
	{
		cat <<-END
			<domain type='qemu'>
			  <name>$name</name>
			  <uuid>$(uuid_of "$name")</uuid>
		END
		[ -z "${METADATA:-}" ] || cat <<-END
			  <metadata>
			    <vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'>$METADATA</vgpu:lease>
			  </metadata>
		END
		cat <<-END
			  <memory unit='MiB'>32</memory>
			  <vcpu>1</vcpu>
			  <os>
			    <type arch='x86_64' machine='pc'>hvm</type>
			    <loader readonly='yes' type='rom'>$IMAGES/${GUEST:-idle}.rom</loader>
			  </os>
			  <features><acpi/></features>
			  <devices>
			    <emulator>/usr/bin/qemu-system-x86_64</emulator>
			    <disk type='file' device='disk'>
			      <driver name='qemu' type='raw'/>
			      <source file='${DISK:-$IMAGES/empty.img}'/>
			      <target dev='vda' bus='virtio'/>
			      <readonly/>
			    </disk>
		END
		[ -z "${SCREEN:-}" ] || echo "<graphics type='vnc' listen='127.0.0.1'/><video><model type='none'/></video>"
		for device; do hostdev "$device"; SCREEN=; done
		cat <<-END
			    <memballoon model='none'/>
			  </devices>
		END
		[ -n "${CONFINED:-}" ] || echo "  <seclabel type='none' model='apparmor'/>"
		[ -z "${ARGUMENT:-}" ] || cat <<-END
			  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
			    <qemu:arg value='$ARGUMENT'/>
			  </qemu:commandline>
		END
		[ -z "${MIGRATABLE:-}" ] || migratable $#
		echo "</domain>"
	} >"$file"
}

# migratable NUMBER: what so many devices need. mtty says that it tracks dirty pages, but a kernel without IOMMUFD cannot
# ask it to. So QEMU must not ask; and a device that is not asked takes part in a migration only when that is said, too.
migratable() {
	local i
	echo "  <qemu:override xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
	for ((i = 0; i < $1; i++)); do
		cat <<-END
			    <qemu:device alias='hostdev$i'><qemu:frontend>
			      <qemu:property name='enable-migration' type='string' value='on'/>
			      <qemu:property name='x-device-dirty-page-tracking' type='string' value='off'/>
			      <qemu:property name='x-pre-copy-dirty-page-tracking' type='string' value='off'/>
			    </qemu:frontend></qemu:device>
		END
	done
	echo "  </qemu:override>"
}

# A domain's UUID follows from its name, the first twelve characters of which are in it.
uuid_of() {
	local hex='' i
	for ((i = 0; i < ${#1}; i++)); do printf -v hex '%s%02x' "$hex" "'${1:i:1}"; done
	hex+=000000000000000000000000
	echo "${hex:0:8}-${hex:8:4}-4000-8000-${hex:12:12}"
}

# define NAME [DEVICE...]: a domain with this name in libvirt.
define() {
	domain "$1" "$@" && virsh -q define "$WORK/$1.xml" >/dev/null
}

pid_of() { [ -f "/run/libvirt/qemu/$1.pid" ] && echo "$(<"/run/libvirt/qemu/$1.pid")"; }
is_state() { same "$(virsh -q domstate "$1")" "$2"; }

# uses NAME DEVICE: QEMU was told of the device, an mdev or a VF, and has its group open.
uses() {
	local pid named=$2
	pid=$(pid_of "$1") || return
	is_vf "$2" || named=/sys/bus/mdev/devices/$2
	grep -qaF "$named" "/proc/$pid/cmdline" || {
		echo "not in its arguments"
		return 1
	}
	uses_open "$1" "$2"
}

# uses_open NAME DEVICE: QEMU has the device's group open, whether it was told of it when it started or later.
uses_open() {
	local group
	group=$(group_of "$2")
	[ -n "$(find "/proc/$(pid_of "$1")/fd" -lname "$group" -print -quit)" ] || { echo "$group is not open"; return 1; }
}

# The node of its IOMMU group.
group_of() {
	local group
	if is_vf "$1"; then group=$PCI/$1; else group=/sys/bus/mdev/devices/$1; fi
	group=$(readlink "$group/iommu_group")
	echo "/dev/vfio/${group##*/}"
}

# The devices in the domain's XML, mdevs and VFs: device_in NAME [OPTION-OF-DUMPXML...].
device_in() {
	virsh dumpxml "$@" | sed -nE "/<hostdev/,/<\/hostdev/{
		s/.*<address uuid='([^']*)'.*/\1/p
		s/.*<address domain='0x(.*)' bus='0x(.*)' slot='0x(.*)' function='0x(.)'.*/\1:\2:\3.\4/p
	}"
}

# The VF in it: vf_in NAME [OPTION-OF-DUMPXML...].
vf_in() {
	virsh dumpxml "$@" | sed -n "/<hostdev/,/<\/source/s/.*<address domain='0x\(.*\)' bus='0x\(.*\)' slot='0x\(.*\)' function='0x\(.*\)'.*/\1:\2:\3.\4/p"
}

# hostdev DEVICE: an mdev, or a VF, by its address; that with managed='yes', or what MANAGED says; SCREEN as for `domain`.
hostdev() {
	local domain bus slot function screen=''
	[ -z "${SCREEN:-}" ] || screen=" display='on' ramfb='on'"
	if ! is_vf "$1"; then
		echo "<hostdev mode='subsystem' type='mdev' model='vfio-pci'$screen><source><address uuid='$1'/></source></hostdev>"
		return
	fi
	IFS=:. read -r domain bus slot function <<<"$1"
	echo "<hostdev mode='subsystem' type='pci' managed='${MANAGED:-yes}'$screen><source>" \
		"<address domain='0x$domain' bus='0x$bus' slot='0x$slot' function='0x$function'/></source></hostdev>"
}

### What is installed

# set_aside: takes away what `make install` installed, and keeps it for `put_back`.
set_aside() {
	local files
	mapfile -t files </srv/vm/staged.files
	tar -C / -cf "$WORK/installed.tar" "${files[@]}"
	uninstall
}
put_back() { tar -C / -xf "$WORK/installed.tar"; }
uninstall() {
	(cd / && xargs -d '\n' rm -f </srv/vm/staged.files && rm -rf etc/libvirt/hooks/qemu.d run/vgpu-lease var/lib/vgpu-lease)
	systemctl daemon-reload
}

# These scenarios have the Debian package in place of what `make install` installed.
runs_packaged() { [[ $NAME == 4[0-3]-* ]]; }
put_package() {
	set_aside
	succeeds "the package is installed" timeout 300 dpkg --force-unsafe-io -i /srv/vm/packages/vgpu-lease.deb
	systemctl stop vgpu-leased
	configure_mtty
}
purge_package() {
	succeeds "the package is purged" timeout 300 dpkg --force-unsafe-io -P vgpu-lease
	put_back
	systemctl daemon-reload
	systemctl restart libvirtd
}

# all_is_well WHEN
all_is_well() {
	succeeds "$1: the check is well" vgpu-lease check
	run vgpu-lease gc
	check "$1: there is nothing to collect" no grep -vE '^(OUTCOME|stays) ' <<<"$OUT"
}

### The device handler

# connected: it runs, and has said so of libvirt as the last thing about it.
connected() { systemctl is-active -q vgpu-leased && systemctl show -P StatusText vgpu-leased | grep '^connected to libvirt'; }
# marked NAME DEVICE: its live metadata says what this host knows of the device.
marked() {
	virsh metadata "$1" urn:vgpu-lease:domain:1 | grep "uuid=[\"']$2[\"']" | grep "type=[\"']mtty-2[\"']" |
		grep "framework=[\"']mdev[\"']"
}

### Booting, with VFs to be enabled

# sriov_manage FUNCTION: this enables the VFs of the card that it is given, in place of NVIDIA's program.
sriov_manage() {
	mkdir -p /usr/lib/nvidia
	cat >/usr/lib/nvidia/sriov-manage <<-END
		#!/bin/bash
		PCI=$PCI
		$(declare -f enable_vfs bind_nvidia give_to_nvidia "$1")
		[ "\$1" = -e ] && sleep 2 && $1 "\$2"
	END
	chmod 755 /usr/lib/nvidia/sriov-manage
}
# boot_with UNIT...: starts these and ours at once, with libvirtd, which has started no guest yet.
boot_with() {
	local sockets=(libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd-tcp.socket) unit
	local units=("$@" vgpu-lease-wait vgpu-leased libvirtd)
	systemctl stop "${sockets[@]}" "${units[@]}"
	rm -f /run/libvirt/qemu/autostarted
	succeeds "the units start" systemctl start "${sockets[@]}" "${units[@]}"
	for unit; do
		check "the VFs of ${unit#*@} are waited for" \
			test "$(since ExecMainStartTimestampMonotonic vgpu-lease-wait)" -ge "$(since ExecMainExitTimestampMonotonic "$unit")"
	done
	check "libvirtd starts after that" \
		test "$(since ExecMainStartTimestampMonotonic libvirtd)" -ge "$(since ExecMainExitTimestampMonotonic vgpu-lease-wait)"
}
since() { systemctl show -P "$1" "$2"; }
booted_no_more() {
	systemctl stop "$@" vgpu-lease-wait
	rm -r /usr/lib/nvidia
}

### Another hook beside ours

# another_hook: libvirt calls what is on standard input, too.
another_hook() {
	mkdir -p /etc/libvirt/hooks/qemu.d
	cat >/etc/libvirt/hooks/qemu.d/other
	chmod 755 /etc/libvirt/hooks/qemu.d/other
}
# keeps_open FILE: when QEMU has ended, a process opens this file, until there is WORK/close.
keeps_open() {
	another_hook <<-END
		#!/bin/sh
		[ "\$2" != stopped ] ||
			setsid timeout 60 sh -c 'until [ -e $WORK/close ]; do sleep 0.2; done' <>$1 >/dev/null 2>&1 &
	END
}
no_other_hook() { rm /etc/libvirt/hooks/qemu.d/other && rmdir --ignore-fail-on-non-empty /etc/libvirt/hooks/qemu.d; }

### libvirtd killed while the hook prepares a domain

preparing() { pgrep -f "/hooks/qemu(.d/vgpu-lease)? $1 prepare" >/dev/null; }
answers() { virsh -q list >/dev/null; }
# interrupt NAME WHEN: a start of this domain, whose hook waits for the lock of the leases while libvirtd is killed; the hook
# then goes on alone.
interrupt() {
	local holder starter freed=$WORK/freed
	install -d -m 700 /run/vgpu-lease
	rm -f "$freed"
	flock /run/vgpu-lease/lock timeout 25 sh -c "until [ -e $freed ]; do sleep 0.2; done" &
	holder=$!
	virsh start --paused "$1" >"$WORK/start.log" 2>&1 &
	starter=$!
	check "the hook waits for the lock of the leases ($2)" within 20 preparing "$1"
	run systemctl kill -s KILL --kill-whom=main libvirtd
	touch "$freed"
	wait "$holder" "$starter"
	check "the hook ends by itself ($2)" within 20 no preparing "$1"
	check "libvirtd is back ($2)" within 20 answers
}

### The host asleep

# suspend_host WHAT: the kernel stops all processes and puts the devices to sleep as for "suspend to idle", for 5 seconds
# of its own counting, and wakes them again. A machine that waited for an interrupt of its clock could miss it.
suspend_host() {
	local slept
	slept=$(times_slept)
	echo devices >/sys/power/pm_test
	grep -q '\[devices\]' /sys/power/pm_test || {
		check "the kernel can test a suspend ($1)" false
		return
	}
	run eval 'echo freeze >/sys/power/state'
	echo none >/sys/power/pm_test
	check "the host sleeps and wakes ($1)" succeeded
	check "it has slept ($1)" test "$(times_slept)" -gt "$slept"
}
# How often the kernel has waited with all its devices asleep.
times_slept() { dmesg | grep -c 'suspend debug: Waiting for'; }

### Two domains for one device

start_both() {
	virsh start --paused "$1" &
	virsh start --paused "$2" &
	wait
}
# race A B: starts both at once; the one that runs then is `WINNER`.
race() {
	run start_both "$@"
	WINNER=$(virsh list --name | xargs)
	check "of two domains that start at once one wins" test "$WINNER" = "$1" -o "$WINNER" = "$2"
}

### The hook's own time, without libvirt's and QEMU's

# time_hook: from now on each call leaves its operation and the milliseconds that it took in WORK/times.
time_hook() {
	mv "$HOOK" "$HOOK.timed"
	cat >"$HOOK" <<-END
		#!/bin/bash
		start=\${EPOCHREALTIME/./}
		"$HOOK.timed" "\$@"
		status=\$?
		echo "\$2 \$(((\${EPOCHREALTIME/./} - start) / 1000)) \$1" >>"$WORK/times"
		exit "\$status"
	END
	chmod 755 "$HOOK"
}
# took_at_most SECONDS OPERATION: did each of its calls since it was last asked about, and there was one?
took_at_most() {
	local operation took name any=
	while read -r operation took name; do
		[ "$operation" = "$2" ] || continue
		any=${any:-1}
		echo "$operation of $name: $took ms"
		[ "$took" -le $(($1 * 1000)) ] || any=over
	done <"$WORK/times"
	cat "$WORK/times" >>"$WORK/times.seen"
	sed -i "/^$2 /d" "$WORK/times"
	[ "$any" = 1 ]
}
tell_times() { sort -k1,1 -k2,2nr "$WORK/times.seen" | awk '!seen[$1]++ { print "# the longest " $1 " of the hook took " $2 " ms" }'; }

### JSON

# vgpu-lease ARGUMENT...: runs it; JSON is also kept, each call with its exit status and arguments on a line before it. Without a
# process more than the call takes: they are slow here, and a scenario asks for the leases again and again.
vgpu-lease() {
	local text status=0
	if [[ " $* " != *' --json '* ]]; then
		command vgpu-lease "$@"
		return
	fi
	text=$(command vgpu-lease "$@") || status=$?
	[ -n "$text" ] || return "$status"
	printf '%s\n' "$text"
	# One that was killed has printed a part.
	[ "$status" -lt 128 ] || return "$status"
	local IFS=$'\t'
	printf '#json-call\t%s\t%s\n#json %s\n' "$status" "$*" "${text//$'\n'/$'\n#json '}" >>"$KEPT"
	return "$status"
}
# Each document once, as comments: run.sh compares them with their schemas.
tell_json() {
	local line document=
	local -A told=()
	[ -f "$KEPT" ] || return 0
	while IFS= read -r line; do
		if [[ $line == '#json-call'* ]]; then
			[ -z "$document" ] || told[$document]=1
			document=
		fi
		document+=$line$'\n'
	done <"$KEPT"
	told[$document]=1
	printf '%s' "${!told[@]}"
}

### Leases

leases() { vgpu-lease list --json; }
# lease ID EXPRESSION: is there exactly one lease with this id, of which the jq expression is true?
lease() {
	leases | jq -e --arg id "$1" "[.leases[] | select(.id == \$id)] | length == 1 and (.[0] | $2)" >/dev/null || {
		leases
		return 1
	}
}
# held_by DEVICE NAME [ORIGIN]: is there an active lease of this domain?
held_by() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .domain.uuid == \"$(uuid_of "$2")\" and
		.origin == \"${3:-created}\" and .type == \"mtty-2\" and .parent == \"mtty\" and .framework == \"mdev\""
}
no_lease() { same "$(leases | jq -c .leases)" '[]'; }
# Nothing left: no device, no lease, and all that the pool has free.
nothing_left() { same "$(devices)" '' && no_lease && same "$(available)" 12; }
# collected COMMAND...: does it succeed after one more gc, which finishes what a release has left?
collected() { vgpu-lease gc && "$@"; }

# The configuration with which each scenario begins, and more words of configure.sh.
configure_mtty() { configure mtty-2@mtty "$@"; }

# Nothing is kept of what happened. A child that a hook left in a write may come back to it for a moment.
wipe() {
	local state=(/etc/libvirt/hooks/qemu.d /run/vgpu-lease /var/lib/vgpu-lease)
	rm -rf "${state[@]}"
	are_gone "${state[@]}"
}
# Back to a machine as it was installed; then there is FRESH.
# shellcheck disable=SC2046 # a name is a word
fresh() {
	local id
	rm -f "$FRESH"
	systemctl stop vgpu-leased
	# A hook that is newer than libvirtd may be one that it does not call.
	[ ! -e "$HOOK.timed" ] || { mv -f "$HOOK.timed" "$HOOK" && systemctl reload libvirtd; }
	[ ! -d /sys/module/stuck ] || hang_at nowhere
	[ ! -d /sys/module/nvidia ] || no_trouble
	# Nova's scenarios change more than the rest of this puts right; one of them has not come to its end.
	[ ! -e "$WORK/nova.commands" ] || [ ! -d /etc/nova ] || (
		# shellcheck source=/dev/null
		. "$here/nova/nova.sh"
		# shellcheck disable=SC2034 # end_nova's: it waits for none
		NOVA_PID=
		pkill -f /nova/compute.py
		[ -d /sys/module/pgpu ] && end_nova
	)
	of_each destroy $(virsh list --name)
	of_each 'undefine --managed-save' $(virsh list --all --name)
	# A write to the kernel that a hook did not wait for may still be under way.
	within 15 closed
	for id in $(devices); do
		echo 1 >"/sys/bus/mdev/devices/$id/remove"
	done
	[ ! -d /sys/module/stuck ] || rmmod stuck
	# libvirtd remembers that it bound such a VF to nothing, and would leave the next one of this address to vfio-pci.
	[ ! -d /sys/module/nvidia ] || { unload_nvidia; systemctl restart libvirtd; }
	disable_vfs "$PF1"
	disable_vfs "$PF2"
	wipe
	rm -rf /etc/vgpu-lease.conf* "$WORK"
	mkdir -p "$WORK"
	configure_mtty
	[ -n "$(devices)" ] || [ -d /sys/module/stuck ] || [ -d /sys/module/nvidia ] || touch "$FRESH"
} >/dev/null 2>&1
# As `fresh` left it after the last scenario, or fresh now.
begin_fresh() {
	[ -e "$FRESH" ] || fresh
	rm -f "$FRESH" "$KEPT"
}
# of_each COMMAND NAME...: virsh carries it out for each of them, in one call: it takes longer to start than to ask.
of_each() {
	local command=$1
	shift
	[ $# = 0 ] || virsh -q "$(printf "$command %s; " "$@")"
}
closed() { ! find /proc/[0-9]*/fd -lname '/dev/vfio/[0-9]*' 2>/dev/null | grep -q .; }

# make_firmware NAME CODE: a firmware in place of SeaBIOS, which takes two seconds here. It lets the timer interrupt 18 times
# a second, gives the power management its ports, and is the whole guest.
make_firmware() {
	local file=$IMAGES/$1.rom code
	code+='\xfa\x2e\x66\x0f\x01\x16\x20\x0f'                 # no interrupts; the descriptors below
	code+='\x0f\x20\xc0\x0c\x01\x0f\x22\xc0'                 # to protected mode,
	code+='\xbb\x08\x00\x8e\xdb\x24\xfe\x0f\x22\xc0'         # and back with 4 GiB in reach
	code+='\x66\xbb\x00\x00\xe0\xfe'                         # local APIC: is on,
	code+='\x67\x66\xc7\x83\xf0\x00\x00\x00\xff\x01\x00\x00'
	code+='\x67\x66\xc7\x83\x50\x03\x00\x00\x00\x07\x00\x00' # and passes on what the other one says
	code+='\x31\xc0\x8e\xd8\x8e\xd0\xbc\x00\x70'             # segments 0, a stack
	code+='\xc7\x06\x20\x00\x00\x0f\xc7\x06\x22\x00\x00\xf0' # vector 8 = F000:0F00
	code+='\xb0\x11\xe6\x20\xb0\x08\xe6\x21\xb0\x04\xe6\x21' # interrupts from 8 on,
	code+='\xb0\x01\xe6\x21\xb0\xfe\xe6\x21'                 # of which the timer is let through
	code+='\xb0\x34\xe6\x43\xb0\x00\xe6\x40\xe6\x40'         # timer: as slow as it can be
	code+='\xba\xf8\x0c\x66\xb8\x40\x0b\x00\x80\x66\xef'     # PCI 00:01.3, 0x40: power management
	code+='\xba\xfc\x0c\x66\xb8\x01\x06\x00\x00\x66\xef'     # is at port 0x600
	code+='\xba\xf8\x0c\x66\xb8\x80\x0b\x00\x80\x66\xef'     # and 0x80:
	code+='\xba\xfc\x0c\xb0\x01\xee'                         # is on
	truncate -s 64K "$file"
	put_bytes "$file" 0 "$code$2"
	put_bytes "$file" 0xf00 '\x50\xb0\x20\xe6\x20\x58\xcf'   # the timer's interrupt: done with
	put_bytes "$file" 0xf20 '\x0f\x00\x30\x0f\x0f\x00'       # descriptors: 16 bytes at 0xf0f30
	put_bytes "$file" 0xf38 '\xff\xff\x00\x00\x00\x92\xcf\x00'
	put_bytes "$file" 0xfff0 '\xea\x00\x00\x00\xf0'          # where a processor begins: go to F000:0000
}
# put_bytes FILE OFFSET BYTES
put_bytes() { printf %b "$3" | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none; }

# A guest that idles, powers off at the power button (virsh shutdown) and lets go of a PCI device that is to be unplugged.
make_idle_guest() {
	local code
	code+='\xfb'                                 # sti
	code+='\xba\x02\x06\xb8\x00\x01\xef'         # PM1 enable = power button
	code+='\xf4'                                 # wait: hlt
	code+='\xba\x00\x06\xed\xf6\xc4\x01\x75\x19' # PM1 status: pressed? then go to off
	code+='\x66\x31\xc0\xba\x10\xae\x66\xef'     # PCI hot-plug: select bus 0
	code+='\xba\x04\xae\x66\xed\x66\x85\xc0'     # slots that are to be unplugged
	code+='\x74\xe4'                             # none: go to wait
	code+='\xba\x08\xae\x66\xef\xeb\xdd'         # eject them, go to wait
	code+='\xba\x04\x06\xb8\x00\x20\xef'         # off: PM1 control = sleep type 0, enable
	code+='\xf4\xeb\xfd'                         # hlt, for ever
	make_firmware idle "$code"
	truncate -s 1M "$IMAGES/empty.img"
}

# shellcheck source=tests/lib/tap.sh
. "$here/tap.sh"
# shellcheck source=tests/lib/configure.sh
. "$here/configure.sh"
# shellcheck source=tests/vm/nvidia.sh
. "$here/nvidia.sh"
[ -f "$IMAGES/idle.rom" ] || make_idle_guest
# A guest that does nothing: it costs nothing, and lets go of nothing.
[ -f "$IMAGES/halt.rom" ] || make_firmware halt '\xfa\xf4\xeb\xfd'
CURSOR=$(journalctl -b -q -n 1 --no-pager --show-cursor -o cat | sed -n 's/^-- cursor: //p')
# Sourced, this file only lends what it defines.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
begin_fresh
! runs_packaged || put_package
# shellcheck source=/dev/null
. "$here/scenarios/$NAME.sh"
! runs_packaged || purge_package
fresh
check "nothing is kept on the machine" within 20 wipe
tell_json
tap_done
echo "end of $NAME"
