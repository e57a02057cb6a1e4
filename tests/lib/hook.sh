# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests of the hook on a simulated host: sourced. host MODEL [WORD...] starts one, configured so; it ends with the script.
. "${BASH_SOURCE[0]%/*}/host.sh"

templates=$srcdir/xml-templates
vm=$templates/domain-one-vgpu.xml
vm_uuid=8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01 u1=4b20d080-1b54-4048-85b3-a6a62d165c01
# numbered N: a UUID for vGPU number N, up to 255.
numbered() { printf '%s%02x' "${u1%??}" "$1"; }
host() { start_host "$@"; }

# configure_both [LINE...]: for a host with T4s, whose vGPUs are mdevs, and L40S, whose vGPUs are VFs; with these lines of [policy].
configure_both() { configure nvidia-222@10de:1eb8 nvidia-1147@10de:26b9 policy "$@"; }

# prepare [FILE|N], release [FILE|N [REASON]]: what libvirt does for the domain, that of a file, or number N (another).
xml_of() { if [[ $1 =~ ^[0-9]+$ ]]; then another "$1"; else cat "$1"; fi; }
prepare() { hook vm prepare begin - < <(xml_of "${1:-$vm}"); }
release() { hook vm release end "${2:-destroyed}" < <(xml_of "${1:-$vm}"); }
# migrate [FILE], restore [FILE], reconnect [FILE]: likewise.
migrate() { hook vm migrate begin - <"${1:-$vm}"; }
restore() { hook vm restore begin - <"${1:-$vm}"; }
reconnect() { hook vm reconnect begin - <"${1:-$vm}"; }
# in_use: the domain starts, and has its vGPU open.
in_use() { prepare "$vm" && open_device $u1; }
# leaves SENTENCE LEFT COMMAND...: after the command these are the mdevs and the number of leases.
leaves() { "${@:3}" >"$work/left" 2>&1; is "$(devices)$(leases)" "$2" "$1"; }
# then_is SENTENCE TEXT WHAT COMMAND...: after the command WHAT, a shell command, prints this.
then_is() { "${@:4}" >"$work/then" 2>&1; is "$(eval "$3")" "$2" "$1"; }
# origin_is SENTENCE ORIGIN COMMAND...: after the command the domain's lease says so of its vGPU.
origin_is() { then_is "$1" "$2" "lease_has origin" "${@:3}"; }
# refusals REASON: how many there were for it.
refusals() { lease metrics | sed -n "s/^vgpu_lease_refusals_total{reason=\"$1\"} //p"; }
lease() { vgpu_lease --root "$root" "$@"; }

# another N [FROM]: the domain once more, as number N, with a UUID and a vGPU of its own.
another() {
	local n
	printf -v n %02x "$1"
	sed "s/${vm_uuid%??}../${vm_uuid%??}$n/; s/${u1%??}../${u1%??}$n/; s/one-vgpu/vm$1/" "${2:-$vm}"
}

# The first VF of an L40S in the place of the domain's mdev.
with_vf() {
	sed "s/type='mdev'.*>/type='pci' managed='no'>/
		s/<address uuid=.*>/<address domain='0x0000' bus='0x26' slot='0x00' function='0x4'\/>/" "$vm"
}

# asking ATTRIBUTES [FILE]: the domain, whose metadata have a <vgpu:device> of these.
asking() {
	sed "s|</uuid>|&<metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device $1/></vgpu:lease></metadata>|" "${2:-$vm}"
}
typed() { asking "uuid='$u1' type='$1'"; }

logged() { tr '\000-\010' '\n' <"$work/logged" | sed 's/^MESSAGE=//'; }

devices() { (cd "$root/sys/bus/mdev/devices" && printf '%s ' *) | sed 's/[*] $//'; }
leases() { find "$root/run/vgpu-lease/leases" -type f 2>/dev/null | wc -l; }
no_lease() { [ "$(leases)" = 0 ]; }
# collected: after one more gc no lease is left. What a release did not finish is left to gc and the handler.
collected() { lease gc >"$work/gc.out" 2>&1; no_lease; }
# states: how many leases are in each state.
states() { lease list --json 2>/dev/null | jq -r '.leases[].state' | sort | uniq -c | xargs; }
# listed COLUMN,...: what the list says of the leases, in one line.
listed() { lease list --no-headings -o "$1" | xargs; }
# lease_has KEY [UUID]: what the record of a lease says.
lease_has() { sed -n "s/^$1=//p" "$root/run/vgpu-lease/leases/${2:-$u1}" 2>/dev/null; }
type_of() { basename "$(readlink "$root/sys/bus/mdev/devices/$1/mdev_type")"; }
parent_of() { basename "$(dirname "$(readlink "$root/sys/bus/mdev/devices/$1")")"; }
make_device() { echo "$3" >"$root/sys/class/mdev_bus/$1/mdev_supported_types/$2/create"; }
# make_orphan PARENT TYPE ID: an mdev or the type of a VF that was made for a guest which is gone.
make_orphan() {
	if [ "$1" = "$3" ]; then set_vf_type "$3" "${2#nvidia-}"; else make_device "$@"; fi
	for_guest "$3" "$2" "$1"
}

# refused_in_a_line SENTENCE KEY [ARG...] -- COMMAND...: ends with 1, nothing on stdout, exactly one line of at most 1,000 bytes on
# stderr, which holds the message; and neither device nor lease came of it.
refused_in_a_line() {
	local status=0 trouble=''
	tap_split "$@"
	"${tap_behind[@]}" >"$work/out" 2>"$work/err" || status=$?
	[ $status = 1 ] || trouble+="status $status; "
	[ ! -s "$work/out" ] || trouble+='something on stdout; '
	[ "$(wc -l <"$work/err")" = 1 ] || trouble+='not one line; '
	[ "$(wc -c <"$work/err")" -le 1000 ] || trouble+='over 1,000 bytes; '
	grep -q "^vgpu-lease: domain " "$work/err" || trouble+='no domain; '
	says "${tap_before[@]:1}" <"$work/err" >"$work/why" || trouble+="$(cat "$work/why"); "
	[ "$(leases)$(devices)" = 0 ] || trouble+='something is left; '
	nothing "$1" "${trouble:+$trouble$(cat "$work/err")}"
}
# passes SENTENCE COMMAND...: ends with 0 and says nothing.
passes() {
	local status=0
	"${@:2}" >"$work/out" 2>"$work/err" || status=$?
	is "$status$(cat "$work/out" "$work/err")" 0 "$1"
}
