# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cards with VFs of NVIDIA's vendor-specific framework, in a test machine: driver/nvidia.c. Sourced by inside.sh.

TROUBLE=/sys/module/nvidia/parameters

# Gives both cards VFs, and all of them to the driver. NVIDIA's own has no sriov_configure: another driver of the card, here
# nvme, enables them, as sriov-manage lets pci-pf-stub do it.
load_nvidia() {
	modprobe nvidia || return
	give_to_nvidia "$PF1"
	give_to_nvidia "$PF2"
	no_trouble
}
# load_nvidia_mdev [PARAMETER...]: the first card without VFs, a T4, and the other one with: NVIDIA's mdevs (driver/mdev.c).
load_nvidia_mdev() {
	modprobe nvidia_mdev "$@" || return
	bind_nvidia "$PF1"
	give_to_nvidia "$PF2"
	no_trouble
}
give_to_nvidia() {
	enable_vfs "$1"
	bind_nvidia "$1"
}
bind_nvidia() {
	local function
	echo "$1" >"$PCI/$1/driver/unbind"
	for function in "$PCI/$1" "$PCI/$1"/virtfn*; do
		[ -e "$function" ] || continue
		echo nvidia >"$function/driver_override"
		basename "$(readlink -f "$function")" >/sys/bus/pci/drivers_probe
	done
}

# The VFs go with the driver, and the cards are nvme's as before.
unload_nvidia() {
	local card
	no_trouble
	rmmod nvidia
	for card in "$PF1" "$PF2"; do
		echo >"$PCI/$card/driver_override"
		echo "$card" >/sys/bus/pci/drivers_probe
	done
}

### Trouble on the first card

# steps NAME...: the sum of their numbers
steps() { bits 'list current create remove params open close' "$@"; }
trouble() { echo "$2" >"$TROUBLE/$1"; }
# fail_at STEP ERRNO: as a name that the sentences use
fail_at() {
	local -A errnos=([EAGAIN]=11 [EIO]=5 [EINVAL]=22)
	trouble fail_errno "${errnos[$2]}" && trouble fail "$(steps "$1")"
}
hold_at() { trouble only "$PF1" && trouble hang "$(steps "$@")"; }
slow_at() { trouble slow_ms "$1" && trouble slow "$(steps "${@:2}")"; } # MILLISECONDS STEP...
plugin_lag() { trouble plugin_ms "$1"; }
no_trouble() {
	trouble hang 0
	trouble fail 0
	trouble slow 0
	plugin_lag 0
	[ ! -e "$TROUBLE/removal_ms" ] || trouble removal_ms 0
	trouble only "$PF1"
}

# hangs_in FUNCTION: is a task in this function of the driver? A process that is exiting may have one thread left.
hangs_in() { grep -qs "$1" /proc/[0-9]*/task/*/stack; }

# What hangs does so until it is told otherwise; the hook promises, vgpu-lease-hook(8), TIMES: lock_timeout + create_timeout + 4
# for a start, and release_wait for an end. Three seconds more where the machine is busy.
start_in_time() { took_at_most $((5 + 5 + 4 + 3)) prepare; }
end_in_time() { took_at_most $((1 + 3)) release; }
# libvirt does not wait for a child of the hook that hangs.
promised() { test "$TOOK" -le $((5 + 5 + 4 + 16)); }
# refused_in_time WHAT DOMAIN: a start is.
refused_in_time() {
	errs "$1: a start is refused" timeout 60 virsh start --paused "$2"
	check "$1: the hook takes no longer than it promises" start_in_time
	check "$1: nor does libvirt" promised
	check "$1: nor the end of what did not start" end_in_time
}
# served_in_time WHAT DOMAIN HAS GONE: it starts and ends, whatever another card does; the function HAS is true of it, then GONE.
served_in_time() {
	run timeout 60 virsh start --paused "$2"
	check "$1: a domain on the other card starts" "$3"
	check "$1: in the hook's time" start_in_time
	run timeout 60 virsh destroy "$2"
	check "$1: and ends" within 60 "$4"
	check "$1: in the hook's time as well" end_in_time
}

# open_vf VF: opens it through VFIO as QEMU does, until close_vf; `opened` tells how it went.
open_vf() {
	coproc HOLDER { exec perl -e '
		$| = 1;
		my ($group, $vf) = @ARGV;
		open(my $c, "+<", "/dev/vfio/vfio") && open(my $g, "+<", "/dev/vfio/$group") or die "$!\n";
		ioctl($g, 0x3b68, pack("i", fileno $c)) && ioctl($c, 0x3b66, 1) or die "$!\n"; # container, IOMMU
		print defined ioctl($g, 0x3b6a, "$vf\0") ? "ok" : "$!", "\n";                  # the device
		<STDIN>;
	' "$(basename "$(readlink "$PCI/$1/iommu_group")")" "$1" 2>&1; }
	holder=$HOLDER_PID
	read -r opened <&"${HOLDER[0]}"
	[ "$opened" = ok ] || close_vf
}
close_vf() {
	kill "$holder"
	wait "$holder" 2>/dev/null
}

### Domains with such VFs

# configure_nvidia [CARDS [LINE...]]: types of two framebuffer sizes, each on these cards (both); more lines of [policy].
configure_nvidia() {
	local cards=${1:-$PF1, $PF2}
	configure "nvidia-1147@$cards" 'vgpu_params = frame_rate_limiter=0' "nvidia-1148@$cards" \
		policy 'lock_timeout = 5' 'create_timeout = 5' 'pgpu_types = several' "${@:2}"
}
# define_vf NAME VF TYPE [VF...]: all of that type
define_vf() {
	local vf types=''
	for vf in "$2" "${@:4}"; do types+="<vgpu:device address='$vf' type='nvidia-$3'/>"; done
	MANAGED=no METADATA=$types define "$1" "$2" "${@:4}"
}
vf_is() { same "$(<"$PCI/$1/nvidia/current_vgpu_type")" "$2"; } # VF TYPE
# leased_as VF NAME TYPE [ORIGIN]: is there an active lease of this domain, and has the VF the type?
leased_as() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .domain.uuid == \"$(uuid_of "$2")\" and .type == \"nvidia-$3\" and
		.origin == \"${4:-created}\" and .parent == \"$1\" and .framework == \"variant\" and .pgpu == \"${1%.*}.0\"" &&
		vf_is "$1" "$3"
}
# typed_by VF NAME TYPE [ORIGIN]: and QEMU was started with it
typed_by() { leased_as "$@" && uses "$2" "$1"; }
# The VFs that have a type.
typed() { cd "$PCI" && grep -lvx 0 -- */nvidia/current_vgpu_type | cut -d / -f 1 | xargs; }
typed_are() { same "$(typed)" "$*"; }
# runs_with NAME TYPE VF...: it does, and nothing else is leased or has a type.
runs_with() {
	local name=$1 type=$2 vf
	for vf in "${@:3}"; do typed_by "$vf" "$name" "$type" || return; done
	is_state "$name" running && typed_are "${@:3}" && same "$(leases | jq '.leases | length')" $(($# - 2))
}
# names NAME VF: its XML names this VF, in the hostdev and in the metadata.
names() {
	same "$(device_in "$1")" "$2" && virsh metadata "$1" urn:vgpu-lease:domain:1 | grep -q "address=[\"']$2[\"']"
}
# save_vf NAME COMMAND...: saves this guest by `virsh COMMAND`. Of a device that does not say where it writes QEMU takes all
# memory for written, again and again while the guest is stopped for the save: it never ends if its last part may not take long.
save_vf() { virsh -q migrate-setmaxdowntime "$1" 600000; run timeout 120 virsh "${@:2}"; }
# How often the state of the vGPU on this VF has arrived from another one, as the driver says.
moves() { journalctl -k -b -q -o cat --no-pager | sed -n "s/.* $1: the state of a vGPU has arrived, move //p" | tail -n 1; }
no_types() { no_lease && same "$(cat "$PCI"/*/nvidia/current_vgpu_type | sort -u)" 0; }

### Domains with mdevs of such cards

# configure_nvidia_mdev: types of two framebuffer sizes for each card, and one that fills the first.
configure_nvidia_mdev() {
	configure "nvidia-230@$PF1" 'vgpu_params = frame_rate_limiter=0' "nvidia-231@$PF1" "nvidia-234@$PF1" \
		"nvidia-557@$PF2" "nvidia-558@$PF2" policy 'lock_timeout = 5' 'create_timeout = 5' 'pgpu_types = several'
}
# of_type UUID TYPE COMMAND...: with this type for the vGPU in the metadata of a domain
of_type() { METADATA="<vgpu:device uuid='$1' type='nvidia-$2'/>" "${@:3}"; }
types_of() { echo "/sys/class/mdev_bus/$1/mdev_supported_types"; }
# mdev_of UUID NAME TYPE PARENT PGPU: is there an active lease of this domain, and QEMU was started with the vGPU?
mdev_of() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .type == \"nvidia-$3\" and .origin == \"created\" and
		.parent == \"$4\" and .framework == \"mdev\" and .pgpu == \"$5\"" && same "$(type_of "$1")" "nvidia-$3" && uses "$2" "$1"
}
none_left() { same "$(devices)" '' && no_lease; }
