# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# the Debian package: installed, upgraded, removed, installed again and purged while guests run
packages=/srv/vm/packages
hook=/etc/libvirt/hooks/qemu.d/vgpu-lease
is_unit() { same "$(systemctl "is-$2" "$1")" "$3"; }
put_in() { run timeout 300 dpkg --force-unsafe-io -i "$packages/$1.deb"; }
main_pid() { systemctl show -P MainPID "$1"; }
configure_package() {
	configure_mtty policy 'start_grace = 5'
	systemctl reload vgpu-leased
}

# told PATTERN: is there such a line in the output of the last `run`?
told() { grep -E "$1" <<<"$OUT"; }
# not_called WHAT: libvirtd looks for hooks when it starts or reloads, and WHAT came after that.
not_called() {
	errs "$1: libvirtd, which started earlier, does not call the hook" virsh start --paused guest
	errs "$1: the check fails" vgpu-lease check
	check "$1: for that reason, and with the cure" told '^FAIL +libvirt .*systemctl reload libvirtd'
}
# called WHAT: as `vgpu-lease check` sees it before the first call, when only systemd can tell, and as it is.
called() {
	succeeds "$1: after that the check is well" vgpu-lease check
	check "$1: it knows of the reload from systemd" told '^PASS +libvirt .*libvirtd\.service'
	check "$1: libvirtd calls the hook" within 20 virsh -q start --paused guest
	check "$1: and the guest has a vGPU" held_by "$U1" guest
}
set_aside
systemctl restart libvirtd
define guest "$U1"
put_back
not_called "make install"
systemctl reload libvirtd
called "make install"
virsh -q destroy guest
check "make install: nothing is left of the guest" within 20 nothing_left

uninstall
systemctl reload libvirtd
libvirtd=$(main_pid libvirtd)
succeeds "the package is unpacked" timeout 300 dpkg --force-unsafe-io --unpack "$packages/vgpu-lease.deb"
not_called "the package, unpacked"
succeeds "the package is installed" timeout 300 dpkg --configure vgpu-lease
check "the handler is enabled" is_unit vgpu-leased enabled enabled
check "and runs" is_unit vgpu-leased active active
check "what waits for pGPUs is enabled" is_unit vgpu-lease-wait enabled enabled
check "for the next boot" is_unit vgpu-lease-wait active inactive
configure_package
called "the package"
check "the package: libvirtd went on" same "$libvirtd" "$(main_pid libvirtd)"
check "whose device the guest has" uses guest "$U1"

# One pGPU that is configured has no driver.
sed -i '/^enabled/s/$/, mdpy-vga/' "$CONF"
printf '\n[mdev_mdpy-vga]\ndevice_addresses = mdpy\n' >>"$CONF"
rmmod mdpy
before=$(main_pid vgpu-leased)
put_in next
check "it is upgraded while the guest runs" succeeded
check "what waits for a pGPU that is not ready was not started" is_unit vgpu-lease-wait active inactive
check "at any time" same "$(systemctl show -P ExecMainStartTimestamp vgpu-lease-wait)" ''
check "the handler is another" no same "$before" "$(main_pid vgpu-leased)"
check "and runs" is_unit vgpu-leased active active
check "the guest runs on" is_state guest paused
check "with its lease" held_by "$U1" guest
modprobe mdpy
configure_package

rm -rf /run/vgpu-lease/leases
check "leases that are lost under a running guest are recovered as what they were" within 15 held_by "$U1" guest
run virsh destroy guest
check "so that nothing is left when it ends" within 20 nothing_left
for id in $(devices); do echo 1 >"/sys/bus/mdev/devices/$id/remove"; done

virsh -q start --paused guest
succeeds "it is removed while the guest runs" timeout 300 dpkg --force-unsafe-io -r vgpu-lease
check "which runs on" is_state guest paused
check "the handler has ended" is_unit vgpu-leased active inactive
check "the hook is gone" no test -e "$hook" -o -L "$hook"
systemctl restart libvirtd
check "libvirtd is started again without a hook" within 60 is_state guest paused
virsh -q destroy guest
check "the guest's device stays, as nobody releases it" exists "$U1"
put_in next
check "the package is installed again" succeeded
define second "$U2"
run virsh start --paused second
check "libvirtd calls the hook again" held_by "$U2" second
check "what the first guest left behind goes" within 30 only "$U2"

succeeds "it is purged while a guest runs" timeout 300 dpkg --force-unsafe-io -P vgpu-lease
check "which runs on" is_state second paused
check "its configuration is gone" no test -e "$CONF"
check "and what is kept across boots" no test -e /var/lib/vgpu-lease
check "no unit is enabled" same "$(find /etc/systemd/system -name 'vgpu-*')" ''
put_in vgpu-lease
configure_package
check "installed after that, it knows the guest's vGPU" within 15 held_by "$U2" second
run virsh destroy second
check "so that nothing is left when it ends" within 20 nothing_left

# The type that a UUID had is not enabled any more.
virsh -q start --paused second
virsh -q destroy second
check "the last type of a UUID is kept" grep -q mtty-2 "/var/lib/vgpu-lease/affinity/$U2"
sed -i 's/mtty-2/mtty-1/' "$CONF"
systemctl reload vgpu-leased
run virsh start --paused second
check "a UUID whose last type is no longer enabled gets the type that is" lease "$U2" '.type == "mtty-1"'
succeeds "and all is well" vgpu-lease check
sed -i 's/mtty-1/mtty-2/' "$CONF"
run vgpu-lease check
check "a running guest whose type is no longer enabled is told of" shows mtty-1
mount --bind /run/vgpu-lease /run/vgpu-lease
mount -o remount,bind,ro /run/vgpu-lease
run vgpu-lease check
check "so is a directory that cannot be written to" told '^FAIL +state +/run/vgpu-lease: is mounted read-only'
check "with which nothing can start" failed
# The handler, which sees this mount, too, may be in it.
check "it can be written to again" within 20 umount /run/vgpu-lease
run virsh destroy second
check "nothing is left when it ends" within 20 no_lease

# cannot_start WHAT PATTERN: the check names it before a guest is started, and it is right.
cannot_start() {
	errs "$1: the check fails" vgpu-lease check
	check "$1: and names it" told "$2"
	errs "$1: no guest starts" virsh start --paused second
}
systemctl stop vgpu-leased
mount -t tmpfs -o size=8k full /run/vgpu-lease
cannot_start "a full directory" '^FAIL +state +/run/vgpu-lease: .* full'
umount /run/vgpu-lease
cp "$CONF" "$WORK/enabled.conf"
printf '[devices]\n' >"$CONF"
cannot_start "no type" '^FAIL +type +/etc/vgpu-lease\.conf: no type'
cp "$WORK/enabled.conf" "$CONF"
mkdir -p /etc/mdevctl.d/mtty
printf '{ "mdev_type": "mtty-1", "start": "manual", "attrs": [] }\n' >"/etc/mdevctl.d/mtty/$U2"
run virsh start --paused second
check "a definition with a type that is not enabled: it is named" shows "/etc/mdevctl.d/mtty/$U2"
check "and no guest starts" failed
rm -r /etc/mdevctl.d/mtty
rmmod mtty
cannot_start "no driver" '^FAIL .*mtty-2'
modprobe mtty
systemctl start vgpu-leased
run virsh start --paused second
check "after all that a guest starts" held_by "$U2" second
virsh -q destroy second
check "at last nothing is left" within 20 no_lease
run timeout 300 dpkg --force-unsafe-io -P vgpu-lease
check "purged without a guest, it leaves nothing" are_gone /run/vgpu-lease /var/lib/vgpu-lease /etc/libvirt/hooks/qemu.d

put_back
systemctl daemon-reload
systemctl restart libvirtd
