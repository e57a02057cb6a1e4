#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples in DESCRIPTION and EXAMPLES of the manual pages: each command is run as it is written there, on a host like the one
# it was written for, and prints what is written there. Of a command whose output a page does not show, only the exit status is
# looked at; what cannot be run is named below, with the reason.
. "$(dirname "$0")/../../lib/cli.sh"
. "$(dirname "$0")/../../lib/journal.sh"
# The pages call the host so.
cd "$work" || exit 1
root=host1
vm1=4b20d080-1b54-4048-85b3-a6a62d165c01 vm2=d6c2eb63-cd72-4ca5-9a57-6a1d8bbb6f3c

### What the pages' commands are here

domain_uuid() { case $1 in 1) echo c2a1f4d0-5b1c-4c0e-9a5d-0e8d2f6b7a11 ;; *) printf '%08x-0000-4000-8000-00000000000d' "$1" ;; esac; }
uuid() { if [ "$1" = 1 ]; then echo $vm1; else echo $vm2; fi; }
vgpu-lease() {
	local of=(--root "$root")
	[[ " $* " != *' --root '* ]] || of=()
	[[ " $* " != *' attach '* ]] || of+=(--connect "test://$work/node.xml")
	vgpu_lease "${of[@]}" "$@"
}
vgpu-lease-sim() { "$sim" "$@"; }
# It knows the domains of the test. Whoever defines one has given it another UUID.
virsh() {
	case $* in
	*dumpxml*) domain 1 $vm1 ;;
	define*) ! grep -q "$vm1" "$2" ;;
	*) return 9 ;;
	esac
}
vi() { test -s "$1"; }
export -f vgpu-lease vgpu_lease keep_json
export root work builddir

# The names of a real host become those of this machine.
here() {
	sed "s,/tmp/host,$work/sim,g; s,=/etc/libvirt/hooks/qemu.d/vgpu-lease,=$work/bin/the_hook,
		s,/usr/libexec/vgpu-lease/vgpu-leased,$builddir/vgpu-leased --root $root,
		s, /etc/vgpu-lease\.conf, $work/$root/etc/vgpu-lease.conf,"
}

program the_hook <<END
[[ " \$* " == *' --root '* ]] || set -- --root $root "\$@"
exec $builddir/hooks/qemu "\$@"
END

### The pages

# What a page shows in DESCRIPTION and EXAMPLES, a line each: C and a command, + and more of it, O and a line of its output.
examples() {
	awk '/^\.Sh/ { on = / (DESCRIPTION|EXAMPLES)$/ }
		!on { next }
		/^\.Dl # / { print "C" substr($0, 7) }
		/^\.Bd/ { literal = 1; more = 0; next }
		/^\.Ed/ { literal = 0 }
		!literal { next }
		{ gsub(/\\e/, "\\") }
		more { print "+" $0 }
		!more && /^# / { print "C" substr($0, 3) }
		!more && !/^# / { print "O" $0 }
		{ more = (more || /^# /) && /[\\|]$/ }' "$srcdir/man/$1"
}
declare -A not_run=(
	['systemctl enable --now vgpu-leased']="needs systemd: tests/vm/scenarios/19-handler.sh"
	['systemctl enable --now vgpu-leased vgpu-lease-wait']="needs systemd: tests/vm/scenarios/24-package.sh"
	['systemctl enable vgpu-sriov@0000:41:00.0.service']="needs systemd and a card: tests/vm/scenarios/43-vf-boot.sh"
	['systemctl reload vgpu-leased']="needs systemd: tests/vm/scenarios/19-handler.sh"
	['journalctl -t vgpu-leased']="reads this machine's journal"
	['watch vgpu-lease status']="has no end"
	['virsh start vm1']="needs a libvirt: tests/vm/scenarios"
	['virsh migrate --live vm1 qemu+ssh://target/system &']="needs two hosts: tests/vm/migrations"
	['virsh migrate-setmaxdowntime vm1 12000']="needs a guest that migrates: tests/vm/migrations"
	['vgpu-lease attach --type T4-1B vm1']="needs a guest: tests/vm/scenarios/14-attach.sh"
	['vgpu-lease detach vm1 4b20d080-1b54-4048-85b3-a6a62d165c01']="needs a guest: tests/vm/scenarios/14-attach.sh"
)
unused=$(printf '%s\n' "${!not_run[@]}" | sort)
run_example() {
	local command status=0 sentence="$1: ${2//$'\n'*/ ...}"
	[ -n "$2" ] || return 0
	if [ -n "${not_run[$2]+known}" ]; then
		echo "# $1: not run: $2: ${not_run[$2]}"
		unused=$(grep -vxF -- "$2" <<<"$unused")
		return
	fi
	command=$(here <<<"$2")
	before "$1" "$2"
	eval "$command" >"$tmp/printed" 2>&1 </dev/null || status=$?
	if [ -n "$3" ]; then
		as_written "$sentence" "$(cat "$tmp/printed")" "$3"
	else
		is "$status" 0 "$sentence" || sed 's/^/# /' "$tmp/printed"
	fi
}
run_page() {
	local line command='' written=''
	while IFS= read -r line <&5; do
		case $line in
		C*)
			run_example "$1" "$command" "$written"
			command=${line#C} written=''
			;;
		+*) command+=$'\n'${line#+} ;;
		O*) written+=${written:+$'\n'}${line#O} ;;
		esac
	done 5< <(examples "$1")
	run_example "$1" "$command" "$written"
	cd "$work" || exit 1
}

### The hosts

# Without the time that a driver and Nova need.
pool() { configure nvidia-222 policy 'driver_cleanup = 0' 'reclaim_grace = 0'; }
fresh() { # DOMAIN...: these start
	local n
	[ ! -d $root ] || { rm -rf $root/run/vgpu-lease $root/run/libvirt $root/var/lib/vgpu-lease
		for n in "$root"/sys/bus/mdev/devices/*; do echo 1 >"$n/remove"; done; } 2>/dev/null
	pool
	for n; do call prepare begin "$n" && runs "$n"; done
}
# before PAGE COMMAND: the host as the example expects it.
before() {
	case "$1 $2" in
	'vgpu-lease.8 vgpu-lease') fresh 1 2 ;;
	'vgpu-lease.8 vgpu-lease init'*) rm -f vgpu-lease.conf ;;
	'vgpu-lease.8 vi /etc/vgpu-lease.conf'*)
		fresh 1
		call release end 1
		eventually eval '! exists 1'
		rm $root/run/libvirt/qemu/vm1.xml
		create 0000:84:00.0 nvidia-222 1
		sed -i s/222/223/ $root/etc/vgpu-lease.conf
		;;
	'vgpu-lease.8 vgpu-lease log '*)
		start_journal
		fresh 1 2
		hold 1
		eventually arrived created 2
		publish
		;;
	'vgpu-lease.8 vgpu-lease release --dry-run'*)
		leave
		rm $root/run/libvirt/qemu/vm1.xml
		;;
	'vgpu-lease.8 vgpu-lease attach --dry-run'*) test_node 1 >node.xml ;;
	'vgpu-lease.8 vgpu-lease rewrite'*) sed -i "s/vm1/vm2/; s/$(domain_uuid 1)/$(domain_uuid 2)/" vm2.xml ;;
	'vgpu-lease.8 vgpu-lease types --json'*) fresh 1 2 ;;
	*' cp my.conf '*) pool && cp $root/etc/vgpu-lease.conf my.conf ;;
	'vgpu-lease-migration.7 vgpu-lease list'*) call migrate begin 1 >/dev/null ;;
	'vgpu-lease-migration.7 '* | 'vgpu-lease-hook.8 virsh'*) fresh ;;
	esac
}

host t4
install -D "$hook" $root/etc/libvirt/hooks/qemu
fresh 1 2
for page in "$srcdir"/man/*; do
	[ "${page##*/}" = vgpu-lease.conf.5 ] || run_page "${page##*/}"
	"$sim" --stop "$work/sim" 2>/dev/null
	rm -rf "$work/sim"
done

# The configurations of vgpu-lease.conf(5), a file each, on a host with the cards that they are for.
"$sim" "$work/sim" t4:3
mkdir -p "$work/sim/etc/nova"
printf '[devices]\nenabled_mdev_types = nvidia-222\n' >"$work/sim/etc/nova/nova.conf"
awk -v "to=$work/example" '/^\.Sh/ { on = $0 == ".Sh EXAMPLES" } /^\.Ed/ { file = "" } file { print >file } on && /^\.Bd/ { file = to (++n) }' \
	"$srcdir/man/vgpu-lease.conf.5"
for file in "$work"/example?; do
	vgpu_lease --root "$work/sim" --config "$file" check >"$tmp/printed" 2>&1
	nothing "vgpu-lease.conf.5: $(sed -n '2p' "$file")... has no mistake" "$(grep -E '^(FAIL|WARN) +config' "$tmp/printed")"
	holds "and is read" grep -qE '^PASS +config' "$tmp/printed"
done
is "$(find "$work" -name "example?" | wc -l)" 3 "vgpu-lease.conf.5: that is all of its examples"
"$sim" --stop "$work/sim"
nothing "each command that is not run is in a page" "$unused"
tap_done
