#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease attach, detach, suspend, resume where they end early: what libvirt says no to leaves nothing behind. The
# libvirt is its own made-up one, which has domains but no devices; tests/vm has the rest.
. "$(dirname "$0")/../../lib/cli.sh"
host t4 nvidia-222 policy 'release_timeout = 1' 'driver_cleanup = 0'
test_node 1 >"$tmp/node.xml"
libvirt=test://$tmp/node.xml
leased() { ls "$root/run/vgpu-lease/leases"; }
made() { ls "$root/sys/bus/mdev/devices"; }

vl_fails "a simulated host has no libvirt" 1 attach vm1 -- M_NO_LIBVIRT "$root"
vl_fails "a domain that is not there" 1 attach --connect "$libvirt" vm2 -- M_LIBVIRT_SAYS vm2 "Domain not found"
vl_says "a libvirt that is not there" 1 attach --connect "test:///nowhere" vm2 -- M_NO_CONNECTION test:///nowhere

vl_says "what libvirt refuses is an error" 1 attach --connect "$libvirt" vm1 -- M_NOT_ATTACHED vm1
is "$status|$(leased)|$(made)" "1||" "and leaves no lease and no device"
vl_says "a type that nobody knows" 1 attach --connect "$libvirt" --type nvida-222 vm1 -- M_NO_TYPE_SIMILAR nvida-222 nvidia-222

vl_like "a dry run takes a type as NVIDIA calls it, and tells what would be done" \
	"0|create *-*, nvidia-222 on 0000:84:00.0 (*)"$'\n'"attach it to domain vm1, and add it to its definition|" attach --connect "$libvirt" --dry-run --type T4-1B --persistent vm1
is "$err|$(leased)|$(made)" "||" "and does nothing"
vl_says "it is refused as an attach is" 1 attach --connect "$libvirt" --dry-run --type nvida-222 vm1 -- M_NO_TYPE_SIMILAR nvida-222 nvidia-222

# attach and its dry run refuse a full, a read-only and an untrusted state in the same words.
ids='s/[0-9a-f]\{8\}-[0-9a-f-]*/ID/g'
alike() { # SENTENCE: a dry run and the command itself, whose UUIDs are random
	local dry
	vl attach --connect "$libvirt" --dry-run vm1 && dry="$status|$(sed "$ids" <<<"$err")"
	vl attach --connect "$libvirt" vm1
	is "$status $dry" "1 1|$(sed "$ids" <<<"$err")" "a dry run of attach is refused as attach is: $1"
}
for directory in . leases seen pgpu; do
	chmod 775 "$root/run/vgpu-lease/$directory"
	alike "$directory is others' to write to"
	for words in "detach --connect $libvirt vm1 $(uuid 1)" "release $(uuid 1)" gc "retype 0000:84:00.0 nvidia-223"; do
		in_words vl "$words --dry-run" && dry="$status|$err"
		in_words vl "$words"
		is "$status $dry" "1 1|$err" "$directory: so is that of ${words%% *}"
	done
	chmod 755 "$root/run/vgpu-lease/$directory"
done
mount -t tmpfs -o size=256k,nr_inodes=60,mode=755 none "$root/run"
trap 'umount -l "$root/run"; clean_up' EXIT
mount -o remount,ro "$root/run"
alike "an empty, read-only /run"
mount -o remount,rw "$root/run"
vl attach --connect "$libvirt" vm1
mount -o remount,ro "$root/run"
alike "a read-only /run"
mount -o remount,rw "$root/run"
for ((i = 0; i < 60; i++)); do : 2>/dev/null >"$root/run/more-$i"; done
alike "a /run without inodes"
umount -l "$root/run"
trap clean_up EXIT

vl_fails "a vGPU that the domain does not have" 1 detach --connect "$libvirt" vm1 "$(uuid 1)" -- M_NOT_ITS_VGPU vm1 "$(uuid 1)" vm1
vl_is "no ID" "2||$(message M_USAGE "$(message M_NEEDS_OPERAND detach ID)" " detach")" detach vm1
vl_is "an ID that is none" "2||$(message M_USAGE "$(message M_BAD_ID nonsense)" " detach")" detach vm1 nonsense
vl_ends "one word too many" 2 detach vm1 "$(uuid 1)" more
vl_ends "an option of another command" 2 suspend --persistent vm1

# An interrupted attach leaves a lease of a vGPU that the domain does not have.
call prepare begin 1
vl detach --connect "$libvirt" --dry-run vm1 "$(uuid 1)"
is "$status|$out|$(leased)" "0|remove $(uuid 1), nvidia-222 on 0000:84:00.0|$(uuid 1)" "a dry run tells of it, and releases nothing"
vl_is "a lease of a vGPU that the domain does not have is released" "0|$(message M_DETACHED "$(uuid 1)" vm1)|" \
	detach --connect "$libvirt" vm1 "$(uuid 1)"
is "$(leased)|$(made)" "|" "with its device"

vl_fails "a domain without vGPUs needs no help to be saved" 1 suspend --connect "$libvirt" vm1 -- M_SUSPEND_NEEDLESS vm1
vl_fails "one that runs with all that it has is not resumed" 1 resume --connect "$libvirt" vm1 -- M_RESUME_NEEDLESS vm1

call prepare begin 1
slow() { # COMMAND ARGUMENT...: on a terminal, while somebody has the lock for a while
	flock "$root/run/vgpu-lease/lock" sleep 2.5 &
	eventually is_locked "$root/run/vgpu-lease/lock"
	on_terminal 80 "$builddir/vgpu-lease" --root "$root" "$1" --connect "$libvirt" "${@:2}"
	wait $!
}
like "$(slow attach vm1)" "$(message M_PROGRESS_ATTACH vm1)"$'\r'*$' \r'*"$(message M_NOT_ATTACHED vm1 "*")"* \
	"a slow attach is told on a terminal, until it ends"
like "$(slow detach vm1 "$(uuid 1)")" \
	"$(message M_PROGRESS_DETACH "$(uuid 1)" vm1)"$'\r'*$' \r'*"$(message M_DETACHED "$(uuid 1)" vm1)"* "so is a slow detach"
is "$(leased)|$(made)" "|" "which is complete"
# An interrupted suspend: the running domain has the record, but not the vGPU.
test_node 1 "" "$(suspended_record "$(mdev_hostdev "$(uuid 1)")")" >"$tmp/suspended.xml"
like "$(libvirt=test://$tmp/suspended.xml slow resume vm1)" \
	"$(message M_PROGRESS_RESUME vm1)"$'\r'*$' \r'"vgpu-lease: "* "so is a slow resume"
is "$(leased)|$(made)" "|" "and what libvirt did not attach is not leased"

new_host l40s+flex nvidia-1146@10de:26b9 vf_flex@8086:56c0 'mdev_class = CUSTOM_FLEX'
vl_says "a type that is not enabled is refused with those that are" 1 attach --connect "$libvirt" --type nvidia-1145 vm1 \
	-- M_TYPE_NOT_ENABLED nvidia-1145 "nvidia-1146, flex"
# The libvirt of Debian 13 attaches VFs to its made-up domains, and forgets that at its end; that of Debian 12 refuses them.
# not_attached: the last attach ended so; in either case no lease is left.
not_attached() {
	local vf
	[ "$status" = 0 ] || { ended 1 M_NOT_ATTACHED vm1; return; }
	[ -n "$(leased)" ] || return
	for vf in $(leased); do "$builddir/vgpu-lease" --root "$root" release "$vf" || return; done
}
types() { cat "$root"/sys/bus/pci/devices/*/nvidia/current_vgpu_type | sort -u | xargs; }
for type in nvidia-1146 "NVIDIA L40S-2B" CUSTOM_FLEX; do
	vl attach --connect "$libvirt" --type "$type" vm1
	holds "a VF of $type is leased before libvirt refuses it" not_attached
	is "$(leased)|$(types)" "|0" "and released then"
done
for driver in none i915 vfio-pci; do
	control bind "0000:4d:00.0 $driver"
	vl attach --connect "$libvirt" --type CUSTOM_FLEX vm1
	holds "libvirt is to bind a plain VF to VFIO, whatever driver it has: $driver" not_attached
done
vl_says "with several types one must be named" 1 attach --connect "$libvirt" vm1 -- M_GIVE_TYPE "nvidia-1146, flex"
printf '[policy]\nmigrate_uuid = keep\n' >>"$root/etc/vgpu-lease.conf"
vl attach --connect "$libvirt" --type CUSTOM_FLEX vm1
holds "a policy for migrations does not matter here" not_attached

# A domain that has a VF of the pool, and a card that is passed through without us.
test_node 2 "$(vf_hostdev 0000:4d:00.2 yes)$(vf_hostdev 0000:01:00.2 yes)" >"$tmp/passed.xml"
passed=test://$tmp/passed.xml
sed "s/'test'/'qemu'/; s|</*node>||g" "$tmp/passed.xml" >"$tmp/passed-2.xml"
hook vm2 prepare begin - <"$tmp/passed-2.xml"
for named in a broken no; do
	vl_says "what is none of ours is not detached: $named configuration" 1 detach --connect "$passed" vm2 0000:01:00.2 \
		-- M_NOT_ITS_VGPU vm2 0000:01:00.2
	vl_says "and what is leased is tried" 1 detach --connect "$passed" vm2 0000:4d:00.2 -- M_NOT_DETACHED vm2
	if [ $named = a ]; then echo nonsense >"$root/etc/vgpu-lease.conf"; else rm -f "$root/etc/vgpu-lease.conf"; fi
done
configure nvidia-1146
vl_says "a VF that the configuration has in the pool no longer is in the way of a suspend, too" 1 suspend --connect "$passed" vm2 \
	-- M_NOT_DETACHED vm2
vl release 0000:4d:00.2

# Two attaches at once: another domain has leased the chosen VF before this one writes its lease.
configure 'vf_flex@0000:4d:00.1, 0000:4d:00.2' policy 'release_timeout = 1'
lock=$root/run/vgpu-lease/lock
at_the_lock() { # who takes the lock opens it for writing; a look at who is at work opens it for reading
	find "/proc/$attach/fd" -lname "$(realpath "$lock")" -printf "/proc/$attach/fdinfo/%f\n" 2>/dev/null |
		xargs -r grep -ls '^flags:.*2$' | grep -q .
}
tried() { [ "$status" = 0 ] || ended 1 M_NOT_ATTACHED vm1; }
meanwhile() { # N VF...: after the choice the domain vmN leases these, and the first of them is open
	exec 8<>"$lock"
	flock 8
	"$builddir/vgpu-lease" --root "$root" attach --connect "$libvirt" vm1 8>&- >"$tmp/out" 2>"$tmp/err" &
	attach=$!
	eventually at_the_lock
	for vf in "${@:2}"; do
		sed "s/0000:4d:00.2/$vf/; s/$(domain_uuid 2)/$(domain_uuid "$1")/" "$tmp/lease" >"$root/run/vgpu-lease/leases/$vf"
	done
	exec 7<>"$(node_of 0000:4d:00.1)" 8>&-
	status=0
	wait $attach || status=$?
	exec 7>&-
	err=$(cat "$tmp/err")
	rm -f "$root"/run/vgpu-lease/leases/*
}
hook vm2 prepare begin - <"$tmp/passed-2.xml"
cp "$root/run/vgpu-lease/leases/0000:4d:00.2" "$tmp/lease"
vl release 0000:4d:00.2
meanwhile 2 0000:4d:00.1
holds "a VF that somebody else leased since it was chosen: the next is tried" tried
meanwhile 1 0000:4d:00.1
holds "also one that the same domain got" tried
meanwhile 2 0000:4d:00.1 0000:4d:00.2
like "$status|$err" "1|vgpu-lease: domain vm1: *" "where there is no next, that is the refusal"
like "$err" "*domain vm2*" "which says who has it"

configure nvidia-1146 'max_instances = 1'
set -- "$root"/sys/bus/pci/devices/*/nvidia/current_vgpu_type
echo 1146 >"$1"
exec 7<>"$root/dev/vfio/$(basename "$(readlink "${1%/nvidia/*}/iommu_group")")"
vl attach --connect "$libvirt" vm1
exec 7>&-
like "$status|$err" "1|vgpu-lease: domain vm1: *" "without capacity there is none"

new_host t4 nvidia-222 nvidia-223
vl_fails "with several types one must be named" 1 attach --connect "$libvirt" vm1 -- M_GIVE_TYPE "nvidia-222, nvidia-223"
rm "$root/etc/vgpu-lease.conf"
vl_says "without a configuration nothing is attached" 1 attach --connect "$libvirt" vm1 -- M_NO_CONF_DO
tap_done
