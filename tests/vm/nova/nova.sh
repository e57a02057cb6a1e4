# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Nova's own libvirt driver in a test machine, on two cards of driver/pgpu.c: compute.py runs it. Sourced by scenarios
# and migrations.
# shellcheck disable=SC2034 # some variables are a scenario's

GPU1=0000:00:10.0 GPU2=0000:00:11.0
NOVA_CONF=/etc/nova/nova.conf
FACTS=urn:vgpu-lease:domain:1
BIOS=/usr/share/seabios/bios-256k.bin

# The driver of both cards is loaded; the guests of Nova, which chooses no firmware, idle. Nova's program begins: its
# import takes a minute, and it answers the first command after that. The hook is away: `with_hook` brings it.
# MIGRATABLE=1, from the environment: its guests can be migrated.
prepare_nova() {
	local qemu=/usr/bin/qemu-system-x86_64
	local base=/var/lib/nova/instances/_base
	mkdir -p /etc/nova "$base"
	truncate -s 1M "$base/$(printf %s 11111111-1111-4111-8111-111111111111 | sha1sum | cut -d ' ' -f 1)"
	mkfifo "$WORK/nova.commands" "$WORK/nova.answers"
	/srv/nova/python "${here:?}/nova/compute.py" <"$WORK/nova.commands" >"$WORK/nova.answers" \
		2>>/var/lib/nova/stderr &
	NOVA_PID=$!
	exec 6>"$WORK/nova.commands" 5<"$WORK/nova.answers"
	mount --bind "$IMAGES/idle.rom" "$BIOS"
	# Nova asks libvirt for what each QEMU can do, and for each machine of it.
	chmod a-x /usr/bin/qemu-system-i386
	if [ -n "${MIGRATABLE:-}" ]; then
		ln -f "$qemu" "$qemu-itself"
		printf '#!/bin/sh\nexec %s-itself %s "$@"\n' "$qemu" \
			"-global vfio-pci.${MIGRATABLE_DEVICE// / -global vfio-pci.}" >"$WORK/qemu"
		chmod 755 "$WORK/qemu"
		mount --bind "$WORK/qemu" "$qemu"
	fi
	# Nova 31 fails where any card is not on PCI.
	rmmod mtty mdpy
	load_pgpu
	# A profile of AppArmor for each guest takes libvirt as long to make as all the rest of a start.
	cp /etc/libvirt/qemu.conf "$WORK/qemu.conf"
	echo 'security_default_confined = 0' >>/etc/libvirt/qemu.conf
	# shellcheck disable=SC2153 # it is inside.sh's
	mv "$HOOK" "$WORK/qemu-hook"
	# libvirtd looks for hooks when it starts: so there is one, which does nothing.
	printf '#!/bin/sh\n' >"$HOOK"
	chmod 755 "$HOOK"
	systemctl restart libvirtd
	mode=alone
}
# What is needed of a device that is to be migrated (inside.sh, migratable): Nova's XML cannot say it.
MIGRATABLE_DEVICE='enable-migration=on x-device-dirty-page-tracking=off x-pre-copy-dirty-page-tracking=off'
# HANDLER=no: for a life without one.
start_handler() { [ "${HANDLER:-yes}" = no ] || systemctl start vgpu-leased; }
with_hook() {
	mode=with
	mv "$WORK/qemu-hook" "$HOOK"
	printf '[devices]\nnova_conf = %s\n' "$NOVA_CONF" >"$CONF"
	start_handler
}
end_nova() {
	exec 6>&- 5<&-
	[ -z "$NOVA_PID" ] || wait "$NOVA_PID"
	systemctl stop vgpu-leased
	clear_nova
	umount "$BIOS"
	chmod a+x /usr/bin/qemu-system-i386
	! mountpoint -q /usr/bin/qemu-system-x86_64 || umount /usr/bin/qemu-system-x86_64
	rm -f /usr/bin/qemu-system-x86_64-itself
	cp "$WORK/qemu.conf" /etc/libvirt/qemu.conf
	[ ! -e "$WORK/qemu-hook" ] || mv "$WORK/qemu-hook" "$HOOK"
	systemctl restart libvirtd
	rm -rf /var/lib/nova /etc/nova
	rmmod pgpu
	modprobe -a mtty mdpy
}
load_pgpu() { modprobe pgpu || insmod /lib/modules/*/extra/pgpu.ko; }
reload_driver() { rmmod pgpu && load_pgpu && udevadm settle; }
# A host that boots: nothing runs, /run is empty, no mdev is there.
reboot_host() {
	local pid sockets=(libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd-tcp.socket)
	nova kill
	[ "$mode" = alone ] || systemctl stop vgpu-leased
	systemctl stop "${sockets[@]}" libvirtd
	for pid in /run/libvirt/qemu/instance-*.pid; do [ ! -e "$pid" ] || kill -KILL "$(<"$pid")"; done
	within 15 closed
	rm -rf /run/vgpu-lease /run/libvirt/qemu/*.{xml,pid}
	reload_driver
	systemctl start "${sockets[@]}" libvirtd
	[ "$mode" = alone ] || start_handler
}

# nova COMMAND [ARG...]: as `run`, of what compute.py can do; see there.
nova() {
	local start=$EPOCHREALTIME
	LAST="nova $*"
	echo "$*" >&6
	read -r -t 300 OUT <&5 || OUT='error: no answer'
	TOOK=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000000))
	echo "$TOOK s: $LAST: $OUT" >>/var/lib/nova/calls
	[[ $OUT == ok* ]]
	STATUS=$?
	return "$STATUS"
}
# tried COMMAND...: the same, said in one word.
tried() {
	if nova "$@"; then echo works; else echo fails; fi
}
# The total of what Nova has told Placement of all cards.
total() {
	nova inventory
	sed 's/^ok *//; s/[^ ]*=//g' <<<"$OUT" | awk '{ for (i = 1; i <= NF; i++) sum += $i; print NF ? sum : "none" }'
}
# Nova's name of an instance for libvirt, which compute.py makes of the instance's own.
name_of() { printf 'instance-%08x' "$(($(printf '0x%s' "$(printf %s "$1" | od -An -tx1 | tr -d ' \n')")))"; }
mdevs() { local all=(/sys/bus/mdev/devices/*-*); if [ -e "${all[0]}" ]; then echo "${#all[@]}"; else echo 0; fi; }
definitions() { find /etc/mdevctl.d -type f 2>/dev/null | wc -l; }
# libvirt, and so Nova, lists what sysfs has: it follows the removals of others with a delay, on a busy machine of
# seconds.
# A device whose definition and directory go at once is listed as inactive for a moment, and counted.
libvirt_follows() {
	local id
	same "$(virsh nodedev-list --all --cap mdev | sed -nE 's/^mdev_(.{36})_.*/\1/p' | tr _ - | sort)" \
		"$({ devices | xargs -rn 1; find /etc/mdevctl.d -type f -printf '%f\n'; } 2>/dev/null | sort -u)" && return
	for id in $(virsh nodedev-list --all --cap mdev); do
		virsh nodedev-info "$id" | grep -E '^(Name|Active|Persistent)' | xargs
	done
	return 1
}
# has_vgpu NAME: QEMU has the mdev open that the instance's XML names.
has_vgpu() {
	local device
	device=$(device_in "$(name_of "$1")")
	[ -n "$device" ] && uses_open "$(name_of "$1")" "$device" >/dev/null
}
vgpu_of() { if has_vgpu "$1"; then echo "with its vGPU"; else echo "without a vGPU"; fi; }

# Has the instance `a` the device that Nova's claim named?
is_claimed() { [ "$(device_in "$(name_of a)")" != "$1" ] || printf ', the one claimed'; }
# As if reclaim_grace were over, and a definition's first minute.
after_grace() { # [--unused: also what no guest has had]
	[ "$mode" = alone ] && return
	find /etc/mdevctl.d -type f -exec touch -d '2 minutes ago' {} +
	vgpu-lease gc --grace 0 "$@" >"$WORK/gc" 2>&1 || sed 's/^/# /' "$WORK/gc" >&2
}
left() {
	within 60 libvirt_follows >&2
	echo "$(mdevs) mdevs, $(definitions) definitions, total $(total)"
}
left_here() { echo "$(mdevs) mdevs, $(definitions) definitions, $(leases | jq '.leases | length') leases"; }
# The metadata of `a` names the one device that it has, and the type of that.
is_marked() {
	local devices
	devices=$(virsh metadata "$(name_of a)" "$FACTS" | grep '<device')
	same "$(grep -c . <<<"$devices")" 1 &&
		grep "uuid=[\"']$(device_in "$(name_of a)")[\"']" <<<"$devices" | grep "type=[\"']pgpu-1[\"']"
}

# The PCI address that the guest of `a` has the device at, as libvirt has it; and whether the metadata have it.
guest_of_a() {
	virsh dumpxml "$(name_of a)" | sed -nE "/<hostdev/,/<\/hostdev/s/.*type='pci' domain='0x(.*)' bus='0x(.*)' slot='0x(.*)' function='0x(.)'.*/\1:\2:\3.\4/p"
}
has_guest() { virsh metadata "$(name_of a)" "$FACTS" | grep "guest=[\"']$(guest_of_a)[\"']"; }

# configure_nova TYPE1 [TYPE2] [LINE]: the types of the cards, and a line for the first one's section. The file has what
# Nova's parser takes and others refuse: a section twice, a key twice.
configure_nova() {
	cat >"$NOVA_CONF" <<-END
		[DEFAULT]
		state_path = /var/lib/nova
		log_file = /var/lib/nova/nova.log
		my_ip = 127.0.0.1
		[libvirt]
		virt_type = qemu
		cpu_mode = none
		images_type = flat
		[vnc]
		enabled = false
		[oslo_concurrency]
		lock_path = /var/lib/nova/lock
		[devices]
		enabled_mdev_types = nvidia-1
		enabled_mdev_types = $1${2:+, $2}
		[mdev_$1]
		device_addresses = $GPU1
		${3:-}
	END
	[ -z "${2:-}" ] || printf '[mdev_%s]\ndevice_addresses = %s\n' "$2" "$GPU2" >>"$NOVA_CONF"
	printf '[devices]\n' >>"$NOVA_CONF"
}

# The directories stay: libvirt watches one that comes back once more each time.
undefine_mdevs() { find /etc/mdevctl.d -path '*/0000*' -type f -delete; }
# No instance, mdev, definition or lease.
# shellcheck disable=SC2046 # a name is a word
clear_nova() {
	local id
	of_each destroy $(virsh list --name)
	of_each 'undefine --managed-save' $(virsh list --all --name)
	within 15 closed
	for id in $(devices); do echo 1 >"/sys/bus/mdev/devices/$id/remove"; done
	undefine_mdevs
	rm -rf /var/lib/nova/instances/*-* /run/vgpu-lease/leases
} >/dev/null 2>&1
# begin_nova [TYPE...]: after that, a life of nova-compute with this configuration: the one that runs, if it has read the
# same, and if no claim is in its memory: a start takes as long as a spawn.
begin_nova() {
	local before
	before=$(cat "$NOVA_CONF" 2>/dev/null)
	clear_nova
	configure_nova "$@"
	# Nova would give what libvirt still lists. It can list one for ever that was removed while it read the definitions.
	within 60 libvirt_follows >"$WORK/listed" || {
		sed 's/^/# libvirt does not follow: /' "$WORK/listed" >&2
		systemctl restart libvirtd
	}
	{ [ "$before" = "$(<"$NOVA_CONF")" ] && nova fresh; } || nova start
}
