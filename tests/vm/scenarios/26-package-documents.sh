# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the documents: each command of doc/ is run as a reader would, on a machine without vgpu-lease
packages=/srv/vm/packages
desk=$WORK/desk # where the reader types

# follow DOCUMENT: runs each of its `sh` blocks, and writes each `ini` block into the file named last before it. The card
# of the documents and its types are those of this machine; Nova has another name of it. OpenStack's client is openstack.sh.
follow() {
	local line block='' kind='' file=''
	while IFS= read -r line; do
		# A step of a list has its blocks indented.
		[[ ! $line =~ ^\ +('```'.*) ]] || line=${BASH_REMATCH[1]}
		case $kind$line in
		'```'*) kind=${line#'```'} block='' ;;
		sh'```') holds_block "$1" "$block" && kind='' ;;
		ini'```') mkdir -p "${file%/*}" && printf '%s' "${block//addresses = mtty/addresses = mtty_mtty}" >"$file" && kind='' ;;
		*'```') kind='' ;;
		'') ;;
		*)
			[ -z "$kind" ] || block+=$line$'\n'
			[[ -n $kind || $line != *'`/etc/'* ]] || file=/etc/${line#*'`/etc/'} file=${file%%'`'*}
			;;
		esac
	done < <(here "/srv/vm/doc/$1")
}
here() {
	sed "s/nvidia-22[23]/mtty-2/g; s/NVIDIA_222/MTTY_2/g; s/0000:84:00\.0/mtty/g; s/pci_0000_84_00_0/mtty_mtty/g
		s/\<HOST\(\>\|_\)/$node\1/g; s/\<FLAVOR\>/vgpu.small/g" "$1"
}
holds_block() {
	blocks=$((blocks + 1))
	succeeds "$1: ${2//$'\n'/; }" bash -euc "cd $desk; $2"
}
# follow_sentences DOCUMENT: runs what its sentences name of our commands, but for a command that is only its name.
# shellcheck disable=SC2016 # the marks are those of the document
follow_sentences() {
	local command
	while read -r command; do
		[ "$command" != 'vgpu-lease retype' ] || continue
		succeeds "$1: $command" bash -euc "$command"
	done < <(here "/srv/vm/doc/$1" | sed -n 's/`\(vgpu-lease [^`]*\)`/\n\1\n/gp' | grep '^vgpu-lease ' | sort -u)
}
# Placement has the host and its card, with as many as the kernel can create.
have_openstack() {
	export OPENSTACK=$WORK/openstack PATH=$WORK/bin:$PATH
	mkdir "$OPENSTACK" "$WORK/bin"
	ln -s /srv/vm/openstack.sh "$WORK/bin/openstack"
	printf '%s\n' "$U1 $node VCPU 4" "$U1 $node MEMORY_MB 4096" "$U2 ${node}_mtty_mtty VGPU $(available)" >"$OPENSTACK/providers"
	echo "$node enabled" >"$OPENSTACK/services"
	echo vgpu.small >"$OPENSTACK/flavors"
	run openstack resource provider list --in-tree "$U1" -f value -c uuid
	check "the stand-in for OpenStack's client refuses what the client would" shows 'at least --os-placement-api-version 1.14'
}
blocks=0 node=$(hostname)

set_aside
systemctl try-reload-or-restart libvirtd
rm -f "$CONF"
mkdir "$desk"
cp "$packages/vgpu-lease.deb" "$desk/vgpu-lease_1_amd64.deb"
define vm1
follow quickstart.md
check "the quick start leaves the machine as it was" nothing_left
check "and the guest with a vGPU in its definition" test -n "$(device_in vm1 --inactive)"
follow troubleshooting.md
mv "$packages/next.deb" "$desk/vgpu-lease_1_amd64.deb"
follow upgrade.md
check "no vGPU is left for Nova to count" only
have_openstack
follow openstack.md
check "the node is enabled again" same "$(<"$OPENSTACK/services")" "$node enabled"
check "of the traits only that of the earlier type is removed" \
	same "$(paste -sd ' ' "$OPENSTACK/traits")" "COMPUTE_MANAGED_PCI_DEVICE CUSTOM_VGPU_MDEV"
check "both flavors are set" same "$(paste -sd ' ' "$OPENSTACK/properties")" \
	"resources:VGPU=1 trait:CUSTOM_MTTY_2=required pci_passthrough:alias=nvidia-1145:1"
follow_sentences openstack.md
run vgpu-lease types
check "the pool is that of nova.conf" shows mtty-2
rm -r /etc/nova
dpkg --force-unsafe-io -P vgpu-lease >/dev/null 2>&1
check "each block was run" same "$blocks" "$(cat /srv/vm/doc/*.md | grep -cE '^ *```sh$')"
check "what was purged has left nothing" no test -e /run/vgpu-lease -o -e "$CONF" -o -e /etc/libvirt/hooks/qemu.d/vgpu-lease

put_back
systemctl daemon-reload
systemctl restart libvirtd
