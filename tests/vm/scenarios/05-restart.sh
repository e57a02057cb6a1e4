# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirtd restarts under a running guest
running() { is_state steady running && same "$(pid_of steady)" "$pid" && uses steady "$U1"; }
define steady "$U1"
run virsh start steady
pid=$(pid_of steady)
check "the domain has its device" uses steady "$U1"

run systemctl restart libvirtd
check "the guest runs on after a restart of libvirtd" within 15 running
check "its lease is as it was" held_by "$U1" steady

rm -f "/run/vgpu-lease/leases/$U1"
run systemctl restart libvirtd
check "the guest runs on when its lease was lost" within 15 running
check "its lease is restored" within 15 lease "$U1" '.state == "active" and .domain.name == "steady"'

echo 'this is no configuration' >"$CONF"
run systemctl restart libvirtd
check "the guest runs on under a broken configuration" within 15 running
check "its lease is still there" lease "$U1" '.state == "active"'
run vgpu-lease list
check "leases can be listed under a broken configuration" shows "$U1" steady
run virsh destroy steady
check "the lease is released under a broken configuration" within 15 no_lease
