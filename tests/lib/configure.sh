# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The configuration of a host, in words: of the simulated one in $root, or of a test machine. Sourced.

# configure [WORD...]: writes the configuration: standard input, or what the words say in their order.
#     TYPE[@CARDS]       enables the type; its section gives it these cards, by address or by a match
#     vf_NAME[@CARDS]    a section of plain VFs; devices, policy and quota are sections, too
#     KEY = VALUE        a line of the section before it
configure() { write_conf "${root:-}/etc/vgpu-lease.conf" "$@"; }
# nova_has WORD...: the same, of a nova.conf.
nova_has() { write_conf "${root:-}/etc/nova/nova.conf" "$@"; }
# of_nova WORD...: a nova.conf of these, and a configuration that names it.
of_nova() { nova_has "$@" && configure devices 'nova_conf = /etc/nova/nova.conf'; }
write_conf() {
	local types='' sections='' section='' word cards key
	mkdir -p "${1%/*}"
	[ $# -gt 1 ] || { cat >"$1" && return; }
	for word in "${@:2}"; do
		case $word in
		'') continue ;;
		*' = '*)
			sections+=${section:+[$section]$'\n'}$word$'\n' section=''
			continue
			;;
		devices | policy | quota | mdev_* | vf_*) section=${word%%@*} ;;
		*) section=mdev_${word%%@*} types+=${types:+, }${word%%@*} ;;
		esac
		[[ $word == *@* ]] || continue
		cards=${word#*@} key=device_addresses
		if [[ $cards == *=* ]] || [[ $cards == *:* && $cards != *:*.* ]]; then key=device_match; fi
		sections+="[$section]"$'\n'"$key = $cards"$'\n' section=''
	done
	printf '%s' "${types:+[devices]$'\n'enabled_mdev_types = $types$'\n'}$sections" >"$1"
}
