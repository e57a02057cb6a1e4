#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease status: the picture of a host. tests/system/cli/golden/status/ has those of several hosts, in 80 and 200 columns, with
# colour; to look at one: cat it. UPDATE=1 writes them anew. Without colour it is the same picture.
. "$(dirname "$0")/../../lib/cli.sh"
golden=$srcdir/tests/system/cli/golden/status
# The host is called "host" in its picture.
cd "$work" || exit 1

# The names of cards come from this machine's hardware database, if it has one; whether a colour goes on to the end of its
# column, from the version of libsmartcols.
# same_age: that of old() for some minutes more.
same_age() { sed -E 's/ [3-9]m( |$)/ 2m\1/'; }
picture() { # WIDTH [OPTION]...: in a locale with UTF-8
	on_terminal "$1" env LC_ALL=C.UTF-8 TERM=xterm "${@:2}" "$builddir/vgpu-lease" --root host |
		sed -E 's/^(.*  idle, [^ ]+: [0-9]+ available)(  .*)?$/\1  MODEL/; t; s/^([^0-9a-f]*(\x1b\[1m)?[0-9a-f]{4}(:[0-9a-f]{2}){2}\.[0-9](\x1b\[0m)?)  .*/\1  MODEL/; s/( +)\x1b\[0m/\x1b[0m\1/g' | same_age
}

# looks NAME SENTENCE: the picture is that of the golden files.
plain() { sed 's/\x1b\[[0-9;]*m//g' "$1"; }
looks() {
	local width file
	for width in 80 200; do
		file=$golden/$1.$width
		[ -e "$file" ] || file=$golden/$1 # the same in each width
		[ "${UPDATE:-0}" = 0 ] || picture $width NO_COLOR= >"$file"
		nothing "$2: $1.$width" "$(diff "$file" <(picture $width NO_COLOR=))"
		nothing "$2: $1.$width without colour" "$(diff <(plain "$file") <(picture $width NO_COLOR=1))"
		holds "nothing is wider than $width columns" test "$(plain "$file" | LC_ALL=C.UTF-8 wc -L)" -le $width
	done
	for width in 60 72; do
		holds "nor on $width columns, than these" test "$(picture $width NO_COLOR=1 | LC_ALL=C.UTF-8 wc -L)" -le $width
	done
}

# old ID...: these leases entered their state a while ago.
old() {
	local id
	for id; do perl -pi -e 's/^since_ms=(\d+)/"since_ms=" . ($1 - 130000)/e' "host/run/vgpu-lease/leases/$id"; done
}
installed() { install -D "$hook" host/etc/libvirt/hooks/qemu; }

host t4:2
rm host/etc/vgpu-lease.conf
installed
looks bare "a host without a configuration"

new_host t4:2+mtty
installed
configure 'nvidia-222@0000:84:00.0, 0000:99:00.0' 'max_instances = 4' mtty-2@mtty_mtty policy 'reserve_ttl = 3600'
call prepare begin 1 nvidia-222
call migrate begin 2 nvidia-222 >/dev/null
for n in 3 4; do call prepare begin $n nvidia-222; done
call prepare begin 5 mtty-2
for n in 1 3 4 5; do runs $n; done
create 0000:84:00.0 nvidia-222 9
hold 4
with_handler call release end 4
rm "$root/run/vgpu-lease/handler.lock"
old "$(uuid 1)" "$(uuid 2)" "$(uuid 3)" "$(uuid 4)" "$(uuid 5)"
looks t4 "leases in each state, a full card, one that is missing, one without a PCI device"
is "$(on_terminal 80 env LC_ALL=C TERM=xterm NO_COLOR=1 "$builddir/vgpu-lease" --root host | LC_ALL=C grep -c '[^ -~]')" 0 \
	"in a locale without UTF-8 all is ASCII"
is "$(on_terminal 80 env LC_ALL=C.UTF-8 TERM=dumb "$builddir/vgpu-lease" --root host | same_age)" \
	"$(on_terminal 80 env LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 "$builddir/vgpu-lease" --root host | same_age)" \
	"a dumb terminal has no colours"
out=$(LC_ALL=C.UTF-8 TERM=xterm "$builddir/vgpu-lease" --root host status | same_age)
fails "what is no terminal gets neither colours nor lines of boxes" grep -q '[^ -~]' <<<"$out"
like "$out" "*$(uuid 1)*" "but each vGPU's ID"
is "$("$builddir/vgpu-lease" --root host | same_age)" "$out" "status is the command without a name"
holds "what is reserved is taken, of the type as of the framebuffer" grep -q '  5 of 16, ' <<<"$out"
vl_like "--pgpu shows one pGPU" "0|*0000:84:00.0*|" status --pgpu 0000:84:00.0
fails "and no other" grep -qE '^[|`]- (0000:85|mtty)' <<<"$out"
vl_like "a pGPU that the host does not have is refused" "1||?*" status --pgpu 0000:84:00.1
fails "an address of other digits is another card's, and is not suggested" says M_SIMILAR <<<"$err"
# vgpus_of ARGUMENT...: the first line and the pGPUs of the tree, and the domains or IDs below them.
vgpus_of() {
	vl status "$@"
	sed -nE "1s/.*, //p; s/^[|\`]- ([^ ]+).*/\1/p; s/.*[|\`]- (vm[0-9]+|-) .*/\1/p" <<<"$out" | paste -sd' '
}
is "$(vgpus_of)" "6 vGPUs 0000:84:00.0 vm1 vm2 vm3 vm4 - 0000:85:00.0 mtty vm5 0000:99:00.0" "without a filter all is shown"
is "$(vgpus_of --domain vm3)" "1 of 6 vGPUs 0000:84:00.0 vm3" "--domain shows its vGPUs and their pGPU"
is "$(vgpus_of --domain "$(domain_uuid 5)")" "1 of 6 vGPUs mtty vm5" "also by its UUID"
is "$(vgpus_of --state active)" "3 of 6 vGPUs 0000:84:00.0 vm1 vm3 mtty vm5" "--state those in this state"
is "$(vgpus_of --type mtty-2)" "1 of 6 vGPUs mtty vm5" "--type those of this type"
is "$(vgpus_of --type GRID\ T4-1B --pgpu 0000:99:00.0)" "0 of 6 vGPUs 0000:99:00.0" "and each pGPU that is configured for it"
is "$(vgpus_of --type nvidia-222 --state releasing)" "1 of 6 vGPUs 0000:84:00.0 vm4" "filters are combined"
domain 9 "$(uuid 9)" | libvirt_has vm9
is "$(vgpus_of --domain vm9)|$(vgpus_of --domain "$(domain_uuid 9 | tr a-f A-F)")" "0 of 6 vGPUs|0 of 6 vGPUs" \
	"of a domain that libvirt defines and that has no vGPU, nothing: a tree, too"
rm -r "$root/etc/libvirt"
vl_says "a domain that neither libvirt nor a lease has is refused, with a similar one" 1 status --domain vn1 -- M_NO_SUCH_DOMAIN vn1 -- M_SIMILAR vm1
vl_like "a type that nothing has is refused" "1||?*" status --type nvidia-22
vl_like "a state that there is not is a usage error" "2||?*" status --state idle
vl_json "and so is JSON" '0 ["0000:84:00.0","vm3"]' '[.pgpus[] | .address, .vgpus[].domain.name]' status --domain vm3
vl status --json
is "$(jq -r '.pgpus[] | "\(.address) \(.in_pool) \(.framebuffer_mib) \(.framebuffer_used_mib) \([.vgpus[] | .domain.name, .state])"' <<<"$out")" \
	'0000:84:00.0 true 16384 5120 ["vm1","active","vm2","reserved","vm3","active","vm4","releasing",null,null]
0000:85:00.0 false 16384 0 []
mtty true null null ["vm5","active"]
0000:99:00.0 false null null []' "JSON has the same"
vl_counts "the bars are of whole pGPUs, whatever is left out" "0 1" '  5 of 16, ' status --domain vm3
remove_device "$(uuid 3)"
vl status --domain vm3
holds "a vGPU whose device somebody has removed is not shown as active" grep -qE ' vm3 .* no device ' <<<"$out"
holds "and takes its capacity until its lease goes" grep -q '  5 of 16, ' <<<"$out"
leave

# All models, eight on a host, with the configuration that init writes. gvt-g has the address of the other one.
n=0
while read -r models; do
	n=$((n + 1))
	new_host "${models// /+}"
	installed
	vl init
	configure <<<"$out"
	looks models$n "$models"
done < <("$sim" --list-models | awk '$1 != "gvt-g-256" { print $1 }' | xargs -n 8)

new_host a40/4+l40s/8+flex
installed
configure nvidia-558@10de:2235 nvidia-1148@10de:26b9 vf_flex@8086:56c0
for n in 1 2 3 4; do
	domain $n "$(uuid $n)" nvidia-558 | sed "s/vm$n/instance-0000004$n/" | hook instance-0000004$n prepare begin -
	runs $n
	old "$(uuid $n)"
done
echo 1149 >host/sys/bus/pci/devices/0000:26:00.4/nvidia/current_vgpu_type
looks nova "a full card with VFs, one with a vGPU of another type, names as Nova has them"

vf() {
	vf_domain "$1" "$2" no "$3" >"$tmp/vf.xml"
	hook "vm$1" prepare begin - <"$tmp/vf.xml"
	libvirt_runs "vm$1" <"$tmp/vf.xml"
	old "$2"
}

# What is on a card in MIG mode is told by its GPU instances, and the whole of it by nothing.
new_host l40s/8+a100/4+rtxpro6000/4
control mig '0000:61:00.0 on'
control mig '0001:c8:00.0 on'
for instance in '0000:61:00.0 1g.5gb' '0000:61:00.0 2g.10gb' '0001:c8:00.0 1g.24gb'; do control mig "$instance"; done
installed
configure nvidia-1149@10de:26b9 nvidia-474@0000:61:00.0 nvidia-1561@0001:c8:00.0
vf 1 0000:26:00.4 nvidia-1149
vf 2 0000:26:00.5 nvidia-1149
guest 3 nvidia-474
old "$(uuid 3)"
vf 4 0001:c8:00.2 nvidia-1561
looks vfs "VFs with a type beside the framebuffer of their card, and cards in MIG mode"
is "$(vgpu_lease --root host status --json | jq -c '[.pgpus[] | .framebuffer_mib, .framebuffer_used_mib]')" \
	"[49152,6144,40960,5120,null,24576]" "JSON has what is known of it"

new_host l40s
control vfs '0000:26:00.0 off'
vl_prints "what enables the VFs of a card is named" status -- M_VFS_ENABLE 0000:26:00.0
fails "which framework it will have is not known" grep -qw mdev <<<"$out"
vl_says "where there are no types, it is said where the reason is" 0 types -- M_INIT_NOTHING
configure "nvidia-1148@0000:26:00.4, 0000:26:00.5, 0000:26:00.6"
vl status
is "$(grep -o '0000:26:00.[0-9].*' <<<"$out" | grep -c '^0000:26:00.4 and 2 more$')$(grep -c '26:00.[56]' <<<"$out")" 10 "VFs that are missing together are one entry"

# Checks, starts and the verdicts of gc are those of one look at the host; a busy machine may take two.
reads_once() {
	strace -f -e trace=openat -o "$work/trace" "$builddir/vgpu-lease" --root host "$1" >"$work/out" 2>&1
	[ "$(grep -c '/class/mdev_bus"' "$work/trace")" = 1 ]
}
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	new_host t4:2 nvidia-{222..229}
	for view in status check metrics; do holds "$view with eight types reads the host once" eventually reads_once $view; done
fi

### The picture of README.md is what vgpu-lease shows
# without_model: a host without udev's database of hardware does not know the model.
without_model() { grep -v '>TU104GL \[Tesla T4\]<'; }

picture=$("$srcdir/doc/status.py" "$builddir")
is "$(without_model <<<"$picture")" "$(without_model <"$srcdir/doc/status.svg")" \
	"it is current; else, as root: doc/status.py $builddir >doc/status.svg"
holds "it has colours" grep -q ' fill="#[0-9a-f]*">active<' <<<"$picture"
holds "it is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$srcdir/doc/status.svg"
tap_done
