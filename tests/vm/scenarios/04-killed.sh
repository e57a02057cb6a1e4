# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a QEMU that dies gives its device back
# A busy machine may not get through a release in a second, and no handler finishes it here.
configure_mtty policy 'release_wait = 10'
define victim "$U1"
run virsh start --paused victim
check "the domain has its device" uses victim "$U1"
run kill -KILL "$(pid_of victim)"
check "libvirt sees its end" within 15 is_state victim 'shut off'
check "device and lease are gone" within 15 nothing_left
