# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the documents: each command of doc/ is run as a reader would, on a machine without vgpu-lease
packages=/srv/vm/packages
desk=$WORK/desk # where the reader types

# follow DOCUMENT: runs each of its `sh` blocks, and writes each `ini` block into the file named last before it. The card
# of the documents and its types are those of this machine; Nova has another name of it.
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
	done < <(sed 's/nvidia-22[23]/mtty-2/g; s/0000:84:00\.0/mtty/g' "/srv/vm/doc/$1")
}
holds_block() {
	blocks=$((blocks + 1))
	run bash -euc "cd $desk; $2"
	check "$1: ${2//$'\n'/; }" succeeded
}
blocks=0

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
follow openstack.md
check "the pool is that of nova.conf" shows mtty-2
rm -r /etc/nova
dpkg --force-unsafe-io -P vgpu-lease >/dev/null 2>&1
check "each block was run" same "$blocks" "$(cat /srv/vm/doc/*.md | grep -cE '^ *```sh$')"
check "what was purged has left nothing" no test -e /run/vgpu-lease -o -e "$CONF" -o -e /etc/libvirt/hooks/qemu.d/vgpu-lease

put_back
systemctl daemon-reload
systemctl restart libvirtd
