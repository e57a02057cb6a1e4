#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease rewrite: placeholders get UUIDs of their own; nothing else changes.
. "$(dirname "$0")/../../lib/cli.sh"
mkdir "$root"
templates=$srcdir/xml-templates
placeholder=00000000-0000-0000-0000-000000000000
any='[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

vl_works "a file is rewritten to standard output" rewrite "$templates/domain-placeholder.xml"
new=$(grep -oE "address uuid='$any'" <<<"$out" | grep -oE "$any")
is "${out//$new/$placeholder}" "$(cat "$templates/domain-placeholder.xml")" \
	"the hostdev and the metadata have one new random UUID, and all else is as it was"
vl rewrite - <"$templates/domain-placeholder.xml"
fails "each call makes another one" grep -q "$new" <<<"$out"
is "$status|$(wc -l <<<"$out")" "0|$(wc -l <"$templates/domain-placeholder.xml")" "- is standard input"
vl_is "and is called so where nothing comes from it" "1||$(message M_PROGRAM "$(message M_STDIN_EMPTY)")" rewrite - </dev/null
sed "s|type='nvidia-222'|driver='1'|; s|</vgpu:lease>|<vgpu:device address='0000:41:00.4'/>&|; s|</devices>|$(vf_hostdev 0000:41:00.4)&|" \
	"$templates/domain-placeholder.xml" >"$tmp/beside.xml"
vl rewrite "$tmp/beside.xml"
is "$status|$err|${out//$(grep -oEm1 "$any" <<<"$out")/$placeholder}" "0||$(cat "$tmp/beside.xml")" "without a configuration no facts and no VF change"

vl_is "UUIDs that are none of ours stay" "0|$(cat "$templates/domain-two-vgpus.xml")|" rewrite "$templates/domain-two-vgpus.xml"
vl rewrite --all "$templates/domain-two-vgpus.xml"
is "$(grep -cE "address uuid='$any'" <<<"$out")|$(grep -c 4b20d080 <<<"$out")" "2|0" "with --all each vGPU gets another"
is "$(grep -oE "$any" <<<"$out" | sort | uniq -c | awk '$1 > 2')" "" "of its own"

file=$tmp/vm.xml
cp "$templates/domain-placeholder.xml" "$file"
chmod 640 "$file"
chown 1234:4321 "$file"
ln -s vm.xml "$tmp/link.xml"
vl_like "in place, it says what it put where" "0|$placeholder -> ????????-????-4*|" rewrite --in-place "$tmp/link.xml"
fails "the file has changed" grep -q "$placeholder" "$file"
is "$(stat -c '%a %u %g' "$file")" "640 1234 4321" "its mode and owner have not"
holds "a link to it is still one" test -L "$tmp/link.xml"
is "$(find "$tmp" -maxdepth 1 -name '.*' -type f)" "" "and nothing is left beside it"
inode=$(stat -c %i "$file")
vl rewrite --in-place "$file"
is "$status|$out|$(stat -c %i "$file")" "0||$inode" "what has no placeholder is not touched"
# shellcheck disable=SC2016 # The shell in the namespace expands it.
said=$(unshare -m bash -c 'mount -t tmpfs none /run && mkdir /run/libvirt && cp "$1" /run/libvirt/vm.xml &&
	"$2/vgpu-lease" --root "$3" rewrite --in-place /run/libvirt/vm.xml 2>&1 >/dev/null' - \
	"$templates/domain-placeholder.xml" "$builddir" "$root")
holds "of a file of libvirt's it says that libvirt does not notice" says M_LIBVIRTS_OWN /run/libvirt/vm.xml <<<"$said"

printf '<domain><name>x</name><devices>' >"$tmp/broken.xml"
vl_like "a broken file is told" "1||$(message M_PROGRAM "$tmp/broken.xml: *")" rewrite --in-place "$tmp/broken.xml"
is "$(cat "$tmp/broken.xml")" '<domain><name>x</name><devices>' "and stays as it was"
mkfifo "$tmp/pipe"
vl_fails "a pipe is no file, and is not waited for" 2 rewrite --in-place "$tmp/pipe" -- M_NOT_A_FILE "$tmp/pipe"
head -c 9000000 /dev/zero | tr '\0' ' ' >"$tmp/big.xml"
vl_fails "what is too big is not read" 2 rewrite "$tmp/big.xml" -- M_FILE_TOO_LARGE "$tmp/big.xml" 8

mkdir "$root/run" && : >"$root/run/vgpu-lease"
vl rewrite "$templates/domain-placeholder.xml"
is "$status|$(grep -c "$placeholder" <<<"$out")" "0|2" "a placeholder stays if it cannot be told whether it is in use"
holds "with the reason" says M_REWRITE_UNREAD "$(message M_NOT_A_DIRECTORY /run/vgpu-lease)" <<<"$err"
rm "$root/run/vgpu-lease"

host t4:2 nvidia-222
# device FILE: the attributes of its <vgpu:device>, but for the UUID, once it is rewritten
device() { vgpu_lease --root "$root" rewrite "$1" | sed -n 's/.*<vgpu:device uuid=.[^ ]* \(.*\)>$/\1/p'; }
driver=$(cat "$root/sys/module/nvidia/version")
vl rewrite "$templates/domain-placeholder.xml"
is "$status|$err|$(device "$templates/domain-placeholder.xml")" \
	"0||name='GRID T4-1B' framework='mdev' model='10de:1eb8' driver='$driver' type='nvidia-222' placement='pack'/" \
	"the metadata of a vGPU that gets a UUID say all that is known of it here"
given=$(grep -oEm1 "$any" <<<"$out")
is "$(sed "s/ name='GRID.*driver='$driver'//; s/$given/$placeholder/" <<<"$out")" \
	"$(cat "$templates/domain-placeholder.xml")" "and nothing else has changed"
sed "s/type='nvidia-222' /driver='1' name='old' /" "$templates/domain-placeholder.xml" >"$tmp/old.xml"
is "$(device "$tmp/old.xml")" "type='nvidia-222' framework='mdev' model='10de:1eb8' driver='$driver' name='GRID T4-1B' placement='pack'/" \
	"stale facts are replaced; the only type of the pool is written down"
sed "s/nvidia-222/VGPU/" "$templates/domain-placeholder.xml" >"$tmp/class.xml"
like "$(device "$tmp/class.xml")" "*framework='mdev'*type='VGPU' *" "a type stays as people worded it"
for unknown in s/nvidia-222/nvidia-999/ s/vgpu:device.*/vgpu:other\\/\>/; do
	sed "$unknown" "$templates/domain-placeholder.xml" >"$tmp/unknown.xml"
	vl rewrite "$tmp/unknown.xml"
	is "$status|$err|${out//$(grep -oEm1 "$any" <<<"$out")/$placeholder}" "0||$(cat "$tmp/unknown.xml")" \
		"of what is not known here, or has no metadata, nothing is written"
done
configure nvidia-222@0000:84:00.0 nvidia-231@0000:85:00.0
is "$(device "$tmp/class.xml")" "framework='mdev' model='10de:1eb8' driver='$driver' type='VGPU' placement='pack'/" \
	"where several types come into question, what they share is"
vl rewrite "$tmp/old.xml"
is "$status|$err|${out//$(grep -oEm1 "$any" <<<"$out")/$placeholder}" "0||$(cat "$tmp/old.xml")" "where the metadata say none of two types, nothing is written"
configure <<<'nonsense'
vl_like "a configuration with an error is a warning" "0|*|$(message M_WARNING "*vgpu-lease.conf:1:*")" \
	rewrite "$templates/domain-placeholder.xml"

### A domain of libvirt, which is its own made-up host here
configure </dev/null
{ echo '<node>'; domain 9 "$placeholder" | sed "s/type='qemu'/type='test'/; s|<devices>|<memory>8192</memory><os><type>hvm</type></os>&|"; echo '</node>'; } >"$tmp/node.xml"
vl_like "a domain's definition is rewritten through libvirt" "0|$placeholder -> ????????-????-4*|" rewrite --connect "test://$tmp/node.xml" vm9
vl_like "a word that names neither a file nor a domain fails" "1||?*" rewrite --connect "test://$tmp/node.xml" vm8
holds "and is told so" says M_LIBVIRT_SAYS vm8 "Domain not found" <<<"$err"
vl_fails "what is spelt as a file is one" 2 rewrite --connect "test://$tmp/node.xml" vm9.xml -- M_NO_SUCH_FILE vm9.xml

# VFs: what a start can have stays, whatever the policy of migrations.
new_host l40s:1
on_vf() { vf_domain 3 "$1" no nvidia-1147; } # ADDRESS
for policy in auto keep; do
	configure nvidia-1147 policy 'driver_cleanup = 0' "migrate_uuid = $policy"
	set_vf_type 0000:26:00.5 1147
	vl_is "$policy: a VF that is free stays, though another one has the type" "0|$(on_vf 0000:26:00.6)|" rewrite - < <(on_vf 0000:26:00.6)
	vl_is "$policy: one that the host does not have becomes one that has the type" "0|$(on_vf 0000:26:00.5)|" rewrite - < <(on_vf 0000:99:00.6)
	vl_is "$policy: one that the metadata do not name is none of ours" "0|$(vf_domain 3 0000:99:00.6)|" rewrite - < <(vf_domain 3 0000:99:00.6)
	set_vf_type 0000:26:00.5 0
	on_vf 0000:26:00.6 | hook vm3 prepare begin -
	vl_is "$policy: so does the one that the domain runs with" "0|$(on_vf 0000:26:00.6)|" rewrite - < <(on_vf 0000:26:00.6)
	on_vf 0000:26:00.6 | hook vm3 release end -
done
tap_done
