#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease plan: what would happen to a domain, why, and what of its XML would change. Nothing is written. The hook decides alike.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:3+mtty 'nvidia-222@0000:84:00.0, 0000:85:00.0' 'max_instances = 1' nvidia-223@0000:86:00.0 mtty-1@mtty policy 'driver_cleanup = 0'

plan() {
	local n=$1 type=${2:-}
	shift $(($# < 2 ? $# : 2))
	domain "$n" "$(uuid "$n")" "$type" >"$tmp/vm$n.xml"
	vl plan "$tmp/vm$n.xml" "$@"
}
# plan_begins SENTENCE STATUS|LINE N [TYPE] [OPTION...]: the plan ends with this, and its first line is this.
plan_begins() { plan "${@:3}"; is "$status|$(head -n 1 <<<"$out")" "$2" "$1"; }
# plan_is SENTENCE STATUS|OUTPUT|ERROR N [TYPE] [OPTION...]: this is the plan; plan_like: this is a pattern of it.
plan_is() { plan "${@:3}"; is "$status|$out|$err" "$2" "$1"; }
plan_like() { plan "${@:3}"; like "$status|$out|$err" "$2" "$1"; }
state() { (cd "$root" && find run var etc sys/bus/mdev/devices | sort); }

before=$(state)
plan 1 nvidia-222
is "$status|$err" "0|" "a domain that can start"
is "$out" "$(message M_PLAN_CREATE "$(uuid 1)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST)")
$(message M_PLAN_NOT_ON 0000:85:00.0 "$(message M_PLAN_RANKED_LOWER)")
$(message M_PLAN_NOT_ON 0000:86:00.0 "$(message M_SERVES nvidia-223)")
$(message M_PLAN_NOT_ON mtty "$(message M_SERVES mtty-1)")" "each pGPU has its reason"
sed "s|</vgpu:lease>|<vgpu:device uuid='$(uuid 2)' type='nvidia-222'/>&|
	s|</devices>|$(mdev_hostdev "$(uuid 2)")&|" "$tmp/vm1.xml" >"$tmp/two.xml"
vl_prints "of two vGPUs each reason says which it is about" plan "$tmp/two.xml" -- M_PLAN_NOT_ON_FOR mtty "$(uuid 2)" "$(message M_SERVES mtty-1)"
vl_makes "- is standard input" "0 $(message M_PLAN_CREATE "$(uuid 1)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST)")" 'head -n 1' plan - <"$tmp/vm1.xml"
vl_is "and is called so where nothing comes from it" "1||$(message M_PLAN_REFUSED "standard input" prepare "$(message M_XML_EMPTY)")" plan - </dev/null
plan_is "a domain of which nothing says the type would be refused" "1||$(message M_PLAN_REFUSED "domain vm1" prepare \
	"vGPU $(uuid 1): $(message M_WHICH_TYPE_ABSENT "nvidia-222, nvidia-223, mtty-1")")" 1
plan_like "so would one of a type that nobody knows" \
	"1||$(message M_PLAN_REFUSED "domain vm1" prepare "vGPU $(uuid 1): $(message M_UNKNOWN_TYPE nvidia-999 "; *")")" 1 nvidia-999
is "$(state)" "$before" "nothing has been written"

domain 1 00000000-0000-0000-0000-000000000000 nvidia-222 >"$tmp/placeholder.xml"
vl_like "a placeholder would be refused" \
	"1|*|$(message M_PLAN_REFUSED "domain vm1" prepare "vGPU 00000000-0000-0000-0000-000000000000: $(message M_PLACEHOLDER vm1)")" plan "$tmp/placeholder.xml"
like "$out" "$(message M_PLAN_NEW_UUID "*" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST)" 00000000-0000-0000-0000-000000000000)*" \
	"and what it would get with a UUID of its own is told"
vl plan "$tmp/placeholder.xml" --json
jq -j .xml <<<"$out" >"$tmp/patched.xml"
fails "and nothing of the placeholder is left" grep -q 00000000-0000 "$tmp/patched.xml"
is "$(diff "$tmp/placeholder.xml" "$tmp/patched.xml" | grep -c '^>')" 2 "in the hostdev and in the metadata"

call prepare begin 1 nvidia-222
hold 1
plan 1 nvidia-222
leave
holds "a process that has its vGPU open, and how long a start waits, are told" says M_OPEN_WAIT "$(uuid 1)" $$ prepare 10 <<<"$err"
plan_begins "what it has it keeps" "0|$(message M_PLAN_KEEP "$(uuid 1)" nvidia-222 0000:84:00.0 "$(message M_PLAN_KEPT)")" 1 nvidia-222
call prepare begin 2 nvidia-222
plan 3 nvidia-222
is "$status" 1 "without capacity it would be refused"
is "$out" "$(message M_PLAN_NOT_ON 0000:84:00.0 "$(message M_CAP_REACHED 1)")
$(message M_PLAN_NOT_ON 0000:85:00.0 "$(message M_CAP_REACHED 1)")
$(message M_PLAN_NOT_ON 0000:86:00.0 "$(message M_SERVES nvidia-223)")
$(message M_PLAN_NOT_ON mtty "$(message M_SERVES mtty-1)")" "with the reason of each pGPU, none left out"
like "$err" "$(message M_PLAN_REFUSED "domain vm3" prepare "vGPU $(uuid 3): *")" "and the line that libvirt would show"
plan_like "as JSON" '1|*"possible": false,*"refusal": "*"remove_first": [[][]],*"steps": [[][]],*"passed_over": [[]*"pgpu": "0000:84:00.0",*"reason": "'"$(message M_CAP_REACHED 1)"'"*"xml": null*' \
	3 nvidia-222 --json

plan_is "a domain that runs here cannot arrive" "1||$(message M_PLAN_REFUSED "domain vm1" migrate "$(message M_PLAN_RUNS_HERE)")" \
	1 nvidia-222 --op migrate
vl release "$(uuid 2)"
plan_begins "another can" "0|$(message M_PLAN_RESERVE_IT "$(uuid 4)" nvidia-222 0000:85:00.0 "$(message M_PLAN_ONLY)")" 4 nvidia-222 --op migrate
plan_like "or be restored" "0|*" 4 nvidia-222 --op=restore
domain 7 00000000-0000-0000-0000-000000000000 nvidia-222 >"$tmp/placeholder.xml"
vl_like "the changed XML is in the JSON" \
	'0|*"action": "reserve"*"instead_of": "00000000-0000-0000-0000-000000000000"*"xml": "<domain*|' plan --json --op migrate "$tmp/placeholder.xml"
domain 7 00000000-0000-0000-0000-000000000000 mtty-1 | sed "s|type='mtty-1'/>|type='mtty-1'\nmodel='1:2'/>|" >"$tmp/lines.xml"
vl plan --json --op migrate "$tmp/lines.xml"
jq -j .xml <<<"$out" >"$tmp/lines.xml"
is "$(grep -c "model='1:2'\|00000000-0000" "$tmp/lines.xml")|$(grep -c "type='mtty-1'/>" "$tmp/lines.xml")" "0|1" "with all of it, also where a line goes"

orphan 0000:85:00.0 nvidia-223 5
configure nvidia-222@0000:85:00.0 policy 'reclaim_grace = 0'
plan 4 nvidia-222
is "$status|$(head -n 2 <<<"$out")" "0|$(message M_PLAN_REMOVE "$(uuid 5)" nvidia-223 0000:85:00.0 orphan)
$(message M_PLAN_CREATE "$(uuid 4)" nvidia-222 0000:85:00.0 "$(message M_PLAN_AFTER_ORPHAN "$(uuid 5)")")" "an orphan would make capacity, and is named"
holds "and is still there" exists 5
vl_like "also for a placeholder, which a start refuses" "1|$(message M_PLAN_REMOVE "$(uuid 5)" nvidia-223 0000:85:00.0 orphan)
$(message M_PLAN_NEW_UUID "*" nvidia-222 0000:85:00.0 "$(message M_PLAN_AFTER_ORPHAN "$(uuid 5)")" 00000000-0000-0000-0000-000000000000)*" plan "$tmp/placeholder.xml"
vl_like "and in its JSON" '1|*"remove_first": [[]*"'"$(uuid 5)"'"*"action": "create"*|?*' plan --json "$tmp/placeholder.xml"

configure nvidia-222@0000:84:00.0 'max_instances = 1' policy 'driver_cleanup = 0'
vl release "$(uuid 1)"
call prepare begin 8
age 8
plan 4 nvidia-222
is "$status|$(head -n 2 <<<"$out")" "0|$(message M_PLAN_REMOVE "$(uuid 8)" nvidia-222 0000:84:00.0 "$(message M_PLAN_DOMAIN_ENDED vm8)")
$(message M_PLAN_CREATE "$(uuid 4)" nvidia-222 0000:84:00.0 "$(message M_PLAN_AFTER_VGPU "$(uuid 8)" vm8)")" \
	"what a domain left that no longer runs is no orphan, and named"
configure nvidia-222 policy 'placement = spread'
plan_begins "what decided is told: spread" "0|$(message M_PLAN_CREATE "$(uuid 4)" nvidia-222 0000:86:00.0 "$(message M_PLAN_EMPTIEST)")" 4 nvidia-222
configure nvidia-222
plan_begins "or pack" "0|$(message M_PLAN_CREATE "$(uuid 4)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FULLEST)")" 4 nvidia-222

create 0000:84:00.0 nvidia-222 9
plan 9
like "$status|$(wc -l <<<"$out")|$out" "0|1|adopt $(uuid 9), nvidia-222 on 0000:84:00.0 (*" "what exists is adopted, and no pGPU chosen for it"
plan_like "a restore reserves it" "0|reserve $(uuid 9), nvidia-222 on 0000:84:00.0 (*" 9 nvidia-222 --op restore

sed '/<hostdev/,/<.hostdev/d' "$tmp/vm1.xml" >"$tmp/none.xml"
vl_like "a domain without a vGPU" "0|$(message M_PLAN_NOTHING vm1)|?*" plan "$tmp/none.xml"
vl_like "as JSON" '0|*"possible": true,*"steps": [[][]]*|' plan --json "$tmp/none.xml"
echo '<domain>' >"$tmp/broken.xml"
vl_like "a broken file is told" "1||$(message M_PROGRAM "$tmp/broken.xml: *")" plan "$tmp/broken.xml"
configure nvidia-222@0000:84:00.0 nvidia-223@0000:85:00.0,0000:86:00.0
for_guest "$(uuid 12)" nvidia-222 0000:84:00.0
plan 12 nvidia-222
is "$(grep ^not <<<"$out" | head -n 2)" "$(for n in 5 6; do message M_PLAN_NOT_ON 0000:8$n:00.0 "$(message M_SERVES nvidia-223)"; done)" \
	"a vGPU that can be where it was: the other pGPUs are judged too"
configure <<<'[nonsense]'
plan_like "and a broken configuration" "1||$(message M_PROGRAM "*/vgpu-lease.conf:1: *")" 1 nvidia-222
vl_like "JSON has its error, as that of other commands" '0|*"error": "*/vgpu-lease.conf:1: *"possible": true,*|' plan --json "$tmp/none.xml"
new_host t4+l40s/2 nvidia-222@10de:1eb8 nvidia-1147@10de:26b9
plan_like "a card of another kind is told so" "0|create *$(message M_PLAN_NOT_ON 0000:26:00.0 "*VF*")|*" 10 nvidia-222
vf=0000:26:00.4
vl_is "a start with a VF chooses none" "0|$(message M_PLAN_CREATE $vf nvidia-1147 $vf "$(message M_PLAN_NAMED_VF)")|" \
	plan - < <(vf_domain 11 $vf no nvidia-1147)
new_host t4:2 nvidia-222@0000:84:00.0 nvidia-230@0000:85:00.0
plan_is "of a class, the first enabled type goes first" "0|$(message M_PLAN_CREATE "$(uuid 12)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST_TYPE)")
$(message M_PLAN_NOT_ON 0000:85:00.0 "$(message M_PLAN_LATER_TYPE nvidia-230 nvidia-222)")|" 12 VGPU
new_host t4+a40/4 nvidia-231@0000:84:00.0 nvidia-558@0000:41:00.0
plan_like "of two models with the same type, the other is suitable too" "*$(message M_PLAN_NOT_ON 0000:41:00.0 "$(message M_PLAN_RANKED_LOWER)")*" 12 VGPU

### `vgpu-lease plan` and the hook decide alike: one exit status, one reason, for every file of xml-templates and in every
# situation here. Nothing is compared with a text of the test's own: what the hook says is what the plan has to say
new_host t4:2+a100:1+l40s/4:1
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

### What a start or an arrival waits for: a full card whose last guest has ended
configure nvidia-223@0000:85:00.0 'max_instances = 1' policy 'driver_cleanup = 4' 'release_wait = 0'
mdev "type='nvidia-223'" >"$tmp/waits.xml"
for op in migrate prepare; do
	call prepare begin 5 nvidia-223
	call release end 5 2>/dev/null
	vl_prints "$op: a pending release is waited for" plan --op $op "$tmp/waits.xml" -- M_PLAN_WAIT $vgpu "*"
	holds "$op: and how long is told" says M_WAITS $vgpu $op 30 <<<"$err"
	decide "$op: a pending release" PASSES "$tmp/waits.xml" $op
	holds "$op: the dry run tells of it as well" says M_PLAN_WAIT $vgpu "*" <"$tmp/dry"
	holds "$op: and the JSON" jq -e '.possible and (.warnings | length == 1)' <<<"$out"
done
pool

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
decide "9 MB with a PCI device, which is not searched" REFUSED "$(large "$(pci 0000:00:1f.6)")"

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
	vl_like "$1: so does its JSON" '0|*"steps": [],*"warnings": [*without a lease: */run/vgpu-lease*|*' plan --json "$tmp/exists.xml"
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
decide "an empty, read-only /run: a VF to be given a type" REFUSED "$(pci $vf nvidia-1147 | file)"
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
# The hook does not hang at a lock that is not a file; of a pGPU's lock, another pGPU serves.
odd() { # FILE MAKE EXPECTED SENTENCE
	rm -rf "$1" && $2 "$1"
	hook vm prepare begin - <"$tmp/new.xml" >/dev/null 2>&1
	is $? "$3" "$4: $2"
	[ "$1" != "$state/lock" ] || vl_says "plan says so: $2" "$3" plan "$tmp/new.xml" -- M_LOCK_NOT_A_FILE
	rm -r "$1"
	hook vm release end - <"$tmp/new.xml" >/dev/null 2>&1
}
for make in mkdir mkfifo 'ln -s /nonexistent'; do
	odd "$state/lock" "$make" 1 "the store's lock"
	odd "$(card_lock 0000:84:00.0)" "$make" 1 "the lock of the only pGPU"
done
configure nvidia-222 policy 'driver_cleanup = 0' 'release_wait = 5'
odd "$(card_lock 0000:84:00.0)" mkdir 0 "the lock of one of two pGPUs"
pool
mv "$state" "$root/run/elsewhere" && ln -s elsewhere "$state"
decide "a link in its place" REFUSED "$tmp/exists.xml"
rm "$state" && mv "$root/run/elsewhere" "$state"
umount -l "$root/run"
trap clean_up EXIT

### Locks
# plan does not wait for a lock: it tells who has it, and what the hook would do.
held_lock() { # FILE NAME OP XML: plan and the dry run tell of this lock, and pass
	take_lock "$state/$1"
	vl_ends "$2, $3: plan does not wait for a lock" 0 plan --op "$3" "$4"
	holds "it tells who has it, and how long the hook waits" says M_WOULD_WAIT "/run/vgpu-lease/$1" "$holder" "$3" 1 <<<"$err"
	vl_like "so does its JSON" "0|*\"warnings\": [*/run/vgpu-lease/$1: held by process $holder*|" plan --json --op "$3" "$4"
	dry_run "$3" "$4"
	is "$?|$(says_times M_WOULD_WAIT "/run/vgpu-lease/$1" "$holder" "$3" 1 <"$tmp/dry")" "0|1" "and the dry run"
	hook vm "$3" begin - <"$4" >/dev/null 2>"$tmp/hook"
	echo "# $? $(cat "$tmp/hook")"
	let_go
	hook vm release end - <"$4" >/dev/null 2>&1
}
pool
mdev "type='nvidia-223'" >"$tmp/223.xml"
held_lock lock "the store's lock" prepare "$tmp/223.xml"
holds "which the hook is refused over" says M_LOCK_HELD /run/vgpu-lease/lock "$holder" '*' <"$tmp/hook"
held_lock lock "the store's lock" migrate "$tmp/223.xml"
: >>"$(card_lock 0000:85:00.0)"
held_lock "$(lock_of 0000:85:00.0)" "a pGPU's lock" prepare "$tmp/223.xml"
holds "which the hook is refused over" says M_LOCK_HELD '*' "$holder" '*' <"$tmp/hook"
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
vl_like "of which plan says what it does not know" "0|$(message M_PLAN_UNKNOWN vm '*')|*" plan "$(pci 0000:00:1f.6 | file)"
rm "$root/etc/vgpu-lease.conf"
decide "no configuration" REFUSED "$(mdev "type='nvidia-222'" | file)"
decide "no configuration, and a placeholder" REFUSED "$(mdev "" 00000000-0000-0000-0000-000000000001 | file)"
decide "no configuration, and the vGPU exists" PASSES "$(mdev "" "$(uuid 9)" | file)"
decide "no configuration, arriving" REFUSED "$(mdev "type='nvidia-222'" | file)" migrate
decide "no configuration, and a VF to be given a type" REFUSED "$(pci $vf nvidia-1147 | file)"

vl_like "a file that is no XML would be refused" '1|*"domain": null*"possible": false,*"refusal": "*|*' \
	plan --json "$(file <<<'<domain')"
tap_done
