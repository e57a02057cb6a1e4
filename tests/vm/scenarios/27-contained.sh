# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirt in a container: its /etc is not the host's, where the command and the handler run
etc=/srv/vm-etc
dropin=/run/systemd/system/libvirtd.service.d
restart() { systemctl daemon-reload && systemctl restart libvirtd; }

# Domains, hooks and mdevctl definitions of its own; /run, /sys and /dev are the host's, as with Kolla.
mkdir -p "$etc" "$dropin"
cp -a /etc/libvirt /etc/mdevctl.d "$etc"
printf '[Service]\nBindPaths=%s/libvirt:/etc/libvirt %s/mdevctl.d:/etc/mdevctl.d\n' "$etc" "$etc" >"$dropin/vm-test.conf"
restart
define away "$U1"
check "the host does not see the domain's definition" no test -e /etc/libvirt/qemu/away.xml
make_device "$U1"
make_device "$U2"
mkdir -p "$etc/mdevctl.d/mtty"
echo '{"mdev_type": "mtty-2", "start": "auto"}' >"$etc/mdevctl.d/mtty/$U2"
printf '\n[policy]\nreclaim_grace = 0\n' >>"$CONF"
run vgpu-lease gc --dry-run
check "gc sees that a domain names the first device" tells M_NAMED_BY away
check "and that the second one is defined" tells M_MDEVCTL_STARTS '*'
systemctl start vgpu-leased
check "the handler is connected" within 30 connected
run vgpu-lease gc
check "neither goes" only "$U1" "$U2"
mv /etc/libvirt/hooks/qemu /run/vm-hook
run vgpu-lease check
check "the hook is looked for where libvirt looks for it" grep -E '^PASS +hook +/etc/libvirt/hooks/qemu' <<<"$OUT"
mv /run/vm-hook /etc/libvirt/hooks/qemu
run virsh start --paused away
check "a start adopts its device" held_by "$U1" away adopted
run virsh destroy away
virsh -q undefine away
systemctl stop vgpu-leased libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd
mv /etc/libvirt/qemu /run/vm-qemu
run vgpu-lease gc --dry-run
check "while libvirt does not run, and the host has no definitions, nothing is known to be unused" tells M_NAMED_UNKNOWN '*'
mv /run/vm-qemu /etc/libvirt/qemu
rm -r "$dropin" "$etc"
systemctl daemon-reload
systemctl start libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket
restart
check "outside of a container the definitions are the host's" within 30 virsh -q list
run vgpu-lease gc --unused
check "with no definition left, both devices go" within 20 nothing_left
