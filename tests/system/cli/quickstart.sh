#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The quick start: each of its commands is run in its order, as it is written there, on a simulated host with the card that it is
# written for, and prints what is written there. tests/vm/scenarios/26-package-documents.sh runs them on a real host.
. "$(dirname "$0")/../../lib/cli.sh"
# Programs of others are looked up here first.
mkdir "$work/desk"
PATH=$work/bin:$PATH
xml=$root/etc/libvirt/qemu/vm1.xml
export root work srcdir hook xml

### The commands of others, as far as the quick start calls them

program vgpu-lease <<<"exec $builddir/vgpu-lease --root $root \"\$@\""
program apt-get <<'END'
[ "$*" = "install -y ./vgpu-lease_*.deb" ]
cp "$srcdir/etc/vgpu-lease.conf" "$root/etc/"
install -D "$hook" "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
END
program systemctl <<'END'
[ "$1" = reload ]
grep -q ExecReload= "$srcdir/etc/systemd/$2.service.in"
END
# Keeps a domain's definition, and calls the hook as libvirt does.
program virsh <<'END'
status=$root/run/libvirt/qemu/vm1.xml
case $* in
'attach-device vm1 '*' --config')
	sed -i "/<devices>/r $3" "$xml"
	;;
'metadata vm1 --uri urn:vgpu-lease:domain:1 --key vgpu --config --set '*)
	given=${9/<lease>/<vgpu:lease xmlns:vgpu=\'urn:vgpu-lease:domain:1\'>}
	given=${given/<device/<vgpu:device}
	sed -i "/<devices>/i <metadata>${given/<\/lease>/<\/vgpu:lease>}</metadata>" "$xml"
	;;
'dumpxml --inactive vm1')
	cat "$xml"
	;;
'start vm1')
	"$hook" --root "$root" -- vm1 prepare begin - <"$xml"
	mkdir -p "${status%/*}"
	{ echo "<domstatus state='running'>"; cat "$xml"; echo "</domstatus>"; } >"$status"
	;;
'destroy vm1')
	rm "$status"
	"$hook" --root "$root" -- vm1 release end destroyed <"$xml"
	;;
*)
	exit 9
	;;
esac
END

### The document

# steps: its blocks from step 1 to step 6, a line each, as base64: "sh BLOCK", "ini BLOCK", and "text BLOCK" for what is indented.
steps() {
	sed -n '/^## 1/,/^## Cards/p' "$srcdir/doc/quickstart.md" | awk '
		function put(kind) { if (block == "") return; printf "%s ", kind; printf "%s", block | "base64 -w 0"; close("base64 -w 0"); print ""; block = "" }
		/^```./ { kind = substr($0, 4); block = ""; next }
		/^```$/ { put(kind); kind = ""; next }
		kind != "" { block = block $0 "\n"; next }
		/^    / { block = block substr($0, 5) "\n"; next }
		{ put("text") }'
}
mdevs() { (cd "$root/sys/bus/mdev/devices" && find . -mindepth 1 | cut -c 3-); }
no_mdev() { [ -z "$(mdevs)" ]; }
any_uuid() { grep -oE "<address uuid='[^']*|create [0-9a-f-]{36}" | grep -oE '[0-9a-f-]{36}' || echo none; }
# followed BLOCK: it is run; what it printed is in $printed.
followed() {
	status=0
	printed=$(cd "$work/desk" && bash -euc "$1" 2>&1 </dev/null) || status=$?
	is "$status" 0 "${1//$'\n'/; }" || printf '# %s\n' "${printed//$'\n'/$'\n# '}"
}

host t4
mkdir -p "${xml%/*}" "$root/etc/vgpu-lease.conf.d"
printf '[policy]\ndriver_cleanup = 0\n' >"$root/etc/vgpu-lease.conf.d/test.conf"
domain 1 "$(uuid 1)" | sed '/<metadata>/,/<\/metadata>/d; /<hostdev/,/<\/hostdev>/d' >"$xml"
blocks=0
while read -r kind block; do
	block=$(base64 -d <<<"$block")
	case $kind in
	sh)
		# What asks libvirt needs one: tests/vm.
		[[ $block != *'vgpu-lease show vm1'* ]] || block=${block/vgpu-lease show vm1/true}
		followed "$block"
		blocks=$((blocks + 1))
		[[ $block != *'virsh start'* ]] || is "$(mdevs)" "$(any_uuid <"$xml")" "the guest has its vGPU"
		[[ $block != *'virsh destroy'* ]] || holds "and has it no longer" eventually no_mdev
		;;
	ini)
		followed "vgpu-lease check"
		printf '%s' "$block" >"$root/etc/vgpu-lease.conf"
		;;
	text)
		[[ $block == *apt-get* ]] || as_written "and prints what is written there" "${printed//$(any_uuid <"$xml")/UUID}" \
			"${block//$(any_uuid <<<"$block")/UUID}"
		;;
	esac
done < <(steps)
is "$blocks" "$(sed -n '/^## 1/,/^## Cards/p' "$srcdir/doc/quickstart.md" | grep -c '^```sh')" "that is each command of the six steps"
end_host

# The VF of the quick start, and what stands around it.
rm -rf "$work/sim"
"$sim" "$work/sim" l40s
root=$work/sim
guide=$(sed -n '/^## Cards with VFs/,/^## What next/p' "$srcdir/doc/quickstart.md")
control vfs '0000:26:00.0 off'
holds "quickstart.md has the command that enables VFs" grep -qF "    systemctl enable --now $(vgpu_lease --root "$root" inventory | grep -o 'vgpu-sriov@[^'\'']*')" <<<"$guide"
control vfs '0000:26:00.0 on'
like "$(vgpu_lease --root "$root" status)" "*variant on 48 VFs*" "and what the card is then"
configure nvidia-1148
{ domain 1 "$(uuid 1)" | sed '/<metadata>/,/<\/metadata>/d; /<hostdev/,$d'
	sed -n '/^<hostdev/,/^<.hostdev/p' <<<"$guide"
	echo '</devices></domain>'; } | libvirt_has vm1
like "$(vgpu_lease --root "$root" plan "$root/etc/libvirt/qemu/vm1.xml" 2>&1)" "create 0000:26:00.4, nvidia-1148 on 0000:26:00.4 *" "its hostdev gets the VF that it names"
like "$(vgpu_lease --root "$root" check)" "*a start with nvidia-1148 would get one on 0000:26:00.5*" "check names another VF for the next domain"
"$sim" --stop "$work/sim"
tap_done
