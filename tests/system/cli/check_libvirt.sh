#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease check: does libvirt know of the hook? It looks for hooks when it starts and when it is reloaded only.
. "$(dirname "$0")/../../lib/cli.sh"

host mtty mtty-1
mkdir -p "$root/etc/libvirt/hooks/qemu.d" "$root/run/libvirt/qemu"
ours=$root/etc/libvirt/hooks/qemu

# install FILE [PROGRAM]: as packages do, under another name first. What comes now and what was there before differ.
install_hook() {
	sleep 0.05
	cp "${2:-$hook}" "$1.new"
	mv "$1.new" "$1"
	sleep 0.05
}
# A process that is called as libvirt's daemon is; it is in $daemon.
cp "$(type -P sleep)" "$tmp/virtqemud"
start_daemon() {
	sleep 0.05
	"$tmp/virtqemud" 600 &
	daemon=$!
	echo "$daemon" >"$root/run/libvirt/qemu/driver.pid"
	eventually grep -qx virtqemud "/proc/$daemon/comm"
	sleep 0.05
}
stop_daemon() { kill "$daemon" && wait "$daemon" 2>/dev/null; }

# libvirt_is STATUS SENTENCE: what check has to say of libvirt.
libvirt_is() { vl check; is "$status|$(grep -oE '^[A-Z]+ +libvirt ' <<<"$out" | tr -s ' ')" "0|$1 libvirt " "$2"; }

install_hook "$ours"
libvirt_is PASS "where no libvirt runs, it will find the hook when it starts"
echo $$ >"$root/run/libvirt/qemu/driver.pid"
libvirt_is PASS "nor does one whose process is another by now"
start_daemon
libvirt_is PASS "one that started later has found it"
install_hook "$ours"
libvirt_is WARN "one that started earlier may not know of it"
like "$out" "*WARN  libvirt *$root/etc/libvirt/hooks: *($daemon)*systemctl reload virtqemud*" "and it is said what to do"

# The proof: it was called.
called() { "$hook" --root "$root" "$@" - <<<"<domain><name>other</name></domain>"; }
called -- other started begin
libvirt_is WARN "without a state there is nothing to note a call in"
call prepare begin 1
call release end 1
called --dry-run -- other prepare begin >/dev/null
called -- other started begin
holds "a call is noted, also where it is about a domain without a vGPU" [ -e "$root/run/vgpu-lease/called" ]
libvirt_is PASS "what is called is known"
install_hook "$ours"
libvirt_is WARN "a call of the one before proves nothing"
called --dry-run -- other prepare begin >/dev/null
libvirt_is WARN "nor does a dry run"
called -- other whatever begin
libvirt_is PASS "an operation that it does not know is a call, too"
stop_daemon
start_daemon
libvirt_is PASS "so is the start of another libvirt a proof"

# libvirt notes only that there is a hook: another that was there lets it look for ours each time.
rm "$ours"
install_hook "$ours" "$(type -P true)"
stop_daemon
start_daemon
install_hook "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
libvirt_is PASS "beside a hook that is known, ours is found"
chmod 644 "$ours"
libvirt_is WARN "but not beside one that cannot be run"
stop_daemon
# libvirt runs all that is in qemu.d, in the order of the names, so an operator may have given ours another.
hook_line() { vl check; grep -E '^[A-Z]+ +hook ' <<<"$out" | tr -s ' '; }
mv "$root/etc/libvirt/hooks/qemu.d/vgpu-lease" "$root/etc/libvirt/hooks/qemu.d/50-vgpu-lease"
is "$(hook_line)" "PASS hook $root/etc/libvirt/hooks/qemu.d/50-vgpu-lease: installed" "ours is found in qemu.d under any name"
cp "$hook" "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
is "$(hook_line | grep -c '^WARN.*libvirt runs both')" 1 "also if it is there twice"
rm "$root"/etc/libvirt/hooks/qemu.d/*
is "$(hook_line | cut -d' ' -f1)" FAIL "a hook of somebody else is none"
holds "which the advice does not overwrite" says M_CHECK_NO_HOOK < <(hook_line)
install_hook "$ours" "$(type -P true)"
called -- other whatever begin
is "$(hook_line | cut -d' ' -f1)" WARN "unless ours has been called since it was installed: it may call ours"
holds "which is said" says M_CHECK_HOOK_BY_OTHER < <(hook_line)
# Of definitions nothing is said while it is not known which domains run.
libvirt_has one-vgpu <"$srcdir/xml-templates/domain-one-vgpu.xml"
rm -rf "$root/run/libvirt/qemu" && touch "$root/run/libvirt/qemu"
is "$("$builddir/vgpu-lease" --root "$root" check | grep -oE '^[A-Z]+ +domain ' | tr -s ' ')" "FAIL domain " \
	"a directory of libvirt's that cannot be listed fails, and nothing is called valid beside it"
# A host that says who listens on which socket.
plain=$tmp/plain
mkdir -p "$plain"/{etc/libvirt/hooks,proc/net,run,sys,var/lib}
cp "$hook" "$plain/etc/libvirt/hooks/qemu"
# listening PATH LINE: check's line on libvirt, if this is a socket on which somebody listens.
listening() {
	printf '%s\n' 'Num       RefCount Protocol Flags    Type St Inode Path' "0000000000000000: 00000002 00000000 00010000 0001 01 17 $1" >"$plain/proc/net/unix"
	"$builddir/vgpu-lease" --root "$plain" check | grep -oE '^[A-Z]+ +libvirt ' | tr -s ' '
}
is "$(listening /run/other)" "WARN libvirt " "where libvirt does not run, and no socket starts it, no domain can start"
for name in libvirt-sock virtqemud-sock; do
	is "$(listening "/run/libvirt/$name")" "PASS libvirt " "where $name listens, systemd starts it"
done
### A start writes where libvirt may: its unit or its container can have what is writable elsewhere read-only
rm "$root/run/libvirt/qemu" && mkdir "$root/run/libvirt/qemu"
mount --bind "$root/.kernel" "$root/.kernel" && mount -o remount,bind,ro "$root/.kernel"
check_says "/sys is read-only" "^FAIL +libvirt +$root/sys: " M_CHECK_SYS_READ_ONLY
reports "a start says what forbids the write" call prepare begin 2 -- M_ADVICE_READ_ONLY
configure vf_any@8086:56c0
check_counts "plain VFs need none" 0 "^FAIL +libvirt "
umount "$root/.kernel"
# here SCRIPT: check of this machine, with an /etc and a /run of its own, where libvirt runs after this script.
mkdir -p "$tmp/etc"
root='' write_conf "$tmp/etc/vgpu-lease.conf" mtty-1
# shellcheck disable=SC2016 # of the other shells
here() {
	unshare -m bash -c 'mount --bind "$0/etc" /etc && mount -t tmpfs -o mode=755 none /run && mkdir -m 755 /run/vgpu-lease || exit
		unshare -m bash -c "$1 && exec \"$0/virtqemud\" 600" "$0" >/dev/null 2>&1 &
		echo $! >/run/virtqemud.pid
		until grep -qx virtqemud /proc/$!/comm || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
		"$2" check
		kill $!' "$tmp" "$1" "$builddir/vgpu-lease" | grep -E "^FAIL +(libvirt|state) "
}
holds "as it is said if only libvirt's is" says M_CHECK_SYS_READ_ONLY < <(here 'mount -o remount,bind,ro /sys')
holds "the same goes for /run" says M_CHECK_RUN_READ_ONLY < <(here 'mount --bind /run /run && mount -o remount,bind,ro /run')
is "$(here true | grep -v ' /sys: ')" "" "and not of a libvirt that may write"
tap_done
