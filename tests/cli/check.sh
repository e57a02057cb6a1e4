#!/bin/bash
# vgpu-lease check: one line for each finding, with its cure; it writes nothing.
. "${srcdir:?}/tests/cli/host.sh"

host t4:2+mtty
mkdir -p "$root/etc/libvirt/hooks/qemu.d"
cp "$hook" "$root/etc/libvirt/hooks/qemu"
conf_path=$root/etc/vgpu-lease.conf

# finds LEVEL WHERE TEXT SENTENCE: there is just this one finding; TEXT is a pattern.
finds() {
	local want=$1
	[ "$1" = error ] && want="error: $2$3" || want="warning: $2$3"$'\n'"all is well: *"
	vl check
	like "$out" "$want" "$4"
	is "$status|$err" "$([ "$1" = error ] && echo 1 || echo 0)|" "$4: its exit status"
}

conf <<EOF
[devices]
enabled_mdev_types = nvidia-222, mtty-1
[mdev_mtty-1]
device_addresses = mtty
EOF
before=$(cd "$root" && find run var etc | sort)
vl check
is "$status|$out|$err" "0|all is well: 3 of 3 pGPUs in the pool|" "all is well"
vl check --json
is "$status|$out" $'0|{\n  "version": 1,\n  "ok": true,\n  "findings": []\n}' "as JSON"
is "$(cd "$root" && find run var etc | sort)" "$before" "and nothing was written"

# The file is wrong.
conf <<<'[nonsense]'
finds error "" "$conf_path:1: *" "a broken file"
rm "$conf_path"
finds error "" "$conf_path: No such file or directory: without it nothing is leased" "a missing file"
conf <<<'[devices]'
finds warning "$conf_path: " "no type is enabled, so there is no pool: set enabled_mdev_types in [[]devices]" "no type"
vl --config "$conf_path.none" check
like "$status|$out" "1|error: $conf_path.none: No such file or directory*" "--config is honoured"

# The host is otherwise than the file.
conf <<EOF
[devices]
enabled_mdev_types = nvidia-222
[mdev_nvidia-222]
device_addresses = 0000:84:00.0, 0000:99:00.0
EOF
finds error "$conf_path:3: " "0000:99:00.0 is not there for nvidia-222: there is no PCI device of this address" "a card that is not there"
vl check --json
is "$status|$out" "1|{
  \"version\": 1,
  \"ok\": false,
  \"findings\": [
    {
      \"level\": \"error\",
      \"where\": \"$conf_path:3\",
      \"text\": \"0000:99:00.0 is not there for nvidia-222: there is no PCI device of this address\"
    }
  ]
}" "as JSON"
conf <<EOF
[devices]
enabled_mdev_types = mtty-1
[mdev_mtty-1]
device_addresses = mtty, 0000:84:00.0
EOF
finds error "$conf_path:3: " "0000:84:00.0 does not serve mtty-1: has no type mtty-1" "a card without the type"
conf <<EOF
[devices]
enabled_mdev_types = nvidia-222, nvidia-223
[mdev_nvidia-222]
device_match = 10de:1eb8
[mdev_nvidia-223]
device_match = numa=1
EOF
finds error "0000:85:00.0: " "the configuration gives it to both nvidia-222 and nvidia-223: name one of them" "a card that two sections match"
conf <<EOF
[devices]
enabled_mdev_types = nvidia-999
EOF
finds error "" "*no pGPU of this host serves nvidia-999: *" "a type that no card has"
conf <<EOF
[devices]
enabled_mdev_types = nvidia-222, nvidia-558
[mdev_nvidia-222]
device_addresses = 0000:84:00.0
[mdev_nvidia-558]
device_match = 10de:2235
EOF
vl check
is "$status|$out" "0|all is well: 1 of 3 pGPUs in the pool" "a match for the cards of another host is no finding"
echo '0000:84:00.0 off' >"$root/.kernel/control/register"
finds error "$conf_path:3: " "0000:84:00.0 *no vGPU types registered yet: *" "a card that is not ready"
echo '0000:84:00.0 on' >"$root/.kernel/control/register"

# mdevctl's definitions.
mkdir -p "$root/etc/mdevctl.d/0000:84:00.0"
definition=$root/etc/mdevctl.d/0000:84:00.0/$(uuid 1)
echo '{"mdev_type": "nvidia-223", "start": "auto"}' >"$definition"
finds warning "$definition: " "mdevctl starts it at boot as nvidia-223, and the configuration has its pGPU serve nvidia-222: 'mdevctl undefine -u $(uuid 1)' if nobody needs it" \
	"a definition of another type"
echo '{"mdev_type": "nvidia-222", "start": "auto"}' >"$definition"
vl check
is "$status" 0 "one of the same type is none"
echo '{"mdev_type": "nvidia-223", "start": "manual"}' >"$definition"
vl check
is "$status|$out" "0|all is well: 1 of 3 pGPUs in the pool" "nor one that does not start by itself"
echo '{"mdev_type"' >"$definition"
finds error "" "mdevctl's definition $definition is not valid: *" "one that is no JSON"
rm "$definition"

# The hook's place.
chmod 644 "$root/etc/libvirt/hooks/qemu"
finds error "$root/etc/libvirt/hooks/qemu: " "not executable, so libvirt does not run it: chmod 755" "a hook that cannot be run"
chmod 755 "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
finds warning "$root/etc/libvirt/hooks/qemu: " "the hook is also at /etc/libvirt/hooks/qemu.d/vgpu-lease, and libvirt runs both: remove one" \
	"a hook that is there twice"
printf '#!/bin/sh\n# vgpu-lease\n' >"$root/etc/libvirt/hooks/qemu"
vl check
is "$status|$out" "0|all is well: 1 of 3 pGPUs in the pool" "beside another hook ours is in qemu.d"
rm "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
finds warning "$root/etc/libvirt/hooks/qemu: " "the hook is neither here nor at /etc/libvirt/hooks/qemu.d/vgpu-lease, *" "no hook of ours"
ln -sf "$tmp/elsewhere" "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$tmp/elsewhere"
finds warning "$root/etc/libvirt/hooks/qemu: " "leads to $tmp/elsewhere: *AppArmor*" "a link to where AppArmor does not let it"
rm "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$root/etc/libvirt/hooks/qemu"

# The state.
call prepare begin 2 nvidia-222
vl check
is "$status|$out" "0|all is well: 1 of 3 pGPUs in the pool" "a lease is no finding"
age 2
finds warning "" "1 vGPU or lease may be given back: 'vgpu-lease gc' does so" "one whose domain is gone"
echo rubbish >"$root/run/vgpu-lease/leases/$(uuid 2)"
finds warning "" "1 lease cannot be understood: 'vgpu-lease gc' sets it aside" "a broken lease"
vl gc
finds warning "$root/run/vgpu-lease/garbage: " "1 record that could not be understood: *" "what was set aside"
rm -r "$root/run/vgpu-lease/garbage"
chmod 755 "$root/run/vgpu-lease/leases"
finds error "$root/run/vgpu-lease/leases: " "is not root's alone, so the hook refuses it: *" "a folder that is open to others"
chmod 700 "$root/run/vgpu-lease/leases"
cp "$builddir/vgpu-lease" "$tmp/vgpu-lease"
chmod 755 "$tmp" "$tmp/vgpu-lease"
said=$(as_nobody "$tmp/vgpu-lease" --root "$root" check 2>&1)
is "$?|$said" "1|error: /run/vgpu-lease: Permission denied: only root can look at the leases: run this with sudo" \
	"who is not root is told so"
tap_done
