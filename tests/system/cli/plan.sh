#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease plan: what would happen to a domain, why, and what of its XML would change. Nothing is written.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:3+mtty 'nvidia-222@0000:84:00.0, 0000:85:00.0' 'max_instances = 1' nvidia-223@0000:86:00.0 mtty-1@mtty policy 'driver_cleanup = 0'

# plan N [TYPE] [OPTION...]: the plan of the domain vmN.
plan() {
	local n=$1 type=${2:-}
	shift $(($# < 2 ? $# : 2))

	domain "$n" "$(uuid "$n")" "$type" >"$tmp/vm$n.xml"
	vl plan "$tmp/vm$n.xml" "$@"
}
# plan_begins SENTENCE STATUS|LINE N [TYPE] [OPTION...]: the plan ends with this, and its first line is this.
plan_begins() { plan "${@:3}"; is "$status|$(head -n 1 <<<"$out")" "$2" "$1"; }
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
vl plan - <"$tmp/vm1.xml"
is "$status|$(head -n 1 <<<"$out")" "0|$(message M_PLAN_CREATE "$(uuid 1)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST)")" "- is standard input"
vl_is "and is called so where nothing comes from it" "1||$(message M_PLAN_REFUSED "standard input" prepare "$(message M_XML_EMPTY)")" plan - </dev/null
plan 1
is "$status|$out" "1|" "a domain of which nothing says the type"
is "$err" "$(message M_PLAN_REFUSED "domain vm1" prepare \
	"vGPU $(uuid 1): $(message M_WHICH_TYPE_ABSENT "nvidia-222, nvidia-223, mtty-1")")" "would be refused"
plan 1 nvidia-999
like "$status|$out|$err" "1||$(message M_PLAN_REFUSED "domain vm1" prepare "vGPU $(uuid 1): $(message M_UNKNOWN_TYPE nvidia-999 "; *")")" \
	"so would one of a type that nobody knows"
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
plan_begins "what it has it keeps" "0|$(message M_PLAN_KEEP "$(uuid 1)" nvidia-222 0000:84:00.0 "$(message M_PLAN_KEPT)")" 1 nvidia-222
call prepare begin 2 nvidia-222
plan 3 nvidia-222
is "$status" 1 "without capacity it would be refused"
is "$out" "$(message M_PLAN_NOT_ON 0000:84:00.0 "$(message M_CAP_REACHED 1)")
$(message M_PLAN_NOT_ON 0000:85:00.0 "$(message M_CAP_REACHED 1)")
$(message M_PLAN_NOT_ON 0000:86:00.0 "$(message M_SERVES nvidia-223)")
$(message M_PLAN_NOT_ON mtty "$(message M_SERVES mtty-1)")" "with the reason of each pGPU, none left out"
like "$err" "$(message M_PLAN_REFUSED "domain vm3" prepare "vGPU $(uuid 3): *")" "and the line that libvirt would show"
plan 3 nvidia-222 --json
like "$status|$out" '1|*"possible": false,*"refusal": "*"remove_first": [[][]],*"steps": [[][]],*"passed_over": [[]*"pgpu": "0000:84:00.0",*"reason": "'"$(message M_CAP_REACHED 1)"'"*"xml": null*' \
	"as JSON"

plan 1 nvidia-222 --op migrate
is "$status|$out|$err" "1||$(message M_PLAN_REFUSED "domain vm1" migrate "$(message M_PLAN_RUNS_HERE)")" \
	"a domain that runs here cannot arrive"
vl release "$(uuid 2)"
plan_begins "another can" "0|$(message M_PLAN_RESERVE_IT "$(uuid 4)" nvidia-222 0000:85:00.0 "$(message M_PLAN_ONLY)")" 4 nvidia-222 --op migrate
plan 4 nvidia-222 --op=restore
is "$status" 0 "or be restored"
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
vl plan "$tmp/placeholder.xml"
like "$status|$out" "1|$(message M_PLAN_REMOVE "$(uuid 5)" nvidia-223 0000:85:00.0 orphan)
$(message M_PLAN_NEW_UUID "*" nvidia-222 0000:85:00.0 "$(message M_PLAN_AFTER_ORPHAN "$(uuid 5)")" 00000000-0000-0000-0000-000000000000)*" \
	"also for a placeholder, which a start refuses"
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
plan 9 nvidia-222 --op restore
like "$status|$out" "0|reserve $(uuid 9), nvidia-222 on 0000:84:00.0 (*" "a restore reserves it"

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
plan 1 nvidia-222
like "$status|$out|$err" "1||$(message M_PROGRAM "*/vgpu-lease.conf:1: *")" "and a broken configuration"
vl_like "JSON has its error, as that of other commands" '0|*"error": "*/vgpu-lease.conf:1: *"possible": true,*|' plan --json "$tmp/none.xml"
new_host t4+l40s/2 nvidia-222@10de:1eb8 nvidia-1147@10de:26b9
plan 10 nvidia-222
like "$status|$out" "0|create *$(message M_PLAN_NOT_ON 0000:26:00.0 "*VF*")" "a card of another kind is told so"
vf=0000:26:00.4
vl_is "a start with a VF chooses none" "0|$(message M_PLAN_CREATE $vf nvidia-1147 $vf "$(message M_PLAN_NAMED_VF)")|" \
	plan - < <(vf_domain 11 $vf no nvidia-1147)
new_host t4:2 nvidia-222@0000:84:00.0 nvidia-230@0000:85:00.0
plan 12 VGPU
is "$status|$out" "0|$(message M_PLAN_CREATE "$(uuid 12)" nvidia-222 0000:84:00.0 "$(message M_PLAN_FIRST_TYPE)")
$(message M_PLAN_NOT_ON 0000:85:00.0 "$(message M_PLAN_LATER_TYPE nvidia-230 nvidia-222)")" "of a class, the first enabled type goes first"
new_host t4+a40/4 nvidia-231@0000:84:00.0 nvidia-558@0000:41:00.0
plan 12 VGPU
holds "of two models with the same type, the other is suitable too" says M_PLAN_NOT_ON 0000:41:00.0 "$(message M_PLAN_RANKED_LOWER)" <<<"$out"
tap_done
