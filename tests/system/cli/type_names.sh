#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The name of a type, where the configuration needs its ID: the message gives the ID to write.
. "$(dirname "$0")/../../lib/cli.sh"

host t4:2+l40s/4
conf_path=$root/etc/vgpu-lease.conf
domain 1 "$(uuid 1)" nvidia-222 >"$tmp/vm.xml"

# said COMMAND...: what it prints on both.
said() {
	"$@" 2>&1
}
hook_says() {
	said "$hook" --root "$root" -- vm1 prepare begin - <"$tmp/vm.xml"
}

# tells NAME ID SENTENCE: the configuration is refused, and the ID named, wherever a user meets it.
tells() {
	holds "$3: check" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" check)"
	holds "$3: the hook" says M_CONF_WRITE_ID "$2" "$1" <<<"$(hook_says)"
	holds "$3: plan" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" plan "$tmp/vm.xml")"
	holds "$3: list" says M_CONF_WRITE_ID "$2" "$1" <<<"$(said vgpu_lease --root "$root" list)"
}

configure 'GRID T4-1B'
tells "GRID T4-1B" nvidia-222 "a name among the enabled types"
holds "in its line" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" <<<"$(said vgpu_lease --root "$root" check)"
is "$(said vgpu_lease --root "$root" check | grep -c "^FAIL  config   $conf_path:2: ")" 1 "and once"
configure 'NVIDIA L40S-2Q'
tells "NVIDIA L40S-2Q" nvidia-1148 "a name of a type that VFs take"
configure nvidia-222 'mdev_GRID T4-1B' 'max_instances = 1'
tells "GRID T4-1B" nvidia-222 "a name in the header of a section"
configure nvidia-222 mdev_T4-1B 'max_instances = 1'
tells T4-1B nvidia-222 "one without a blank"

# That could be an ID: the file is right, and the host is asked.
configure T4-1B
holds "a name that could be an ID" says M_CHECK_WRITE_ID nvidia-222 T4-1B <<<"$(said vgpu_lease --root "$root" check)"

# Nova takes anything; here it is a mistake of the file.
printf '[devices]\nenabled_mdev_types = GRID T4-1B\n' >"$root/etc/nova.conf"
configure devices 'nova_conf = /etc/nova.conf'
holds "a name in nova.conf" says M_CONF_BAD_TYPE_IN_LIST "GRID T4-1B" -- M_CONF_NOVA_INSTEAD devices -- M_CONF_WRITE_ID nvidia-222 "GRID T4-1B" \
	<<<"$(said vgpu_lease --root "$root" check)"

# What no driver calls a type is told as before.
configure 'GRID T4-1X'
fails "nothing is made up" says M_CONF_WRITE_ID <<<"$(said vgpu_lease --root "$root" check)"

# And what was told is right.
configure nvidia-222
hook_says >/dev/null
holds "the right ID starts it" exists 1
tap_done
