#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `vgpu-lease plan` and the hook decide alike: one exit status, one reason, for every file of xml-templates and in every
# situation here. Nothing is compared with a text of the test's own: what the hook says is what the plan has to say.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2+a100:1+l40s/4:1
vgpu=4b20d080-1b54-4048-85b3-a6a62d165c01
vf=0000:26:00.4

# decide SENTENCE REFUSED|PASSES FILE [OP]: plan, plan --json, the hook's dry run and the hook itself; what a start or an arrival
# that passes has taken is released.
decide() {
	local file=$3 op=${4:-prepare} plan json dry start said expected=0 left refusal
	vl plan "$file" --op "$op" && plan=$status
	# A warning is the plan's own: the hook has nobody to tell it to.
	said=$(grep -v '^vgpu-lease: warning: ' <<<"$err")
	said=${said#vgpu-lease: *: "$op" would be refused: }
	vl plan --json "$file" --op "$op" && json=$status
	holds "$1: plan --json prints a document" jq -es 'length == 1' <<<"$out"
	refusal=$(jq -r '.refusal // ""' <<<"$out")
	dry_run "$op" "$file"
	dry=$?
	left=$(grep '^vgpu-lease: ' "$tmp/dry")
	# Only the hook's words are read on another host.
	local where="s|^vgpu-lease: domain vm: \(target \)\{0,1\}\(host $root: \)\{0,1\}||"
	hook vm "$op" begin - <"$file" >/dev/null 2>"$tmp/hook"
	start=$?
	hook vm release end - <"$file" >/dev/null 2>&1
	[ "$2" = PASSES ] || expected=1
	is "$start" $expected "$1: the hook's exit status"
	is "$plan|$json|$dry" "$start|$start|$start" "$1: that of plan, plan --json and the dry run"
	is "$said" "$(sed "$where" "$tmp/hook")" "$1: plan gives the hook's reason"
	is "$refusal" "$(sed "$where" "$tmp/hook")" "$1: so does its JSON"
	is "$left" "$(cat "$tmp/hook")" "$1: and the dry run"
}
# dry_run OP FILE: of the hook; what it says is in $tmp/dry.
dry_run() { "$hook" --root "$root" --dry-run -- vm "$1" begin - <"$2" >/dev/null 2>"$tmp/dry"; }

# mdev [ATTRIBUTES] [UUID] [MORE]: a domain with this vGPU, its <vgpu:device> with these attributes.
mdev() {
	local id=${2:-$vgpu}
	cat <<-EOF
		<domain type='kvm'><name>vm</name><uuid>8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01</uuid>
		<metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1' project='p'><vgpu:device uuid='$id' ${1-}/></vgpu:lease></metadata>
		<devices>$(mdev_hostdev "$id")${3-}</devices></domain>
	EOF
}
pci() { vf_xml vm 8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01 "$1" "${3:-no}" "${2-}"; } # ADDRESS [TYPE [MANAGED]]
file() { cat >"$tmp/x.xml"; echo "$tmp/x.xml"; }
pool() { # LINE...: more of the policy
	configure nvidia-222@0000:84:00.0 nvidia-223@0000:85:00.0 'max_instances = 1' 'mdev_class = CUSTOM_BIG' \
		nvidia-474@0000:61:00.0 nvidia-1147@10de:26b9 policy 'driver_cleanup = 0' 'release_wait = 5' 'lock_timeout = 1' "$@"
}

### The templates
configure nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 5'
for template in "$srcdir"/xml-templates/*.xml; do
	name=$(basename "$template" .xml)
	case $name in
	domain-*)
		# A definition has the <uuid> that libvirt gave it.
		sed '/<uuid>/d; s|<name>.*|<name>vm</name><uuid>8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01</uuid>|' "$template" >"$tmp/x.xml"
		;;
	metadata) mdev '' | sed -e "/<metadata>/r $template" -e '/<metadata>/d' >"$tmp/x.xml" ;;
	hostdev-*) mdev '' | sed -e "/<devices>/{s/<devices>.*/<devices>/;r $template
a</devices></domain>
}" -e '/<metadata>/d' >"$tmp/x.xml" ;;
	esac
	for op in prepare migrate; do
		expect=PASSES
		case $name/$op in
		domain-placeholder/prepare) expect=REFUSED ;;
		esac
		decide "$name, $op" $expect "$tmp/x.xml" $op
	done
done

### Which type
pool
decide "a type" PASSES "$(mdev "type='nvidia-222'" | file)"
decide "a placeholder" REFUSED "$(mdev "type='nvidia-222'" 00000000-0000-0000-0000-000000000001 | file)"
decide "a placeholder that arrives" PASSES "$(mdev "type='nvidia-222'" 00000000-0000-0000-0000-000000000001 | file)" migrate
decide "a placeholder beside a type that nobody knows" REFUSED "$(mdev "type='nvidia-9'" 00000000-0000-0000-0000-000000000001 | file)"
decide "a type that nobody knows" REFUSED "$(mdev "type='nvidia-999'" | file)"
decide "one that arrives" REFUSED "$(mdev "type='nvidia-999' name='GRID X'" | file)" migrate
decide "a class" PASSES "$(mdev "type='CUSTOM_BIG'" | file)"
decide "a class that nobody has" REFUSED "$(mdev "type='CUSTOM_NONE'" | file)"
decide "no type, and several" REFUSED "$(mdev "" "${vgpu%??}07" | file)"
decide "a word in the metadata that is none" REFUSED "$(mdev "type='nvidia-222' placement='up'" | file)"

### Which device
orphan 0000:85:00.0 nvidia-223 6
decide "no capacity" REFUSED "$(mdev "type='nvidia-223'" | file)"
pool 'reuse = never'
decide "no capacity for one that arrives" REFUSED "$(mdev "type='CUSTOM_BIG'" | sed "s/$vgpu/${vgpu%??}08/" | file)" migrate
pool 'reclaim_grace = 0'
decide "an orphan makes capacity" PASSES "$(mdev "type='nvidia-223'" | file)"
remove_device "$(uuid 6)" 2>/dev/null
pool
call prepare begin 5 nvidia-222
other=$(domain 5 "$(uuid 5)" nvidia-222 | sed 's|<name>.*|<name>vm</name>|; s|<uuid>.*</uuid>|<uuid>8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01</uuid>|')
decide "a vGPU of another domain" REFUSED "$(file <<<"$other")"
decide "a vGPU of another domain, arriving" PASSES "$(file <<<"$other")" migrate
pool 'reclaim_grace = 0' 'migrate_uuid = keep'
decide "arriving, and none but that will do" REFUSED "$(file <<<"$other")" migrate
pool quota 'none = 1' 'project:p = 0'
decide "a quota that is used up" REFUSED "$(mdev "type='nvidia-222'" | file)"
decide "for one that arrives" REFUSED "$(mdev "type='nvidia-222'" | file)" migrate
pool
call release end 5
create 0000:84:00.0 nvidia-222 9
hold 9
decide "a vGPU that is open" REFUSED "$(mdev "" "$(uuid 9)" | file)"
leave
decide "a vGPU that exists" PASSES "$(mdev "" "$(uuid 9)" | file)"
decide "one of another type" REFUSED "$(mdev "type='nvidia-223'" "$(uuid 9)" | file)"
decide "two hostdevs with one UUID" REFUSED "$(mdev "type='nvidia-222'" "$vgpu" "$(mdev_hostdev "$vgpu")" | file)"
libvirt_runs vm <<<"<domain type='kvm'><name>vm</name><uuid>8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01</uuid></domain>"
decide "a domain that runs here" REFUSED "$(mdev "type='nvidia-222'" | file)" migrate
rm "$root/run/libvirt/qemu/vm.xml"
decide "a source with another driver" REFUSED "$(mdev "type='nvidia-222' driver='1.2.3'" | file)" migrate
decide "a source on which it is another type" REFUSED "$(mdev "type='nvidia-222' name='GRID T4-2B'" | file)" migrate
echo "0000:85:00.0 off" >"$root/.kernel/control/register"
decide "a pGPU that is not ready" REFUSED "$(mdev "type='nvidia-223'" | file)"
echo "0000:85:00.0 on" >"$root/.kernel/control/register"
decide "MIG is off" REFUSED "$(mdev "type='nvidia-474'" | file)"

### VFs
decide "a VF" PASSES "$(pci $vf | file)"
decide "a VF of another type" REFUSED "$(pci $vf nvidia-1150 | file)"
decide "a VF that is not there" REFUSED "$(pci 0000:99:00.4 nvidia-1147 | file)"
decide "which can be had, arriving" PASSES "$(pci 0000:99:00.4 nvidia-1147 | file)" migrate
decide "a managed one" REFUSED "$(pci $vf "" yes | file)"
decide "a PCI device of somebody else's" PASSES "$(pci 0000:00:1f.6 | file)"
decide "a type that VFs have, for an mdev" REFUSED "$(mdev "type='nvidia-1147'" | file)"
decide "a type that mdevs have, for a VF" REFUSED "$(pci $vf nvidia-222 | file)"
decide "one that crosses" REFUSED "$(mdev "type='nvidia-1147' name='NVIDIA L40S-1Q'" | file)" migrate

### The file
decide "two requests, the second of which has no capacity" REFUSED "$(mdev "type='nvidia-223'" "$vgpu" "$(mdev_hostdev "${vgpu%??}02")" \
	| sed "s|</vgpu:lease>|<vgpu:device uuid='${vgpu%??}02' type='nvidia-223'/></vgpu:lease>|" | file)"
none="<domain type='kvm'><name>vm</name><uuid>8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01</uuid></domain>"
decide "a domain without a vGPU" PASSES "$(file <<<"$none")"
# large XML: with 9 MB before the devices
large() { (echo "${1%%<devices>*}<description>" && head -c 9000000 /dev/zero | tr '\0' x && echo "</description><devices>${1#*<devices>}") | file; }
decide "9 MB with a vGPU" REFUSED "$(large "$(mdev "type='nvidia-222'")")"
decide "9 MB with a vGPU, arriving" REFUSED "$(large "$(mdev "type='nvidia-222'")")" migrate
decide "9 MB with a PCI device of somebody else's" PASSES "$(large "$(pci 0000:00:1f.6)")"

### The state
# It cannot be written, or is not trusted; looking at it changes nothing.
pool
call prepare begin 7 nvidia-222 && call release end 7
mount -t tmpfs -o size=256k,nr_inodes=60,mode=755 none "$root/run"
trap 'umount -l "$root/run"; clean_up' EXIT
state=$root/run/vgpu-lease
fill() { cat /dev/zero >"$root/run/fill" 2>/dev/null; }
use_inodes() { for ((i = 0; i < 60; i++)); do : 2>/dev/null >"$root/run/more-$i"; done; }
# A child of the hook that is ending may still have a file open.
freeze() { eventually mount -o remount,ro "$root/run" 2>/dev/null; }
normal() { mount -o remount,rw "$root/run" && rm -f "$root"/run/{fill,more-*}; }
mdev "type='nvidia-222'" >"$tmp/new.xml"
mdev "type='nvidia-222'" "$(uuid 9)" >"$tmp/exists.xml"
mdev "type='nvidia-223'" "$(uuid 9)" >"$tmp/other.xml"
# unleased HOW: plan tells, as the hook's log does, that a domain starts without a lease, and why
unleased() {
	vl_prints "$1: plan tells that it starts without a lease" plan "$tmp/exists.xml" -- M_WITHOUT_LEASE vm '*'
	is "$(grep -c adopt <<<"$out")" 0 "$1: and of no adoption"
	vl_like "$1: so does its JSON" '0|*"steps": [],*"warnings": [*without a lease: */run/vgpu-lease*|*' \
		plan --json "$tmp/exists.xml"
	dry_run prepare "$tmp/exists.xml"
	holds "$1: and the dry run" says M_WITHOUT_LEASE vm '*' <"$tmp/dry"
}
# state_is HOW PASSES|REFUSED: of a domain whose vGPU is to be created, one that arrives, and one whose vGPU exists
state_is() {
	decide "$1: a vGPU to be created" REFUSED "$tmp/new.xml"
	[ "$2" = REFUSED ] || holds "$1: for this reason" grep -qE 'Read-only file system|No space left on device' "$tmp/hook"
	decide "$1: one that arrives" REFUSED "$tmp/exists.xml" migrate
	decide "$1: one that exists" "$2" "$tmp/exists.xml"
}
freeze
state_is "an empty, read-only /run" PASSES
unleased "an empty, read-only /run"
decide "an empty, read-only /run: one that exists as another type" PASSES "$tmp/other.xml"
normal
use_inodes
state_is "an empty /run without inodes" PASSES
normal
fill
state_is "a full /run" PASSES
normal
decide "a /run with space" PASSES "$tmp/new.xml"
freeze
state_is "a read-only /run" PASSES
unleased "a read-only /run"
is "$(ls "$state/leases")" "" "nothing is leased in it"
normal
use_inodes
state_is "a /run without inodes" PASSES
normal
for directory in . leases seen pgpu; do
	chmod 775 "$state/$directory"
	state_is "$directory that others may write to" REFUSED
	is "$(stat -c %a "$state/$directory")" 775 "$directory: stays as it is"
	chmod 755 "$state/$directory"
done
mkdir -p "$state/garbage" && chmod 775 "$state/garbage" && echo nonsense >"$state/leases/${vgpu%??}0c"
decide "a record that cannot be set aside" PASSES "$tmp/exists.xml"
rm -r "$state/garbage" "$state/leases/${vgpu%??}0c"
rm "$state/lock" && mkdir "$state/lock"
decide "a lock that is a directory" REFUSED "$tmp/exists.xml"
rmdir "$state/lock" && mkfifo "$state/lock"
decide "a lock that is a pipe" REFUSED "$tmp/exists.xml"
rm "$state/lock"
# The lock of the only pGPU of nvidia-222, and of one of two.
odd() { rm -rf "$(card_lock "$1")" && "${@:2}" "$(card_lock "$1")"; }
for make in mkdir mkfifo 'ln -s /nonexistent'; do
	in_words odd 0000:84:00.0 "$make"
	decide "a pGPU's lock by $make" REFUSED "$tmp/new.xml"
	decide "a pGPU's lock by $make: a vGPU that exists" PASSES "$tmp/exists.xml"
	decide "a pGPU's lock by $make: one that arrives" PASSES "$tmp/new.xml" migrate
done
configure nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 5'
decide "a pGPU's lock that is none: another pGPU serves" PASSES "$tmp/new.xml"
odd 0000:85:00.0 mkdir
decide "both pGPUs' locks" REFUSED "$tmp/new.xml"
rm -r "$(card_lock 0000:84:00.0)" "$(card_lock 0000:85:00.0)"
decide "and once they are gone" PASSES "$tmp/new.xml"
pool
mv "$state" "$root/run/elsewhere" && ln -s elsewhere "$state"
decide "a link in its place" REFUSED "$tmp/exists.xml"
rm "$state" && mv "$root/run/elsewhere" "$state"
umount -l "$root/run"
trap clean_up EXIT

### Locks
# plan does not wait for a lock: it tells who has it, and what the hook would do.
held_lock() { # FILE NAME OP XML: plan and the dry run tell of this lock, and pass
	exec 9<>"$state/$1"
	flock 9
	printf '%d %d\n' $$ "$(cut -d' ' -f22 /proc/$$/stat)" >"$state/$1"
	vl_ends "$2, $3: plan does not wait for a lock" 0 plan --op "$3" "$4"
	holds "it tells who has it, and how long the hook waits" says M_WOULD_WAIT "/run/vgpu-lease/$1" "$$" "$3" 1 <<<"$err"
	vl_like "so does its JSON" "0|*\"warnings\": [*/run/vgpu-lease/$1: held by process $$*|" plan --json --op "$3" "$4"
	dry_run "$3" "$4"
	is "$?|$(says_times M_WOULD_WAIT "/run/vgpu-lease/$1" "$$" "$3" 1 <"$tmp/dry")" "0|1" "and the dry run"
	hook vm "$3" begin - <"$4" >/dev/null 2>"$tmp/hook" 9>&-
	echo "# $? $(cat "$tmp/hook")"
	exec 9>&-
	hook vm release end - <"$4" >/dev/null 2>&1
}
pool
mdev "type='nvidia-223'" >"$tmp/223.xml"
held_lock lock "the store's lock" prepare "$tmp/223.xml"
holds "which the hook is refused over" says M_LOCK_HELD /run/vgpu-lease/lock $$ '*' <"$tmp/hook"
held_lock lock "the store's lock" migrate "$tmp/223.xml"
: >>"$(card_lock 0000:85:00.0)"
held_lock "$(lock_of 0000:85:00.0)" "a pGPU's lock" prepare "$tmp/223.xml"
holds "which the hook is refused over" says M_LOCK_HELD '*' $$ '*' <"$tmp/hook"
exec 9<>"$(card_lock 0000:84:00.0)"
flock 9
vl_works "a vGPU that exists needs no pGPU's lock, and plan tells of none" plan "$tmp/exists.xml"
exec 9>&-

### The configuration
configure <<<'[nonsense]'
decide "a wrong configuration" REFUSED "$(mdev "type='nvidia-222'" | file)"
decide "a wrong configuration, arriving" REFUSED "$(mdev "type='nvidia-222'" | file)" migrate
decide "a wrong configuration, and the vGPU exists" PASSES "$(mdev "" "$(uuid 9)" | file)"
decide "a wrong configuration, and it exists where the domain arrives" PASSES "$(mdev "" "$(uuid 9)" | file)" migrate
decide "and a domain without a vGPU" PASSES "$(file <<<"$none")"
decide "and one with a PCI device" PASSES "$(pci 0000:00:1f.6 | file)"
rm "$root/etc/vgpu-lease.conf"
decide "no configuration" REFUSED "$(mdev "type='nvidia-222'" | file)"
decide "no configuration, and a placeholder" REFUSED "$(mdev "" 00000000-0000-0000-0000-000000000001 | file)"
decide "no configuration, and the vGPU exists" PASSES "$(mdev "" "$(uuid 9)" | file)"
decide "no configuration, arriving" REFUSED "$(mdev "type='nvidia-222'" | file)" migrate
decide "no configuration, and a VF to be given a type" REFUSED "$(pci $vf nvidia-1147 | file)"

### What is no domain's XML
vl_like "a file that is no XML would be refused" '1|*"domain": null*"possible": false,*"refusal": "*|*' \
	plan --json "$(file <<<'<domain')"
tap_done
