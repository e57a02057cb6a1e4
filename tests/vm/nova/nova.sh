# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Nova's own libvirt driver in a test machine, on two cards of driver/pgpu.c: compute.py runs it. Sourced by scenarios.
# shellcheck disable=SC2034 # some variables are a scenario's

GPU1=0000:00:10.0 GPU2=0000:00:11.0
NOVA_CONF=/etc/nova/nova.conf
BIOS=/usr/share/seabios/bios-256k.bin

# The driver of both cards is loaded; the guests of Nova, which chooses no firmware, idle. Then Nova's program: its import
# takes as long as all the rest.
prepare_nova() {
	mkdir -p /etc/nova /var/lib/nova/instances/_base
	truncate -s 1M "/var/lib/nova/instances/_base/$(printf %s 11111111-1111-4111-8111-111111111111 | sha1sum | cut -d ' ' -f 1)"
	coproc NOVA { exec /srv/nova/python "${here:?}/nova/compute.py" 2>>/var/lib/nova/stderr; }
	exec 8<&"${NOVA[0]}" 9>&"${NOVA[1]}"
	# It ends when the last descriptor is closed.
	eval "exec ${NOVA[0]}<&- ${NOVA[1]}>&-"
	mount --bind "$IMAGES/idle.rom" "$BIOS"
	# Nova 31 fails where any card is not on PCI.
	rmmod mtty mdpy
	load_pgpu
	# A profile of AppArmor for each guest takes libvirt as long to make as all the rest of a start.
	cp /etc/libvirt/qemu.conf "$WORK/qemu.conf"
	echo 'security_default_confined = 0' >>/etc/libvirt/qemu.conf
	read -r OUT <&8
}
end_nova() {
	local pid=$NOVA_PID
	exec 9>&- 8<&-
	wait "$pid"
	systemctl stop vgpu-leased
	clear_nova
	umount "$BIOS"
	cp "$WORK/qemu.conf" /etc/libvirt/qemu.conf
	systemctl restart libvirtd
	rm -rf /var/lib/nova /etc/nova
	rmmod pgpu
	modprobe -a mtty mdpy
}
load_pgpu() { modprobe pgpu || insmod /lib/modules/*/extra/pgpu.ko; }
reload_driver() { rmmod pgpu && load_pgpu && udevadm settle; }

# nova COMMAND [ARG...]: as `run`, of what compute.py can do; see there.
nova() {
	local start=$EPOCHREALTIME
	LAST="nova $*"
	echo "$*" >&9
	read -r -t 300 OUT <&8 || OUT='error: no answer'
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
uuid_of_instance() { virsh -q domuuid "$(name_of "$1")"; }
# Nova's name of an instance for libvirt, which compute.py makes of the instance's own.
name_of() { printf 'instance-%08x' "$(($(printf '0x%s' "$(printf %s "$1" | od -An -tx1 | tr -d ' \n')")))"; }
mdevs() { local all=(/sys/bus/mdev/devices/*-*); if [ -e "${all[0]}" ]; then echo "${#all[@]}"; else echo 0; fi; }
definitions() { find /etc/mdevctl.d -type f 2>/dev/null | wc -l; }
# libvirt, and so Nova, lists what sysfs has: it follows the removals of others with a delay, on a busy machine of seconds.
libvirt_follows() { same "$(virsh nodedev-list --cap mdev | grep -c mdev_)" "$(mdevs)"; }
# has_vgpu NAME: QEMU has the mdev open that the instance's XML names.
has_vgpu() {
	local device
	device=$(device_in "$(name_of "$1")")
	[ -n "$device" ] && uses_open "$(name_of "$1")" "$device" >/dev/null
}
vgpu_of() { if has_vgpu "$1"; then echo "with its vGPU"; else echo "without a vGPU"; fi; }

# configure_nova TYPE1 [TYPE2] [LINE]: the types of the cards, and a line for the first one's section. The file has what
# Nova's parser takes and others refuse: a section twice, a key twice.
configure_nova() {
	cat >"$NOVA_CONF" <<-END
		[DEFAULT]
		state_path = /var/lib/nova
		log_file = /var/lib/nova/nova.log
		debug = true
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

# No instance, mdev, definition or lease.
# shellcheck disable=SC2046 # a name is a word
clear_nova() {
	local id
	of_each destroy $(virsh list --name)
	of_each 'undefine --managed-save' $(virsh list --all --name)
	within 15 closed
	for id in $(devices); do echo 1 >"/sys/bus/mdev/devices/$id/remove"; done
	rm -rf /etc/mdevctl.d/0000* /var/lib/nova/instances/*-* /run/vgpu-lease/leases
} >/dev/null 2>&1
# begin_nova [TYPE...]: after that, a life of nova-compute with this configuration.
begin_nova() {
	clear_nova
	configure_nova "$@"
	nova start
}
