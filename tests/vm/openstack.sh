#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# openstack.sh COMMAND...   stands in for OpenStack's client, as far as doc/openstack.md calls it
#
# Placement and Nova are a directory, OPENSTACK: `providers` has a line "UUID NAME CLASS TOTAL" for each inventory, `flavors` a
# name, `services` a host and its state. What nova-compute adds to a provider of vGPUs are the traits of its provider
# configuration. A call that is not known here, or that the real client would refuse, fails.
set -euo pipefail
: "${OPENSTACK:=/run/openstack}"
die() {
	echo "openstack: $*" >&2
	exit 2
}
# The real client speaks version 1.0 unless it is told, and knows no option of a later one.
needs_version() {
	local version=${OS_PLACEMENT_API_VERSION:-1.0}
	[[ ${version%%.*} == 1 && ${version#*.} -ge $1 ]] || die "requires at least --os-placement-api-version 1.$1"
}
provider() { grep "^$1 " "$OPENSTACK/providers" || die "no resource provider $1"; }
traits() {
	provider "$1" | grep -q ' VGPU ' || die "no vGPUs at $1"
	cat "$OPENSTACK/traits" 2>/dev/null || {
		echo COMPUTE_MANAGED_PCI_DEVICE
		sed -n "s/^ *- '\([A-Z0-9_]*\)'$/\1/p" /etc/nova/provider_config/*.yaml
	}
}
# columns: of lines with a UUID and a name those that were asked for, each provider once; in the client's own order.
columns() {
	[[ $format == value && -n $wanted ]] || die "unexpected format '$format' of $wanted"
	sort -u | while read -r uuid name _; do
		case $wanted in
		' uuid') echo "$uuid" ;;
		' uuid name') echo "$uuid $name" ;;
		*) die "unexpected columns$wanted" ;;
		esac
	done
}
property() {
	case $1 in
	resources:*=1) grep -q " ${1:10:-2} " "$OPENSTACK/providers" ;;
	trait:*=required) traits "$(sed -n 's/ .* VGPU .*//p' "$OPENSTACK/providers")" | grep -qx "${1:6:-9}" ;;
	pci_passthrough:alias=*) [[ $1 =~ =[a-zA-Z0-9._-]+:[1-9][0-9]*$ ]] ;;
	*) false ;;
	esac || die "no instance would fit $1"
	echo "$1" >>"$OPENSTACK/properties"
}

words=() format='' wanted='' name='' tree='' state='' traits=() properties=()
while [ $# != 0 ]; do
	case $1 in
	-f) format=$2 && shift ;;
	-c) wanted+=" $2" && shift ;;
	--name) name=$2 && shift ;;
	--in-tree) needs_version 14 && tree=$2 && shift ;;
	--trait=*) traits+=("${1#*=}") ;;
	--property) properties+=("$2") && shift ;;
	--disable | --enable) state=${1#--}d ;;
	-*) die "unrecognized arguments: $1" ;;
	*) words+=("$1") ;;
	esac
	shift
done
last=${words[-1]}
case "${words[*]}" in
'resource provider list') if [ -n "$tree" ]; then
	provider "$tree" >/dev/null
	cat "$OPENSTACK/providers"
else
	grep " $name " "$OPENSTACK/providers"
fi | columns ;;
'resource provider inventory list '*)
	[[ $format == value && $wanted == ' resource_class total' ]] || die "unexpected format '$format' of$wanted"
	provider "$last" | cut -d ' ' -f 3,4
	;;
'resource provider trait list '*) needs_version 6 && [ "$format" = value ] && traits "$last" ;;
'resource provider trait set '*)
	needs_version 6 && provider "$last" >/dev/null
	printf '%s\n' "${traits[@]}" >"$OPENSTACK/traits"
	;;
'flavor set '*)
	grep -qx "$last" "$OPENSTACK/flavors" || die "no flavor $last"
	for property in "${properties[@]}"; do property "$property"; done
	;;
'compute service set '*' nova-compute')
	[[ -n $state && ${words[3]} == "$(sed 's/ .*//' "$OPENSTACK/services")" ]] || die "no nova-compute on ${words[3]}"
	echo "${words[3]} $state" >"$OPENSTACK/services"
	;;
*) die "unknown command: ${words[*]}" ;;
esac
