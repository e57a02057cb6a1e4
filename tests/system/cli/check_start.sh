#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease check: a start of each enabled type is planned as the hook would; what would refuse it now is found. And does
# libvirt know of the hook?
. "$(dirname "$0")/../../lib/cli.sh"
conf_path=$root/etc/vgpu-lease.conf

# types SENTENCE [LINE...]: what is said of the starts that are not well; each line is a pattern.
types() {
	local patterns=("${@:2}") lines n
	check
	mapfile -t lines < <(grep -E '^[A-Z]+ type ' <<<"$notes")
	is "${#lines[@]}" "${#patterns[@]}" "$1: how many"
	for n in "${!lines[@]}"; do like "${lines[n]}" "${patterns[n]-}" "$1"; done
	is "$status" "$([[ $notes == *FAIL* ]] && echo 1 || echo 0)" "$1: its exit status"
}
anew() { new_host "$1" && install -D "$hook" "$root/etc/libvirt/hooks/qemu"; }
one() { configure "$1" policy 'driver_cleanup = 0'; }

anew t4
large=$(cd "$root/sys/class/mdev_bus/0000:84:00.0/mdev_supported_types" && grep -l 'max_instance=2$' ./*/description | cut -d/ -f2 | head -n1)
under "$large" policy 'driver_cleanup = 0' -- types "an empty card has capacity"
call prepare begin 1 "$large"
types "so has one that carries one of two"
call prepare begin 2 "$large"
types "a full one is worth a look" "WARN type $conf_path:2: *$(message M_FULL 0000:84:00.0 2 2)*"
runs 1
call release end 2
types "one released makes capacity"
one nvidia-222
types "a card that carries only another size fails" "FAIL type $conf_path:2: $(message M_CHECK_REFUSED nvidia-222)*$large*$(message M_RETYPE_DRY_RUN 0000:84:00.0 nvidia-222)*"
is "$(grep -c '^WARN guest ' <<<"$notes")" 1 "and the guest that has it is told of"
call release end 1
orphan 0000:84:00.0 "$large" 7
under nvidia-222 policy 'reclaim_grace = 0' 'driver_cleanup = 0' -- types "an orphan that would be removed is in nobody's way"
like "$out" "*PASS  type *$(message M_CHECK_WOULD_REMOVE 1)*" "and is told of"
under nvidia-222 policy 'driver_cleanup = 0' -- check_says "and before its grace is over, when" "$(uuid 7)" M_CHECK_ORPHAN_WAITS "*"
vl gc --grace 0
fails "and that gc --grace 0 removes it, which it does" exists 7

anew t4:2
one nvidia-222
control inject "create 0000:84:00.0 EIO 9"
call prepare begin 1 nvidia-222
types "one card that fails is passed over"
configure nvidia-222 'max_instances = 1' quota 'none = 2'
control inject clear
call prepare begin 2 nvidia-222
call prepare begin 3 nvidia-222 2>/dev/null
types "a cap on each card" "WARN type $conf_path:3: *$(message M_CAP_REACHED 1)*"
is "$(grep -c '^WARN quota ' <<<"$notes")" 1 "a quota that is used up is a note of its own"

anew t4
under nvidia-222 quota "none = 0" -- types "domains without a project get none: a project's do"
is "$status $(says_times M_QUOTA_NONE_IS_0 <<<"$notes") $(says_times M_QUOTA_DEFAULT_IS_0 <<<"$notes")" "0 1 0" "which is said"
under nvidia-222 quota "default = 0" -- types "projects get none: a domain without one does"
is "$status $(says_times M_QUOTA_NONE_IS_0 <<<"$notes") $(says_times M_QUOTA_DEFAULT_IS_0 <<<"$notes")" "0 0 1" "which is said, too"
under nvidia-222 quota "none = 0" "default = 0" "project:one = 1" -- types "one project alone gets some"
is "$status $(says_times M_QUOTA_NONE_IS_0 <<<"$notes")" "0 1" "and no domain without one"
under nvidia-222 quota "none = 0" "default = 0" "project:one = 0" -- types "nobody gets any" "FAIL type $conf_path:2: *"
holds "and why, and what to do about it" says M_QUOTA_NO_PROJECT 0 0 -- M_QUOTA_RAISE <<<"$notes"
fails "nor does a start" call prepare begin 1 nvidia-222

anew a100
vf=$(basename "$(find "$root/sys/class/mdev_bus/" -mindepth 1 | sort | head -n1)")
card=$(basename "$(readlink "$root/sys/bus/pci/devices/$vf/physfn")")
mig=$(cd "$root/sys/class/mdev_bus/$vf/mdev_supported_types" && grep -lE 'A100.*-1-5C$' ./*/name | cut -d/ -f2)
plain=$(cd "$root/sys/class/mdev_bus/$vf/mdev_supported_types" && grep -lE 'A100.*-5C$' ./*/name | cut -d/ -f2 | grep -vx "$mig" | head -n1)
one "$mig"
types "a MIG-backed type with MIG off fails" "FAIL type $conf_path:2: *$mig*: *$(message M_MIG_OFF "$card")*"
fails "it does not send to itself or elsewhere for what to do" grep -qE "vgpu-lease .*(check|plan)" <<<"$notes"
control mig "$card on"
types "without a GPU instance, too" "FAIL type $conf_path:2: *$mig*"
control mig "$card 1g.5gb"
types "with one it starts"
call prepare begin 1 "$mig"
types "and is full with one guest" "WARN type $conf_path:2: *$mig*"
call release end 1
one "$plain"
types "what is not MIG-backed fails while MIG is on" "FAIL type $conf_path:2: *$plain*"
configure "$mig" "$plain" policy 'pgpu_types = several'
call prepare begin 1 "$mig"
later=$(awk '{ printf "%d", ($1 + 600) * 1000 }' /proc/uptime)
sed -i "s/^state=active/state=reserved/; s/^deadline_ms=.*/deadline_ms=$later/" "$root/run/vgpu-lease/leases/"*
echo 1 | tee "$root"/sys/bus/mdev/devices/*/remove >/dev/null
types "also where a guest that arrives has reserved the GPU instance, which is no capacity for it" "FAIL type $conf_path:2: *$plain*"

anew l40s+flex@0000:51:00.0
under nvidia-1145 vf_flex@8086:56c0 -- types "a VF that takes a type, and a plain one"
is "$(grep -c '^PASS  type ' <<<"$out")" 2 "each is planned as what it is"
sed -i 's/56c0/56c1/' "$conf_path"
types "a section of plain VFs that fits no card" "WARN type $conf_path:4: *flex*"
under vf_flex@0000:51:00.1 -- types "one VF alone"
mkdir -p "$root/run/vgpu-lease/leases"
chmod -R 700 "$root/run/vgpu-lease"
start_vf 9 0000:51:00.1 yes
types "that a guest has" "WARN type *VF*"

anew t4+l40s
under 'nvidia-222@10de:*' 'nvidia-1145@10de:*' policy 'pgpu_types = several' -- types "each type is planned on the cards that make it alone"
is "$(grep -c '^PASS  type ' <<<"$out")" 2 "and gets one there"

anew t4
one nvidia-222
mount -t tmpfs -o size=64k,mode=755 none "$root/run"
dd if=/dev/zero of="$root/run/ballast" bs=4k 2>/dev/null
among() { check; like "$status|$(grep ' state ' <<<"$notes")" "$1" "$2"; } # PATTERN SENTENCE
among "1|FAIL state $root/run: *full*$(message M_CHECK_NO_NEW)*" "/run is full"
check_counts "and no start is said to get one" 0 '^[A-Z]+ +type '
rm "$root/run/ballast"
among "0|WARN state $root/run: *" "/run is almost full"
mkdir -m 700 "$root/run/vgpu-lease"
mount -t tmpfs -o size=8m,mode=700 none "$root/run/vgpu-lease"
among "0|" "the directory's own capacity counts"
call prepare begin 1
mount -o remount,ro "$root/run/vgpu-lease"
among "1|FAIL state $root/run/vgpu-lease: *read-only*$(message M_CHECK_NO_NEW)*" "/run/vgpu-lease is read-only"
holds "which a start that has its vGPU does not need" call prepare begin 1
check_counts "and check tells" 0 '^PASS +type '
umount "$root/run/vgpu-lease" "$root/run"
remove_device "$(uuid 1)"
mv "$root/run" "$root/elsewhere" && ln -s loop "$root/run"
among "1|FAIL state $root/run: $(message M_CHECK_NOT_WRITABLE "*")*" "/run leads nowhere"
rm "$root/run" && mv "$root/elsewhere" "$root/run"

end_host
root=$tmp/bare
conf_path=$root/etc/vgpu-lease.conf
mkdir -p "$root"/{run,var/lib,proc,dev}
install -D "$hook" "$root/etc/libvirt/hooks/qemu"
pci_device 0000:84:00.0 10de 1eb8 030200
for how in "" "device_match = 10de:1eb8" "device_match = numa=0, 10de:*" "device_addresses = 0000:84:00.0"; do
	configure nvidia-222 "$how"
	check
	like "$status|$notes" "1|FAIL pgpu *0000:84:00.0: *$(message M_NO_DRIVER)*nvidia-222*" "no driver, ${how:-all cards}: the card is named"
	fails "and the type is not blamed for it" grep -q "FAIL type" <<<"$notes"
	like "$(call prepare begin 1 2>&1)" "*0000:84:00.0: $(message M_NO_DRIVER)*" "with the card in its refusal"
done
pci_device 0000:84:00.0 10de 1eb8 020000
configure 'nvidia-222@10de:*'
check
like "$notes" "WARN type *" "what is no GPU is not meant by a match of a vendor"

### Does libvirt know of the hook? It looks for hooks when it starts and when it is reloaded only
root=$work/host
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
libvirt_is() { vl check; is "$status|$(grep -oE '^[A-Z]+ +libvirt ' <<<"$out" | tr -s ' ')" "0|$1 libvirt " "$2"; }

install_hook "$ours"
libvirt_is PASS "where no libvirt runs, it will find the hook when it starts"
echo $$ >"$root/run/libvirt/qemu/driver.pid"
libvirt_is PASS "nor does one whose process is another by now"
start_daemon virtqemud libvirt/qemu/driver.pid
libvirt_is PASS "one that started later has found it"
install_hook "$ours"
libvirt_is WARN "one that started earlier may not know of it"
like "$out" "*WARN  libvirt *$root/etc/libvirt/hooks: *($daemon)*systemctl reload virtqemud*" "and it is said what to do"

# What proves it is a call of the hook.
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
start_daemon virtqemud libvirt/qemu/driver.pid
libvirt_is PASS "so is the start of another libvirt a proof"

# libvirt notes only that there is a hook: another that was there lets it look for ours each time.
rm "$ours"
install_hook "$ours" "$(type -P true)"
stop_daemon
start_daemon virtqemud libvirt/qemu/driver.pid
install_hook "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
libvirt_is PASS "beside a hook that is known, ours is found"
chmod 644 "$ours"
libvirt_is WARN "but not beside one that cannot be run"
stop_daemon
# libvirt runs all files in qemu.d, in the order of their names, so an operator may have renamed ours.
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
libvirt_has one-vgpu <"$srcdir/xml-templates/domain-one-vgpu.xml"
rm -rf "$root/run/libvirt/qemu" && touch "$root/run/libvirt/qemu"
is "$("$builddir/vgpu-lease" --root "$root" check | grep -oE '^[A-Z]+ +domain ' | tr -s ' ')" "FAIL domain " \
	"a directory of libvirt's that cannot be listed fails, and nothing is called valid beside it"
# A host whose /proc/net/unix says who listens on which socket.
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
under vf_any@8086:56c0 -- check_counts "plain VFs need none" 0 "^FAIL +libvirt "
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
holds "as it is said if only libvirt's is" says M_CHECK_SYS_READ_ONLY < <(here 'mount --bind /sys /sys && mount -o remount,bind,ro /sys')
holds "the same goes for /run" says M_CHECK_RUN_READ_ONLY < <(here 'mount --bind /run /run && mount -o remount,bind,ro /run')
is "$(here true | grep -v ' /sys: ')" "" "and not of a libvirt that may write"
tap_done
