#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a refusal for no capacity says: to be read by whoever typed `virsh start`.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
configure nvidia-222 'nvidia-231@0000:85:00.0, 0000:86:00.0, mtty' 'max_instances = 1' nvidia-319@0000:87:00.0 \
	'mdev_class = CUSTOM_BIG' policy 'reclaim = never'
refused() { # SENTENCE TYPE WHAT WHY FIX
	typed "$2" >"$work/typed.xml"
	is "$(prepare "$work/typed.xml" 2>&1)" \
		"$(message M_REFUSED vm "$u1" "$(message M_NO_CAPACITY_DO "$3" "$4" "$5")")" "$1"
}
missing="0000:86:00.0: $(message M_NO_PCI_DEVICE); mtty: $(message M_NO_PARENT)"

make_device 0000:85:00.0 nvidia-231 "${u1%??}aa"
refused "it names the type that another card serves by default, and the cards that the configuration has and the host has not" \
	nvidia-231 nvidia-231 "0000:85:00.0: $(message M_CAP_REACHED 1); $missing; 0000:84:00.0: $(message M_SERVES nvidia-222)" \
	"$(message M_FIX_MAX_INSTANCES "on 0000:85:00.0")"
for n in $(seq 16 31); do make_device 0000:84:00.0 nvidia-222 "${u1%??}$n"; done
refused "where a class is asked for, it names all its types, and each card once" \
	VGPU "VGPU (nvidia-222, nvidia-231)" "$(message M_FULL 0000:84:00.0 16 16); 0000:85:00.0: $(message M_CAP_REACHED 1); $missing" \
	"$(message M_FIX_UNLEASED "on 0000:84:00.0")"
refused "cards that are named for other types are no matter" CUSTOM_BIG nvidia-319 \
	"0000:87:00.0: $(message M_NO_PCI_DEVICE); 0000:84:00.0: $(message M_SERVES nvidia-222); 0000:85:00.0: $(message M_SERVES nvidia-231)" \
	"$(message M_FIX_CHECK)"
typed nvidia-231 >"$work/typed.xml"
holds "the plan of the command says the same" grep -qF "$missing" <(lease plan "$work/typed.xml" 2>&1)
tap_done
