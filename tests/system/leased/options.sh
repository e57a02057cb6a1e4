#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How vgpu-leased is called, and how it waits at boot.
. "$(dirname "$0")/../../lib/leased.sh"
status() { "$@" >"$work/out" 2>"$work/err" && echo 0 || echo $?; }

is "$(status "$leased" --help)" 0 "--help is no failure"
is "$(status "$leased" --version) $(cat "$work/out")" "0 $("$builddir/vgpu-lease" --version | sed '1s/vgpu-lease/vgpu-leased/')" \
	"--version tells the version"
is "$(status "$leased" --bogus)" 2 "an unknown option is a usage error"
is "$(status "$leased" --root)" 2 "so is one without its value"
is "$(status "$leased" --wait-ready=soon)" 2 "and a number that is none"
is "$(status "$leased" word)" 2 "and a word too many"
is "$(wc -l <"$work/err")" 1 "told in one line"

host t4:2+p4:1
ready() { status "$leased" --root "$root" --wait-ready "$1"; }
is "$(ready 0) $(cat "$work/out")" "0 $(message M_NO_WAIT_CONF)" "without a configuration there is nothing to wait for, and it says so"
configure 'nvidia-222@0000:84:00.0, 0000:85:00.0'
is "$(ready 0) $(cat "$work/out")" "0 " "what is ready is not waited for"
typed nvidia-999 | libvirt_has one-vgpu
is "$(ready 0) $(lease check >/dev/null 2>&1; echo $?)" "0 1" "nor is anything else that check finds"
rm "$root/etc/libvirt/qemu/one-vgpu.xml"
control register "0000:85:00.0 off"
is "$(ready 1)" 1 "a card that does not come is waited for, and no longer than was said"
holds "it is named" grep -qF 0000:85:00.0 "$work/err"
(sleep 0.3; control register "0000:85:00.0 on") &
is "$(ready 60)" 0 "one that comes late is what was waited for"
configure nvidia-222
control register "0000:85:00.0 off"
is "$(ready 1)" 1 "so is one of several that no section names"
control register "0000:85:00.0 on"
control register "0000:01:00.0 off"
is "$(ready 60)" 0 "but not one of another model, such as a GeForce"
configure nvidia-222@10de:2235
is "$(ready 1)" 1 "a match that fits no card is not what is ready"
configure </dev/null
is "$(ready 60) $(cat "$work/out")" "0 $(message M_NO_WAIT_TYPE)" "a configuration that enables no type has nothing to wait for, and it says so"
configure 'GRID T4-1B'
is "$(ready 60)" 1 "nor is it with one that has a type's name instead of its ID"
holds "whose ID it tells" says M_CONF_WRITE_ID nvidia-222 "GRID T4-1B" <"$work/err"
configure <<<nonsense
is "$(ready 60)" 1 "a configuration with an error is not waited with"

configure nvidia-222
is "$("$leased" --root "$root" --check-config 2>&1; echo $?)" 0 "a valid configuration is no error of a reload"
echo '[nonsense]' >>"$root/etc/vgpu-lease.conf"
refuses "an invalid one is" "$leased" --root "$root" --check-config \
	-- M_CONF_AT "$root/etc/vgpu-lease.conf" 3 "[nonsense]" "$(message M_CONF_UNKNOWN_SECTION)"
holds "and the unit's reload runs it" grep -q '^ExecReload=.*/vgpu-leased --check-config$' "$builddir/etc/systemd/vgpu-leased.service"

### Closed standard descriptors
configure nvidia-222 policy 'driver_cleanup = 0'
prepare
"$leased" --root "$root" --foreground <&- >&- 2>&- &
handler=$!
eventually runs
release
holds "a handler without any standard descriptor finishes a release" eventually gone
control remove_delay_ms 2000
prepare
release
holds "one that waits for a driver" eventually pending remove
holds "is finished, too" eventually gone
stops "and ends as it should"
is "$("$leased" --root "$root" --check-config 2>&1 <&-; echo $?)" 0 "--check-config needs no standard input"
tap_done
