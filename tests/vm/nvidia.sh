# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cards with VFs of NVIDIA's vendor-specific framework, in a test machine: driver/nvidia.c. Sourced by inside.sh.

TROUBLE=/sys/module/nvidia/parameters

# Gives both cards VFs, and all of them to the driver. NVIDIA's own has no sriov_configure: another driver of the card, here
# nvme, enables them, as sriov-manage lets pci-pf-stub do it.
load_nvidia() {
	local card vf
	modprobe nvidia || return
	for card in "$PF1" "$PF2"; do
		enable_vfs "$card"
		echo "$card" >"$PCI/$card/driver/unbind"
		for vf in "$PCI/$card" "$PCI/$card"/virtfn*; do
			echo nvidia >"$vf/driver_override"
			basename "$(readlink -f "$vf")" >/sys/bus/pci/drivers_probe
		done
	done
	no_trouble
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
steps() {
	local name sum=0
	for name; do
		case $name in
		list) sum=$((sum + 1)) ;;
		current) sum=$((sum + 2)) ;;
		create) sum=$((sum + 4)) ;;
		remove) sum=$((sum + 8)) ;;
		params) sum=$((sum + 16)) ;;
		open) sum=$((sum + 32)) ;;
		close) sum=$((sum + 64)) ;;
		esac
	done
	echo "$sum"
}
trouble() { echo "$2" >"$TROUBLE/$1"; }
# fail_at STEP ERRNO: as a name that the sentences use
fail_at() {
	local -A errnos=([EAGAIN]=11 [EIO]=5 [EINVAL]=22)
	trouble fail_errno "${errnos[$2]}" && trouble fail "$(steps "$1")"
}
hold_at() { trouble only "$PF1" && trouble hang "$(steps "$@")"; }
plugin_lag() { trouble plugin_ms "$1"; }
no_trouble() {
	trouble hang 0
	trouble fail 0
	plugin_lag 0
	trouble only "$PF1"
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

# configure_nvidia: types of two framebuffer sizes, each on both cards.
configure_nvidia() {
	cat >"$CONF" <<-END
		[devices]
		enabled_mdev_types = nvidia-1147, nvidia-1148

		[mdev_nvidia-1147]
		device_addresses = $PF1, $PF2
		vgpu_params = frame_rate_limiter=0

		[mdev_nvidia-1148]
		device_addresses = $PF1, $PF2

		[policy]
		lock_timeout = 5
		create_timeout = 5
		pgpu_types = several
	END
}
# define_vf NAME VF TYPE
define_vf() { MANAGED=no METADATA="<vgpu:device address='$2' type='nvidia-$3'/>" define "$1" "$2"; }
vf_is() { same "$(<"$PCI/$1/nvidia/current_vgpu_type")" "$2"; } # VF TYPE
# typed_by VF NAME TYPE: is there an active lease of this domain, and QEMU has the VF open?
typed_by() {
	lease "$1" ".state == \"active\" and .domain.name == \"$2\" and .domain.uuid == \"$(uuid_of "$2")\" and .type == \"nvidia-$3\" and
		.origin == \"created\" and .parent == \"$1\" and .framework == \"variant\" and .pgpu == \"${1%.*}.0\"" &&
		vf_is "$1" "$3" && uses "$2" "$1"
}
no_types() { no_lease && same "$(cat "$PCI"/*/nvidia/current_vgpu_type | sort -u)" 0; }
