#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease init: what it writes is a configuration with which every ready pGPU of the host is in the pool.
# And what is said of those that are not ready yet.
. "$(dirname "$0")/../../lib/cli.sh"
file=$root/etc/vgpu-lease.conf
begin() { new_host "$1" && rm "$file"; }
# pool: the pGPUs, and what each serves now, in one line.
pool() { vgpu_lease --root "$root" inventory --no-headings -o PGPU,TYPE | tr -s ' \n' '= '; }

for model in $("$sim" --list-models | awk '{ print $1 }'); do
	begin "$model"
	vl init --write
	case $model in
	cx6 | mlx5) holds "$model is not a GPU" ended 1 M_INIT_NO_GPU ;;
	*)
		is "$status|$err" "0|" "$model: a configuration is written"
		vl check
		is "$(awk '$2 ~ /^(config|pgpu|type)$/ { print $1 }' <<<"$out" | sort -u)" PASS "with which all is well"
		vl_json "and all are in the pool" "0 true" '.pgpus[].in_pool' inventory
		;;
	esac
done

### What is chosen.
begin t4:2+flex+mtty+cx6
create mtty mtty-2 1
vl init
is "$status|$err|$(test -e "$file"; echo $?)" "0||1" "without --write nothing is written"
said=$out
vl init --write
is "$out" "$said"$'\n\n'"$(message M_INIT_WROTE "$file")" "with it, the same is printed, where it was written, and what to do next"
is "$(cat "$file")|$(stat -c %a "$file")" "$said|644" "and that was written, for everybody to read"
is "$(pool)" "0000:4d:00.0=gpu-56c0 0000:84:00.0=nvidia-231 0000:85:00.0=nvidia-231 mtty=mtty-2 " \
	"a type of 2 GiB; what a pGPU carries already; the VFs of a GPU"
holds "it names the type" grep -qxF '# GRID T4-2Q' <<<"$said"
is "$(grep -c '^\[mdev_\|^\[vf_' <<<"$said")|$(grep -c nvidia-222 <<<"$said")" "3|0" "a section for each kind of card, and no other type"
before=$(ls -l --time-style=full-iso "$file")
vl_says "a file that is there is left" 1 init --write -- M_INIT_EXISTS /etc/vgpu-lease.conf
is "$(ls -l --time-style=full-iso "$file")" "$before" "as it is"
rm "$file"
ln -s "$tmp/elsewhere" "$file"
vl_says "so is a link that leads nowhere" 1 init --write -- M_INIT_EXISTS /etc/vgpu-lease.conf
fails "and nothing is written behind it" test -e "$tmp/elsewhere"
rm "$file"
mkdir "$file.d"
printf '[devices]\nenabled_mdev_types = mtty-2\n' >"$file.d/10.conf"
cp "$srcdir/etc/vgpu-lease.conf" "$file"
vl_says "so is a configuration whose types another file enables" 1 init --write -- M_INIT_EXISTS "$file.d/10.conf"
is "$(cat "$file")" "$(cat "$srcdir/etc/vgpu-lease.conf")" "and the first file with it"
rm -r "$file.d"
for line in '[policy]' 'placement = spread' '[mdev_nvidia-222]' 'nova_conf = /etc/nova/nova.conf'; do
	{ cat "$srcdir/etc/vgpu-lease.conf"; echo "$line"; } >"$file"
	vl init --write
	case $line in
	'[policy]') is "$status|$(cat "$file")" "0|$said" "but not one whose lines are comments and names of sections" ;;
	*) holds "so is one with the line $line" ended 1 M_INIT_EXISTS /etc/vgpu-lease.conf ;;
	esac
done
cp "$srcdir/etc/vgpu-lease.conf" "$file"
vl init --write
is "$status|$err|$(cat "$file")|$(stat -c %a "$file")" "0||$said|644" "that of the package, in which all is commented out, is replaced"
is "$(ls -A "${file%/*}")" "vgpu-lease.conf" "and nothing is left beside it"
rm "$file"
vl init --write --config "$tmp/other.conf"
is "$status|$(cat "$tmp/other.conf")|$(test -e "$file"; echo $?)" "0|${said//" --root $root"/" --root $root --config $tmp/other.conf"}|1" \
	"another file can be named"
holds "and is said" says M_INIT_WROTE "$tmp/other.conf" <<<"$out"

### Cards in MIG mode: one has a GPU instance, and one has none yet, so its driver lists types and offers none of them.
begin a100@0000:17:00.0+a100@0000:65:00.0
for card in 17 65; do control mig "0000:$card:00.0 on"; done
control mig "0000:17:00.0 3g.20gb"
vl init --write
is "$(grep -A1 '^\[mdev_' "$file" | xargs)" "[mdev_nvidia-476] device_addresses = 0000:17:00.0" "the first gets the type that it offers"
is "$status" 0 "which is a pool"
holds "the second none" says M_INIT_NO_OFFER 0000:65:00.0 < <(grep '0000:65:00.0: left out: ' <<<"$err")
rm "$file"
for state in off on; do control mig "0000:17:00.0 $state"; done
vl_says "if no card offers any, init fails" 1 init --write -- M_INIT_NONE
is "$(grep -c "$(message M_INIT_NO_OFFER 0000:65:00.0)" <<<"$err")|$(test -e "$file"; echo $?)" "1|1" "and writes nothing"
vl_counts "inventory gives the same reason without a configuration" "0 2" "$(message M_INIT_NO_OFFER '0000:[16][57]:00.0')" inventory
end_host

### Cards that carry several types: in MIG mode, with a vGPU made and a type preset on each VF, and defined. No type is right for them.
begin a100d@0000:21:00.0+l40s/6+t4:2
for setting in on 1g.10gb 2g.20gb; do control mig "0000:21:00.0 $setting"; done
control mixed "0000:26:00.0 on"
create 0000:21:00.4 nvidia-700 1
create 0000:21:00.5 nvidia-699 2
set_vf_type 0000:26:00.5 1152
set_vf_type 0000:26:00.6 1148
mdevctl_has 0000:84:00.0 "$(uuid 3)" nvidia-231
mdevctl_has 0000:84:00.0 "$(uuid 4)" nvidia-226
vl_makes "only the card without any gets a type" "0 0000:21:00.0=- 0000:26:00.0=- 0000:84:00.0=- 0000:85:00.0=nvidia-231 " pool init --write
for card in 0000:21:00.0 0000:26:00.0 0000:84:00.0; do
	holds "$card is said to be left out, with the reason" says M_INIT_CARRIES_SEVERAL $card <<<"$err"
done
rm "$file"
rm "$root/etc/mdevctl.d/0000:84:00.0/$(uuid 4)"
vl_makes "with one of them a card gets that" "0 0000:21:00.0=- 0000:26:00.0=- 0000:84:00.0=nvidia-231 0000:85:00.0=nvidia-231 " pool init --write
rm "$file"
echo '{' >"$root/etc/mdevctl.d/0000:84:00.0/$(uuid 4)"
vl_says "a definition that cannot be read leaves the type open" 1 init --write -- M_DEFINITION_INVALID "$root/etc/mdevctl.d/0000:84:00.0/$(uuid 4)"
fails "so nothing is written" test -e "$file"
chmod go-rwx "$root/etc/mdevctl.d"
as_user vl_fails "nor for a user who may not read the definitions" 1 init -- M_DENIED "$root/etc/mdevctl.d"
end_host
rm -r "$root/etc/mdevctl.d"

### A compute node: the pool is that of the nova.conf, if it has one.
begin t4
mkdir -p "$root/etc/nova"
for says in 'my_ip = 192.0.2.1' 'enabled_mdev_types =\nmy_ip = 192.0.2.1' 'enabled_mdev_types = # none'; do
	printf '[DEFAULT]\n%b\n' "$says" >"$root/etc/nova/nova.conf"
	vl init
	is "$status $(grep -c nova_conf <<<"$out") $(grep -c '^\[mdev_nvidia-231\]' <<<"$out")" "0 0 1" "a nova.conf that enables no type is none: $says"
done
printf '[devices]\nenabled_mdev_types =\n    nvidia-222\n' >"$root/etc/nova/nova.conf"
vl_counts "one that names them in further lines is one" "0 1" nova_conf init
printf '[devices]\nenabled_mdev_types: nvidia-222\n' >"$root/etc/nova/nova.conf"
vl_counts "so is one with a colon" "0 1" nova_conf init
for closed in etc/nova/nova.conf etc/nova; do
	chmod go-rwx "$root/$closed"
	as_user vl_fails "a user who may not read it gets no other pool: $closed" 1 init -- M_INIT_NOVA_UNKNOWN "$root/etc/nova/nova.conf"
	chmod go+rX "$root/$closed"
done
ln -s "$root" "${root}[1]"
is "$("$builddir/vgpu-lease" --root "${root}[1]" init | grep -c '^nova_conf')" 1 "whatever the root is called"
rm "${root}[1]"
printf '[DEFAULT]\nmy_ip = 192.0.2.1\n' >"$root/etc/nova/nova.conf"
printf '[devices]\nenabled_vgpu_types = nvidia-222\n' >"$root/etc/nova/nova-compute.conf"
vl init --write
is "$(grep -v '^#' "$file" | xargs)" "[devices] nova_conf = /etc/nova/nova.conf, /etc/nova/nova-compute.conf" "files that enable one are named, in Nova's order"
is "$(pool)" "0000:84:00.0=nvidia-222 " "so the type is Nova's"
rm -r "$root/etc/nova"
for conf in /etc/kolla/nova-compute/nova.conf /var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf \
	/etc/nova/nova-cpu.conf /etc/nova/nova-compute.conf.d /var/lib/openstack/config/nova /var/snap/openstack-hypervisor/common/etc/nova/nova.conf.d; do
	mkdir -p "$root${conf%/*}"
	case $conf in
	*/nova | *.d) mkdir "$root$conf" && in_it=$conf/25-vgpu.conf ;;
	*) in_it=$conf ;;
	esac
	printf '[devices]\nenabled_mdev_types = GRID T4-1B\n' >"$root$in_it"
	rm "$file"
	vl init --write
	is "$(grep -v '^#' "$file" | xargs)" "[devices] nova_conf = $conf" "so is one of a deployment tool, also with a mistake"
	check_counts "which check then names" 1 '^FAIL +config '
	rm -r "${root:?}$conf"
done
end_host
### GVT-g: the type of which one fills the GPU, or does not even fit beside the host's own display, is listed first.
for model in gvt-g=i915-GVTg_V5_4 gvt-g-256=i915-GVTg_V5_8; do
	begin "${model%=*}"
	vl_counts "several guests can have the type on ${model%=*}" "0 1" "^enabled_mdev_types = ${model#*=}\$" init
	end_host
done

### A host whose only GPU has a driver without vGPUs.
root=$tmp/plain
mkdir -p "$root/etc"
pci_device 0000:01:00.0 10de 2684 030000 'a\b'
vl_says "each pGPU that is left out is said, with the reason as it is" 1 init --write -- M_BOUND_ELSEWHERE 'a\x5cb'
fails "and nothing is written" test -e "$root/etc/vgpu-lease.conf"

### A host whose GPUs have not come up, before it has a configuration: status, inventory and init say what each of them needs
root=$work/first
mkdir -p "$root"/{etc,run,var/lib,proc,dev}
devices=$root/sys/bus/pci/devices
# device ADDRESS VENDOR DEVICE CLASS DRIVER [TOTALVFS]: without VFs; "-" is no driver.
device() {
	pci_device "${@:1:5}"
	[ -z "${6:-}" ] || pci_vfs "$1" "$6"
}
device 0000:05:00.0 1a03 2000 030000 ast
device 0000:17:00.0 15b3 101d 020000 mlx5_core 8
device 0000:00:0b.0 8086 7d1d 120000 intel_vpu
device 0000:06:00.0 1002 164e 030000 amdgpu
device 0000:03:00.0 8086 56a0 030000 i915
device 0000:00:02.0 8086 4c8a 030000 i915
vl_is "the mainboard's VGA, a network card, an NPU, and GPUs without SR-IOV and GVT-g are no pGPUs" "0||" inventory --no-headings -o PGPU
vl_says "and init knows of no GPU" 1 init -- M_INIT_NO_GPU
check_says "so check does not send the operator there" '^FAIL +config ' M_CHECK_NO_GPU " --root $root"
under i915-GVTg_V5_4@0000:00:02.0 -- check_says "kvmgt is not advised for a GPU that has no GVT-g" 0000:00:02.0 M_NOT_GVTG
rm -r "$devices/0000:00:02.0" "$root/etc/vgpu-lease.conf"

device 0000:41:00.0 10de 26b9 030200 - 32
device 0000:42:00.0 10de 1eb8 030200 nouveau
device 0000:4d:00.0 8086 56c0 038000 xe 31
device 0000:65:00.0 1002 74a1 120000 -
device 0000:66:00.0 1002 6929 030000 gim 16
device 0000:00:02.0 8086 3e98 030000 i915
expected="0000:00:02.0 0000:41:00.0 0000:42:00.0 0000:4d:00.0 0000:65:00.0 0000:66:00.0"
# reasons SENTENCE: each device's, in what is on standard input, a line each.
reasons() {
	local said
	said=$(cat)
	holds "$1: no driver, of NVIDIA's" says M_NO_DRIVER < <(grep 0000:41:00.0 <<<"$said")
	holds "$1: another driver" says M_BOUND_ELSEWHERE nouveau < <(grep 0000:42:00.0 <<<"$said")
	holds "$1: no VFs, of Intel's" says M_VFS_NOT_ENABLED < <(grep 0000:4d:00.0 <<<"$said")
	holds "$1: no driver, of an accelerator" says M_NO_DRIVER < <(grep 0000:65:00.0 <<<"$said")
	holds "$1: no VFs, of AMD's" says M_VFS_NOT_ENABLED < <(grep 0000:66:00.0 <<<"$said")
	holds "$1: no GVT-g" says M_NO_GVTG < <(grep 0000:00:02.0 <<<"$said")
}
for configuration in none empty; do
	[ $configuration = none ] || : >"$root/etc/vgpu-lease.conf"
	vl_words "$configuration: each GPU that could have vGPUs is in the inventory" "$expected" inventory --no-headings -o PGPU
	vl inventory --no-headings -o PGPU,REASON
	reasons "$configuration, inventory" <<<"$out"
	vl check
	is "$(grep -oE '^PASS  pgpu     [^ ]+' <<<"$out" | cut -c16- | sed 's/:$//' | xargs)" "$expected" "$configuration: in check"
	reasons "$configuration, check" <<<"$out"
	vl status
	is "$(grep -oE '^[|`]- [^ ]+' <<<"$out" | cut -c4- | xargs)" "$expected" "$configuration: and in status"
done
vl_says "init has nothing to write" 1 init -- M_INIT_NONE
reasons "and says why" <<<"$err"
rm -f "$root/etc/vgpu-lease.conf"
check_says "check sends the operator to inventory first" '^FAIL +config ' M_CHECK_NONE_READY " --root $root" " --root $root"
fails "no VF, no display of the mainboard's" grep -q '0000:05\|0000:17\|0000:06' <<<"$err"

configure vf_s7150@1002:6929
vl_words "with a configuration, only the card that it means is listed" 0000:66:00.0 inventory --no-headings -o PGPU
echo 692f >"$devices/0000:66:00.0/sriov_vf_device"
under vf_s7150@1002:692f -- check_says "the ID of its VFs is recognized" '^FAIL' M_VFS_ID 1002:692f 1002:6929
rm -r "${root:?}"

### On the simulator: VFs that are there, and no pool yet
host flex/3
vl_works "plain VFs are enough for init" init
rm -f "$root/etc/vgpu-lease.conf"
check_says "so check advises it" '^FAIL +config ' M_CHECK_NO_CONFIG " --root $root"
mkdir -p "$root/etc/nova/nova.conf.d"
head -c 1100000 /dev/zero | tr '\0' a >"$root/etc/nova/nova.conf.d/big.conf"
vl_says "a file in a directory of Nova's is named itself" 1 init -- M_INIT_NOVA_LARGE "$root/etc/nova/nova.conf.d/big.conf"
rm -r "$root/etc/nova"
end_host

host mi210+flex/3+l40s/4
control vfs "0000:26:00.0 off"
vl inventory --no-headings -o PGPU,REASON
holds "plain VFs are named as such" says M_VFS_PLAIN < <(grep 0000:2d:00.0 <<<"$out")
holds "beside a card of NVIDIA's without VFs" says M_VFS_ENABLE 0000:26:00.0 < <(grep 0000:26:00.0 <<<"$out")

# device_match has the ID of VFs instead of their card: starts with them are refused, not passed without a lease.
configure vf_mi210@1002:7410
for type in "" mi210; do
	named=${type:+, named in the metadata}
	vf_xml vm "$(domain_uuid 1)" 0000:2d:02.0 yes $type >"$work/vf.xml"
	hook vm prepare begin - <"$work/vf.xml" 2>"$work/err"
	is "$?" 1 "a VF whose own ID is in device_match$named: its start is refused"
	holds "with the ID to write$named" says M_VFS_ID 1002:7410 1002:740f <"$work/err"
	vl_says "plan says the same$named" 1 plan "$work/vf.xml" -- M_VFS_ID 1002:7410 1002:740f
	fails "and nothing of a pGPU$named" says M_HOSTDEV_PGPU 0000:2d:02.0 <<<"$err"
done
sed -i s/7410/740f/ "$root/etc/vgpu-lease.conf"
holds "which helps" hook vm prepare begin - <"$work/vf.xml"
hook vm release end - <"$work/vf.xml"
rm "$root/etc/vgpu-lease.conf"
vl init
is "$status|$(grep -c '^\[vf_' <<<"$out")|$(grep -c '0000:26:00.0: left out' <<<"$err")" "0|2|1" "init gives both a pool, and names the one that is left out"

end_host
tap_done
