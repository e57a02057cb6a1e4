# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The XML of a domain with one vGPU, whose metadata may ask for a type. Sourced by host.sh.

# uuid N: that of the vGPU number N; domain_uuid N: that of the domain vmN.
uuid() { printf '%08x-0000-4000-8000-000000000001' "$1"; }
domain_uuid() { printf '%08x-0000-4000-8000-00000000000d' "$1"; }

mdev_hostdev() { # UUID
	printf "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='%s'/></source></hostdev>" "$1"
}
# mdev_xml NAME UUID ID [TYPE]: on lines of their own, as sed is used on it, are its name, metadata and hostdev.
mdev_xml() {
	local type=${4:+" type='$4'"}
	cat <<-END
		<domain type='qemu'>
		<name>$1</name>
		<uuid>$2</uuid>
		<metadata>
		<vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device uuid='$3'$type/></vgpu:lease>
		</metadata>
		<devices>
		<hostdev mode='subsystem' type='mdev' model='vfio-pci'>
		<source><address uuid='$3'/></source></hostdev>
		</devices></domain>
	END
}
# suspended_record HOSTDEV: what a suspend writes down of it in the metadata.
suspended_record() {
	echo "<k:suspended xmlns:k='urn:vgpu-lease:suspended:1' hostdevs='$(sed "s/</\&lt;/g; s/'/\&quot;/g" <<<"$1")'/>"
}
# test_node N [HOSTDEVS [METADATA]]: a host for libvirt's test driver, with the domain vmN.
test_node() {
	echo "<node><domain type='test'><name>vm$1</name><uuid>$(domain_uuid "$1")</uuid><memory>8192</memory><os><type>hvm</type></os>" \
		"<metadata>${3-}</metadata><devices>${2-}</devices></domain></node>"
}
# vf_hostdev ADDRESS [MANAGED [MORE]]
vf_hostdev() {
	local domain bus slot function
	IFS=:. read -r domain bus slot function <<<"$1"
	echo "<hostdev mode='subsystem' type='pci' managed='${2:-no}'><source>" \
		"<address domain='0x$domain' bus='0x$bus' slot='0x$slot' function='0x$function'/></source>${3-}</hostdev>"
}
# vf_xml NAME UUID ADDRESS [MANAGED [TYPE]]
vf_xml() {
	local lease=${5:+"<vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device address='$3' type='$5'/></vgpu:lease>"}
	echo "<domain type='kvm'><name>$1</name><uuid>$2</uuid>${lease:+<metadata>$lease</metadata>}<devices>"
	vf_hostdev "$3" "${4:-no}" "<address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/>"
	echo "</devices></domain>"
}
