#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Boards that share an ID, and drivers of different versions: what one has says nothing about the other.
. "$(dirname "$0")/../../lib/hook.sh"
host rtx6000+rtx8000+l40s
card=0000:26:00.0 types=$root/var/lib/vgpu-lease/types
pool() { # "ADDRESS TYPE" of each card of the pool
	lease inventory --json | python3 -c 'import json, sys
print(*[p["address"] + " " + str(p["type"]) for p in json.load(sys.stdin)["pgpus"] if p["in_pool"]], sep=", ")'
}
matches() { # MATCH_OF_RTX6000 MATCH_OF_RTX8000
	configure "nvidia-256@$1" "nvidia-264@$2"
}

### RTX 6000 and RTX 8000: 10de:1e30
matches 10de:1e30:12ba 10de:1e30:129e
is "$(pool)" "0000:65:00.0 nvidia-256, 0000:b3:00.0 nvidia-264" "a match tells two boards of one ID by their subsystem"
matches 10de:1e30:129e 10de:1e30:12ba
is "$(pool)" "" "and takes no other board"
matches 10de:1e30 10de:1e30
is "$(pool)" "0000:65:00.0 nvidia-256, 0000:b3:00.0 nvidia-264" "two matches are no conflict where a card offers one of the types"
typed nvidia-264 >"$work/8000.xml"
holds "a start knows it as well" prepare "$work/8000.xml"
is "$(parent_of $u1)" 0000:b3:00.0 "and goes to the right card"
release "$work/8000.xml"
matches 10de:1e30:12ba9 10de:1e30
holds "a subsystem has four digits" says M_CONF_BAD_MATCH 10de:1e30:12ba9 < <(lease check 2>&1)

### What is remembered is of one board and one version of the driver
configure "nvidia-9999@$card" nvidia-1147@0000:99:00.0
record() { printf '%s\n' "vgpu-lease types 1 all" "9999 : NVIDIA L40S-64Q" "1147 : NVIDIA L40S-1Q" >"$types/$1"; }
mkdir -p "$types"
record 10de:26b9
record 10de:26b9:10de:1851@535.1
record 10de:26b9:10de:9999@550.90.05
is "$(pool)" "" "a type that the driver no longer has is not served, whatever an earlier one had"
lease check >"$work/said"
holds "check says which driver had it" says M_GONE_WITH_DRIVER nvidia-9999 535.1 < <(tr -s ' ' <"$work/said")
fails "and retype is not advised" lease retype --dry-run $card nvidia-9999
record 10de:26b9:10de:1851@550.90.05
is "$(pool)" "" "nor what this version had before: an empty card shows all"
lease gc >/dev/null
fails "which replaces the record" grep -q 9999 "$types/10de:26b9:10de:1851@550.90.05"
holds "by what it lists" grep -q '^1147 : NVIDIA L40S-1Q$' "$types/10de:26b9:10de:1851@550.90.05"

### A2 and A16: 10de:25b6
new_host a2+a16
configure nvidia-746@10de:25b6 nvidia-713@10de:25b6
is "$(pool)" "0000:08:00.0 nvidia-746, 0000:0c:00.0 nvidia-713" "each board serves its own type"
is "$(lease types --json | python3 -c 'import json, sys
print(*[t["id"] + " " + str(t["capacity"]) for t in json.load(sys.stdin)["types"] if t["capacity"]], sep=", ")')" \
	"nvidia-746 4, nvidia-713 4" "and has the capacity of that alone"
tap_done
