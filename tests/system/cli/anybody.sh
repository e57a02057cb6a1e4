#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What only reads works for any user: the state has no secret, and others than root may read all of it and write none.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2+l40s/4
conf_path=$root/etc/vgpu-lease.conf
configure nvidia-222 nvidia-1147
install -D "$hook" "$root/etc/libvirt/hooks/qemu"
chmod 755 "$root" "$root/run" "$root/var" "$root/var/lib" 2>/dev/null

# The age of a lease grows between two calls.
without_age() { sed -E 's/ +[0-9]+[smhd]( +|$)/ AGE /g' <<<"$1"; }
# both SENTENCE ARGUMENT...: any user sees what root sees.
both() {
	local as_root
	vl "${@:2}" && as_root=$(without_age "$status|$out|$err")
	as_user vl "${@:2}"
	is "$(without_age "$status|$out|$err")" "$as_root" "$1"
}
all() { # WHEN
	local command
	for command in status 'list --json' list types inventory plan{,' --op migrate'}" $tmp/vm2.xml" 'gc --dry-run' check; do
		in_words both "${command% "$tmp"*} $1" "$command"
	done
}
others_may() { # FIND_EXPRESSION...: what of the state they may, but for the locks
	(cd "$root" && find run/vgpu-lease var/lib/vgpu-lease \( "$@" \) ! -name '*lock' ! -name work)
}

domain 1 "$(uuid 1)" nvidia-222 >"$tmp/vm1.xml"
domain 2 "$(uuid 2)" nvidia-222 >"$tmp/vm2.xml"
all "before there is a state"
(umask 077 && hook vm1 prepare begin - <"$tmp/vm1.xml")
runs 1
all "with a lease that a hook made under umask 077"
is "$(others_may -perm /022)" "" "others may write none of it"
is "$(others_may ! -perm -004)" "" "and read all of it"
is "$(cd "$root" && find run/vgpu-lease var/lib/vgpu-lease \( -name '*lock' -o -name work \) -perm /077)" "" \
	"but the locks: whoever opens one can keep it"
is "$(cd "$root" && stat -c %a run/vgpu-lease var/lib/vgpu-lease run/vgpu-lease/leases "run/vgpu-lease/leases/$(uuid 1)" | paste -sd' ')" \
	"755 755 755 644" "directories are 0755, records 0644"

for closed in run/vgpu-lease run/vgpu-lease/leases run/vgpu-lease/seen var/lib/vgpu-lease; do
	chmod 700 "$root/$closed"
	as_user vl check
	is "$status|$(grep FAIL <<<"$out")" "0|" "check finds no fault of the host in what a user may not read: $closed"
	is "$(grep -cE "^WARN  state +$root/$closed: .*; run as root\$" <<<"$out")" 1 "and says once that this is so: $closed"
	is "$(says_times M_CHECK_NOT_WRITABLE <<<"$out")|$(says_times M_CHECK_REFUSED <<<"$out")" "0|0" "and concludes nothing from it: $closed"
	chmod 755 "$root/$closed"
done

find "$root/run/vgpu-lease" "$root/var/lib/vgpu-lease" -type d -exec chmod 700 {} +
find "$root/run/vgpu-lease" "$root/var/lib/vgpu-lease" -type f -exec chmod 600 {} +
as_user vl_says "a state that is closed is root's to read" 1 list -- M_STATE_NEEDS_ROOT
as_user vl_prints "nor does it tell a user whether a start would succeed" check -- M_CHECK_START_NOT_KNOWN nvidia-222 /run/vgpu-lease -- M_RUN_AS_ROOT
find "$root/run/vgpu-lease" "$root/var/lib/vgpu-lease" -type f ! -name '*lock' ! -name work -exec chmod 644 {} +
guest 2 nvidia-222
domain 3 "$(uuid 3)" nvidia-222 >"$tmp/vm2.xml"
all "after the next hook"
is "$(others_may ! -perm -004)|$(others_may -perm /022)" "|" "all of it may be read, and none written"
is "$(cd "$root" && find run/vgpu-lease \( -name '*lock' -o -name work \) -perm /077)" "" "the locks are not opened to anybody"

# Distributions close directories of libvirt to users.
mkdir -p "$root/etc/libvirt/qemu"
for closed in etc/libvirt etc/libvirt/qemu etc/libvirt/hooks; do
	mode=$(stat -c %a "$root/$closed")
	chmod go-rwx "$root/$closed"
	as_user vl check
	nothing "what is closed to a user is no fault of the host: $closed" "$(grep FAIL <<<"$out")"
	holds "but a reason to be root: $closed" grep -qi "$root/$closed.*permission denied; run as root" <<<"$out"
	as_user vl status
	nothing "nor is it one in status: $closed" "$(grep FAIL <<<"$out$err")"
	chmod "$mode" "$root/$closed"
done

# What root would be refused is unknown to a user who may not read a file that it depends on.
unknown() { # SENTENCE FILE STATUS: of a start with vm2.xml; STATUS is root's
	vl_ends "root knows it: $1" "$3" plan "$tmp/vm2.xml"
	chmod 600 "$2"
	as_user vl_says "$1" 1 plan "$tmp/vm2.xml" -- M_PLAN_CANNOT_TELL 'domain vm3' -- M_DENIED "$2"
	as_user vl_json "in JSON it is an error: $1" '1 ["error","version"]' keys plan "$tmp/vm2.xml"
	as_user vl check
	is "$(says_times M_CHECK_REFUSED nvidia-222 <<<"$out")|$(grep FAIL <<<"$out" | grep -v 'run as root$')" "0|" "nor does check say so: $1"
	chmod 644 "$2"
}
cp "$tmp/vm1.xml" "$root/etc/libvirt/qemu/vm9.xml"
configure nvidia-222 quota 'none = 1'
unknown "whether the quota is exhausted" "$root/etc/libvirt/qemu/vm9.xml" 1
of_nova nvidia-222
unknown "what a closed nova.conf enables" "$root/etc/nova/nova.conf" 0
chmod 600 "$root/etc/nova/nova.conf"
configure devices 'nova_conf = /etc/nova/nova.conf' policy 'lock_timeout = x'
as_user vl check
is "$(grep FAIL <<<"$out" | grep -c 'nova.conf: Permission denied; run as root$')|$(grep FAIL <<<"$out" | grep -vc 'run as root$')" "1|1" \
	"nor is it a mistake beside one"
chmod 644 "$root/etc/nova/nova.conf"
configure nvidia-222 nvidia-1147

denied() { as_user vl "${@:2}"; is "$status|$(grep -ci "permission denied; run as root" <<<"$err")" "1|1" "$1"; }
changes() { # WHEN
	local command
	for command in "release $(uuid 1)" gc 'retype 0000:84:00.0 nvidia-222' \
		{'attach vm1',"detach vm1 $(uuid 1)",'suspend vm1','resume vm1'}' --connect test:///default'; do
		in_words denied "${command%% *} $1" "$command"
	done
}
changes "by another user"
chmod 600 "$conf_path"
denied "metrics without the configuration" metrics
denied "gc --dry-run without it" gc --dry-run
as_user vl_says "list goes on with a warning" 0 list -- M_DENIED "$conf_path"
install "$builddir/vgpu-leased" "$work/bin"
holds "--check-config advises root, too" says M_DENIED "$conf_path" < <(as_nobody "$work/bin/vgpu-leased" --root "$root" --check-config 2>&1)
chmod 644 "$conf_path"
find "$root/run/vgpu-lease" "$root/var/lib/vgpu-lease" -type d -exec chmod 700 {} +
changes "where the state is closed"
denied "gc --dry-run where the state is closed" gc --dry-run
denied "release --dry-run where the state is closed" release --dry-run "$(uuid 1)"
denied "metrics where the state is closed" metrics
holds "and nothing has changed" test -e "$root/run/vgpu-lease/leases/$(uuid 1)"
tap_done
