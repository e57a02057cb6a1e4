#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `vgpu-lease export` writes is accepted by Nova's own code, and means there what it is to mean.
# What the tree of another Nova is given is there.
[ -z "${NOVA_TREE:-}" ] || export TMPDIR=/tmp
. "${srcdir:?}/tests/lib/cli.sh"

# shellcheck source=tests/model/nova/python.sh
. "$srcdir/tests/model/nova/python.sh"

if ! release=$(nova_python exports.py release 2>/dev/null); then
	skip_all "python3-nova is needed"
fi
echo "# Nova $release"
nova() { nova_python exports.py "$@"; }
nova_conf() {
	mkdir -p "$root/etc/nova"
	cat >"$root/etc/nova/nova.conf"
	conf <<<$'[devices]\nnova_conf = /etc/nova/nova.conf'
}
export_() { vl export "$@" --hostname cn1.example.org; }

host t4:2+a2+mtty
nova_conf <<'END'
[devices]
enabled_mdev_types = nvidia-222, nvidia-747
[mdev_nvidia-747]
device_addresses = 0000:08:00.4, 0000:08:00.5
END

### Traits
mkdir "$tmp/providers"
export_ nova-provider-config
is "$status|$err" "0|" "a provider configuration is written"
echo "$out" >"$tmp/providers/vgpu.yaml"
t4='CUSTOM_NVIDIA_222 CUSTOM_PGPU_10DE_1EB8 CUSTOM_VGPU_1024_MIB CUSTOM_VGPU_MDEV'
a2=$(sed -n "s/.*- '\(.*\)'/\1/p" <<<"$out" | head -4 | paste -sd ' ')
is "$(nova providers "$tmp/providers")" "cn1.example.org_pci_0000_08_00_4 $a2
cn1.example.org_pci_0000_08_00_5 $a2
cn1.example.org_pci_0000_84_00_0 $t4
cn1.example.org_pci_0000_85_00_0 $t4" "Nova takes it: each provider that it creates has its traits"
like "$a2" "CUSTOM_NVIDIA_747 *" "a VF those of its own type"
vl export nova-provider-config --hostname "cn'1:#\"{"
echo "$out" >"$tmp/providers/vgpu.yaml"
is "$(nova providers "$tmp/providers" | head -1)" "cn'1:#\"{_pci_0000_08_00_4 $a2" "whatever the host is called"
vl export nova-provider-config --hostname "cn'1:#\"{" --check "$tmp/providers/vgpu.yaml"
is "$status|$out|$err" "0||" "and takes it back"
sed -i 's/CUSTOM_NVIDIA_222/CUSTOM_NVIDIA_999/' "$tmp/providers/vgpu.yaml"
vl export nova-provider-config --hostname "cn'1:#\"{" --check "$tmp/providers/vgpu.yaml"
is "$status" 1 "one that is stale fails"
is "$(says_times M_EXPORT_STALE '*' CUSTOM_NVIDIA_999 <<<"$out") $(says_times M_EXPORT_MISSING '*' CUSTOM_NVIDIA_222 <<<"$out") $(wc -l <<<"$out")" \
	"2 2 4" "with each trait that is stale or missing"
printf 'meta:\n  x: y\n' >"$tmp/other.yaml"
export_ nova-provider-config --check "$tmp/other.yaml"
is "$status|$err" "1|$(message M_PROGRAM "$(message M_EXPORT_FOREIGN "$tmp/other.yaml" 2)")" "a file of another form is refused"

### Placement
create 0000:84:00.0 nvidia-222 1
export_ placement --no-headings -o PROVIDER,USED,AVAILABLE,TOTAL
is "$status|$(tr -s ' ' <<<"$out")" "0|cn1.example.org_pci_0000_08_00_4 0 1 1
cn1.example.org_pci_0000_08_00_5 0 1 1
cn1.example.org_pci_0000_84_00_0 1 15 16
cn1.example.org_pci_0000_85_00_0 0 16 16" "what Nova counts"
mkdir "$tmp/placement"
inventory() { # PROVIDER TOTAL: as the client prints it
	printf '[\n  {"resource_class": "VGPU", "allocation_ratio": 1.0, "min_unit": 1, "max_unit": %s, "reserved": 0, "step_size": 1, "total": %s, "used": 0}\n]\n' \
		"$2" "$2" >"$tmp/placement/cn1.example.org_$1.json"
}
for vf in pci_0000_08_00_4 pci_0000_08_00_5; do inventory $vf 1; done
for card in pci_0000_84_00_0 pci_0000_85_00_0; do inventory $card 16; done
export_ placement --check "$tmp/placement"
is "$status|$err" "0|" "Placement has the same"
holds "in a column of its own" grep -Eq 'PROVIDER +TYPE +CLASS +USED +AVAILABLE +TOTAL +PLACEMENT +NOTE' <<<"$out"
inventory pci_0000_84_00_0 14
rm "$tmp/placement/cn1.example.org_pci_0000_85_00_0.json"
export_ placement --check "$tmp/placement"
is "$status" 1 "or it has not"
holds "too few" says M_EXPORT_FEW 2 <<<"$out"
holds "or no such provider" says M_EXPORT_FEW 16 <<<"$out"
export_ placement --check "$tmp/placement" --json
is "$(jq -c '.providers[] | select(.parent == "0000:84:00.0") | [.existing, .available, .total, .placement]' <<<"$out")" "[1,15,16,14]" \
	"the same as JSON"
inventory pci_0000_84_00_0 16
inventory pci_0000_85_00_0 16
inventory pci_0000_99_00_0 4
echo '[]' >"$tmp/placement/cn1.example.org_pci_0000_98_00_0.json"
inventory pci_0000_97_00_x 4
inventory mdpy_mdpy 2
inventory mdpy_mdpx 2
cp "$tmp/placement/cn1.example.org_pci_0000_99_00_0.json" "$tmp/placement/cn2_pci_0000_99_00_0.json"
export_ placement --check "$tmp/placement" --no-headings -o PROVIDER,TYPE,CLASS,TOTAL,PLACEMENT,NOTE
is "$status" 1 "a provider of a card that is gone is a difference"
is "$(tr -s ' ' <<<"$out" | tail -n +5)" "cn1.example.org_pci_0000_99_00_0 - VGPU 0 4 $(message M_EXPORT_GONE)
cn1.example.org_mdpy_mdpy - VGPU 0 2 $(message M_EXPORT_GONE)" "it alone, of this host, with vGPUs, and a virtual parent"
export_ placement --check "$tmp/placement" --json
is "$(jq -c '.providers[4] | [.parent, .type, .class, .total, .placement, .traits, .note]' <<<"$out")" \
	"[\"0000:99:00.0\",null,\"VGPU\",0,4,[],\"$(message M_EXPORT_GONE)\"]" "the same as JSON"
printf '{"resource_class"' >"$tmp/placement/cn1.example.org_pci_0000_98_00_0.json"
export_ placement --check "$tmp/placement"
is "$status" 1 "a file of it that is something else is an error"
like "$err" "*$(message M_EXPORT_NO_INVENTORIES "*pci_0000_98_00_0.json")" "and named, too"
rm "$tmp/placement/"*_0000_9[789]_* "$tmp/placement/"*_mdpy_*
export_ placement --check "$tmp/none"
is "$status|$out|$err" "1||$(message M_PROGRAM "$(message M_NO_SUCH_FILE "$tmp/none")")" "a directory that does not exist is an error"
vl export placement --hostname cn1 --check "$tmp/placement"
is "$status|$out|$err" "1||$(message M_PROGRAM "$(message M_EXPORT_NO_PROVIDER "$tmp/placement" cn1)")" "so is one of another host's providers"
printf '[%70000s]\n' '' >"$tmp/placement/cn1.example.org_pci_0000_84_00_0.json"
export_ placement --check "$tmp/placement"
is "$status|$out" "1|" "a file too large for inventories is not read"
echo '{"a": 1}' >"$tmp/placement/cn1.example.org_pci_0000_84_00_0.json"
export_ placement --check "$tmp/placement"
is "$status" 1 "a file that is something else is an error"
like "$err" "*$(message M_EXPORT_NO_INVENTORIES "*pci_0000_84_00_0.json")" "and named"
nova_conf <<'END'
[devices]
enabled_mdev_types = nvidia-222
[mdev_nvidia-222]
max_instances = 10
END
export_ placement
is "$(says_times M_EXPORT_LIMITED 10 <<<"$out")" 2 "max_instances below the capacity leaves no provider"
export_ nova-provider-config
like "$out" "*providers: []" "and none has a trait"

### Usage
export_ everything
is "$status" 2 "an unknown format is a usage error"
export_ nova-pci --check x
is "$status" 2 "so is an option of another format"
vl export placement --hostname 'a b'
is "$status" 2 "and a name that no host has"
conf <<<$'[devices]\nenabled_mdev_types = nvidia-222'
export_ placement
is "$status|$err" "1|$(message M_PROGRAM "$(message M_EXPORT_NO_NOVA)")" "without Nova's configuration nobody knows what it counts"
end_host

### VFs
rm -rf "$root"
host l40s+flex
conf <<'END'
[devices]
enabled_mdev_types = nvidia-1155
[vf_flex]
device_match = 8086:56c0
mdev_class = CUSTOM_FLEX
END
export_ nova-pci
is "$status|$err" "0|" "the section [pci] is written"
echo "$out" >"$tmp/nova.conf"
nova pci "$tmp/nova.conf" >"$tmp/pci" 2>&1
nothing "Nova takes it" "$(grep -E '^(refused|Traceback)|False|Error' "$tmp/pci")"
vl types --json
capacity=$(jq '.types[] | select(.id == "nvidia-1155") | .capacity' <<<"$out")
is "$(grep -c '^device .*live_migratable.*managed' "$tmp/pci")" "$capacity" "with as many VFs as the card can hold"
is "$(grep -c '^device 0000:4d.*resource_class=CUSTOM_FLEX' "$tmp/pci")" 31 "and all plain ones"
holds "each type has an alias" grep -q '^alias nvidia-1155 .*product_id=.*vendor_id=10de' "$tmp/pci"
holds "plain VFs theirs" grep -q '^alias flex .*vendor_id=8086' "$tmp/pci"
tap_done
