#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `vgpu-lease export` writes is accepted by Nova's own code, and means there what it is to mean.
# What the tree of another Nova is given is there.
[ -z "${NOVA_TREE:-}" ] || export TMPDIR=/tmp
. "$(dirname "$0")/../../lib/cli.sh"

. "$(dirname "$0")/python.sh"

if ! release=$(nova_python exports.py release 2>/dev/null); then
	skip_all "python3-nova is needed"
fi
echo "# Nova $release"
nova() { nova_python exports.py "$@"; }
export_() { vl export "$@" --hostname cn1.example.org; }

host t4:2+a2+mtty
of_nova nvidia-222 'nvidia-747@0000:08:00.4, 0000:08:00.5'

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
sed -i 's/CUSTOM_NVIDIA_222/CUSTOM_NVIDIA_999/' "$tmp/providers/vgpu.yaml"
export_ nova-provider-config
is "$(diff "$tmp/providers/vgpu.yaml" - <<<"$out" | sed -n "s/^\([<>]\) *- /\1 /p" | sort | uniq -c | xargs)" \
	"2 < CUSTOM_NVIDIA_999 2 > CUSTOM_NVIDIA_222" "one that is stale differs in the traits that are stale or missing"

### Placement
create 0000:84:00.0 nvidia-222 1
export_ placement --no-headings -o PROVIDER,USED,AVAILABLE,TOTAL
is "$status|$(tr -s ' ' <<<"$out")" "0|cn1.example.org_pci_0000_08_00_4 0 1 1
cn1.example.org_pci_0000_08_00_5 0 1 1
cn1.example.org_pci_0000_84_00_0 1 15 16
cn1.example.org_pci_0000_85_00_0 0 16 16" "what Nova counts"

# The command of doc/openstack.md that compares it with Placement.
compare() {
	awk '/^root=/ { on = 1 } /^```/ { on = 0 } on' "$srcdir/doc/openstack.md" >"$tmp/compare"
	local simulated=$root
	(
		# shellcheck disable=SC2317 # the command calls it
		openstack() {
			case $* in
			*'inventory list'*) cat "$tmp/inventory.${!#}" ;;
			*'--in-tree'*) cat "$tmp/tree" ;;
			*) echo root ;;
			esac
		}
		# shellcheck disable=SC2317
		vgpu-lease() { vgpu_lease --root "$simulated" "$@" --hostname cn1.example.org; }
		# shellcheck source=/dev/null
		cd "$tmp" && . "$tmp/compare"
	)
}
n=0
: >"$tmp/tree"
provider() { # NAME CLASS TOTAL
	n=$((n + 1))
	echo "$n $1" >>"$tmp/tree"
	echo "$2 $3" >"$tmp/inventory.$n"
}
provider cn1.example.org VCPU 8
provider cn1.example.org_0000:81:00.0 CUSTOM_PCI_10DE_2236 1
for vf in 4 5; do provider cn1.example.org_pci_0000_08_00_$vf VGPU 1; done
for card in 84 85; do provider cn1.example.org_pci_0000_${card}_00_0 VGPU 16; done
out=$(compare)
is "$?|$out" "0|" "Placement has the same"
echo VGPU 14 >"$tmp/inventory.5"
provider cn1.example.org_pci_0000_99_00_0 VGPU 4
out=$(compare)
is "$?|$(grep '^[<>]' <<<"$out" | paste -sd'|')" \
	"1|< cn1.example.org_pci_0000_84_00_0 VGPU 14|> cn1.example.org_pci_0000_84_00_0 VGPU 16|< cn1.example.org_pci_0000_99_00_0 VGPU 4" \
	"or it has not, with each provider that differs or is gone"
of_nova nvidia-222 'max_instances = 10'
export_ placement
is "$(says_times M_EXPORT_LIMITED 10 <<<"$out")" 2 "max_instances below the capacity leaves no provider"
export_ nova-provider-config
like "$out" "*providers: []" "and none has a trait"

### Usage
export_ everything
is "$status" 2 "an unknown format is a usage error"
export_ nova-pci --json
is "$status" 2 "so is an option of another format"
for name in 'a b' "a'b"; do
	vl export placement --hostname "$name"
	is "$status" 2 "and a name that no host has: $name"
done
configure nvidia-222
export_ placement
is "$status|$err" "1|$(message M_PROGRAM "$(message M_EXPORT_NO_NOVA)")" "without Nova's configuration nobody knows what it counts"
end_host

### VFs
rm -rf "$root"
host l40s+flex
configure nvidia-1155 vf_flex@8086:56c0 'mdev_class = CUSTOM_FLEX'
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
