#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# inside.sh SCENARIO   runs scenarios/SCENARIO.sh in a test machine, where that folder and tap.sh lie beside this file
#
# A scenario is a list of `run` (a command, its output kept) and `check` (a sentence and what proves it); it finds a
# machine without domains, leases and devices, and the configuration below. A check that fails is followed by all that
# tells why.
set -u

here=$(cd "$(dirname "$0")" && pwd)
NAME=${1:?usage: inside.sh SCENARIO}
WORK=/run/vm-test                 # the scenario's own files
CONF=/etc/vgpu-lease.conf
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

# same GOT WANT: the same text?
same() {
	[ "$1" = "$2" ] || { printf 'got:  %s\nwant: %s\n' "$1" "$2"; return 1; }
}
# says TEXT...: does the output of the last `run` hold each of these?
says() {
	local text
	for text; do
		[[ $OUT == *"$text"* ]] || { printf 'not said: %s\n' "$text"; return 1; }
	done
}
no() { ! "$@"; }
# within SECONDS COMMAND...: does it become true in this time?
within() {
	local end=$((SECONDS + $1)) said
	shift
	until said=$("$@" 2>&1); do
		[ "$SECONDS" -lt "$end" ] || { echo "$said"; return 1; }
		sleep 0.2
	done
}

### The kernel's devices

devices() { find /sys/bus/mdev/devices -mindepth 1 -printf '%f\n' | sort | xargs; }
available() { cat "$MTTY/mtty-2/available_instances"; }
make_device() { echo "$1" >"$MTTY/${2:-mtty-2}/create"; }
only() { same "$(devices)" "$*"; }
exists() { [ -e "/sys/bus/mdev/devices/$1" ]; }
type_of() { basename "$(readlink "/sys/bus/mdev/devices/$1/mdev_type")"; }

### Domains

# domain FILE NAME [DEVICE...]: writes the XML of a domain, which has these mdevs, to WORK/FILE.xml. Its guest is a boot
# sector that idles. From the environment: METADATA, what its <vgpu:lease> holds; ARGUMENT, one more for QEMU; DISK, its
# image; FIRMWARE, in place of QEMU's own; MIGRATABLE=1, so that it can be saved with its mdev; CONFINED=1, for an
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
			    ${FIRMWARE:+<loader readonly='yes' type='rom'>$FIRMWARE</loader>}
			  </os>
			  <features><acpi/></features>
			  <devices>
			    <emulator>/usr/bin/qemu-system-x86_64</emulator>
			    <disk type='file' device='disk'>
			      <driver name='qemu' type='raw'/>
			      <source file='${DISK:-$IMAGES/idle.img}'/>
			      <target dev='vda' bus='virtio'/>
			      <readonly/>
			    </disk>
		END
		for device; do
			echo "    <hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
			echo "      <source><address uuid='$device'/></source>"
			echo "    </hostdev>"
		done
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
		# mtty says that it tracks dirty pages, but a kernel without IOMMUFD cannot ask it to. So QEMU must not
		# ask; and a device that is not asked takes part in a migration only when that is said, too.
		[ -z "${MIGRATABLE:-}" ] || cat <<-END
			  <qemu:override xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
			    <qemu:device alias='hostdev0'><qemu:frontend>
			      <qemu:property name='enable-migration' type='string' value='on'/>
			      <qemu:property name='x-device-dirty-page-tracking' type='string' value='off'/>
			      <qemu:property name='x-pre-copy-dirty-page-tracking' type='string' value='off'/>
			    </qemu:frontend></qemu:device>
			  </qemu:override>
		END
		echo "</domain>"
	} >"$file"
}

# A domain's UUID follows from its name.
uuid_of() { printf %s "$1" | md5sum | sed -E 's/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/\1-\2-4\3-8\4-\5/'; }

# define NAME [DEVICE...]: a domain with this name in libvirt.
define() {
	domain "$1" "$@" && virsh -q define "$WORK/$1.xml" >/dev/null
}

pid_of() { cat "/run/libvirt/qemu/$1.pid"; }
is_state() { same "$(virsh domstate "$1" | head -n 1)" "$2"; }

# uses NAME DEVICE: QEMU was told of the device, and has its group open.
uses() {
	local pid
	pid=$(pid_of "$1") || return
	tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qF "/sys/bus/mdev/devices/$2" || {
		echo "not in its arguments"
		return 1
	}
	uses_open "$1" "$2"
}

# uses_open NAME DEVICE: QEMU has the device's group open, whether it was told of it when it started or later.
uses_open() {
	local group
	group=$(basename "$(readlink "/sys/bus/mdev/devices/$2/iommu_group")")
	find "/proc/$(pid_of "$1")/fd" -lname "/dev/vfio/$group" | grep -q . || { echo "/dev/vfio/$group is not open"; return 1; }
}

# The device in the domain's XML: device_in NAME [OPTION-OF-DUMPXML...].
device_in() {
	virsh dumpxml "$@" | sed -n "/<hostdev/,/<\/hostdev/s/.*<address uuid='\([^']*\)'.*/\1/p"
}

# hostdev DEVICE: what virsh attach-device takes.
hostdev() {
	cat <<-END
		<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$1'/></source></hostdev>
	END
}

### The device handler

# connected: it runs, and has said so of libvirt as the last thing about it.
connected() { systemctl is-active -q vgpu-leased && systemctl show -P StatusText vgpu-leased | grep '^connected to libvirt'; }
# stamped NAME DEVICE: its live metadata says what this host knows of the device.
stamped() {
	virsh metadata "$1" urn:vgpu-lease:domain:1 | grep "uuid=[\"']$2[\"']" | grep "type=[\"']mtty-2[\"']" |
		grep "framework=[\"']mdev[\"']"
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

# The configuration with which each scenario begins.
configure() {
	cat >"$CONF" <<-END
		[devices]
		enabled_mdev_types = mtty-2

		[mdev_mtty-2]
		device_addresses = mtty
	END
}

# Back to a machine as it was installed.
fresh() {
	local name id
	systemctl stop vgpu-leased
	virsh list --name | while read -r name; do
		[ -z "$name" ] || virsh -q destroy "$name"
	done
	virsh list --all --name | while read -r name; do
		[ -z "$name" ] || virsh -q undefine --managed-save "$name"
	done
	# A give-back that a hook left to a child of its own may still be under way.
	within 15 closed
	for id in $(devices); do
		echo 1 >"/sys/bus/mdev/devices/$id/remove"
	done
	rm -rf /etc/libvirt/hooks/qemu.d /run/vgpu-lease /var/lib/vgpu-lease /etc/vgpu-lease.conf* "$WORK"
	mkdir -p "$WORK"
	configure
} >/dev/null 2>&1
closed() { ! find /proc/[0-9]*/fd -lname '/dev/vfio/[0-9]*' 2>/dev/null | grep -q .; }

# The guest: a sector of machine code that idles, powers off at the power button (virsh shutdown) and lets go of a PCI
# device that is to be unplugged.
make_guest() {
	local file=$IMAGES/idle.img code
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
	truncate -s 1M "$file"
	printf %b "$code" | dd of="$file" conv=notrunc status=none
	printf '\x55\xaa' | dd of="$file" bs=1 seek=510 conv=notrunc status=none
}

# shellcheck source=tests/tap.sh
. "$here/tap.sh"
[ -f "$IMAGES/idle.img" ] || make_guest
CURSOR=$(journalctl -b -q -n 1 --no-pager --show-cursor -o cat | sed -n 's/^-- cursor: //p')
# Sourced, this file only lends what it defines.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
fresh
# shellcheck source=/dev/null
. "$here/scenarios/$NAME.sh"
fresh
tap_done
echo "end of $NAME"
