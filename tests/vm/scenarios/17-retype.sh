# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vGPUs that nobody uses keep a card from changing its type: gc, retype, and a start with the new type
# serve TYPE [POLICY]
serve() { configure "$1@mtty" policy 'reclaim_grace = 0' "${@:2}"; }
orphan() { printf 'bbbbbbbb-0000-4000-8000-%012d' "$1"; }

# As OpenStack leaves them: made, defined, in no domain.
for n in {1..12}; do make_device "$(orphan "$n")"; done
run mdevctl define -u "$(orphan 1)"
check "one of twelve orphans is defined" same "$(mdevctl list -d | grep -c "$(orphan 1)")" 1
serve mtty-1 'reclaim = never'
define blocked "$U1"
errs "a domain of another type does not start" virsh start blocked
check "without capacity" shows mtty full
run vgpu-lease gc --dry-run
check "gc says why they stay" tells M_FOREIGN_STAYS
run vgpu-lease retype mtty mtty-1
check "retype says what is in the way" tells M_RETYPE_NOT_FREE mtty mtty-1 "12 vGPUs"
check "and leaves it there" [ "$(devices | wc -w)" = 12 ]

serve mtty-2
define user "$(orphan 12)"
virsh -q start user
serve mtty-1
run vgpu-lease retype mtty mtty-1
check "a card with a lease of another type keeps it" [ "$(grep -cE "^stays +$(orphan 12) +mtty-2 +mtty +active +user " <<<"$OUT")" = 1 ]
check "and all else that is on it" [ "$(devices | wc -w)" = 12 ]
virsh -q destroy user
virsh -q undefine user
within 15 no_lease

run vgpu-lease gc --dry-run --unused --type mtty-2
check "gc says what would go" [ "$(grep -cE '^remove .*(an orphan|unused):' <<<"$OUT")" = 12 ]
check "and nothing goes" [ "$(devices | wc -w)" = 12 ]
succeeds "retype frees the card" vgpu-lease retype mtty mtty-1
check "for all that it can make" tells M_RETYPE_FREE mtty mtty-1 24
check "with the definition" same "$(mdevctl list -d)" ''
succeeds "then the domain starts" virsh start blocked
check "with the new type" same "$(type_of "$U1")" mtty-1
virsh -q destroy blocked
