#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The address of a pGPU, as other programs spell it, and the address of one of its VFs.
. "$(dirname "$0")/../../lib/cli.sh"

host t4+l40s/4

configure nvidia-222@0000:84:00.0 nvidia-1147@0000:26:00.0
call prepare begin 1 nvidia-222
# What is told of its age may be a second off.
untimed() { jq -c 'del(.leases[].since, .leases[].note)' <<<"$out"; }
vl list --json --pgpu 0000:84:00.0
leased=$(untimed)

for spelling in 0000:84:00.0 00000000:84:00.0; do
	vl list --json --pgpu $spelling
	is "$status|$(untimed)" "0|$leased" "list takes $spelling"
	vl gc --dry-run --pgpu $spelling
	is "$status" 0 "and so does gc"
	vl types --pgpu $spelling
	is "$status" 0 "and types"
	vl inventory --pgpu $spelling --output pgpu --no-headings
	is "$status|$out" "0|0000:84:00.0" "and inventory"
	vl show $spelling
	is "$status" 0 "and show"
	vl retype $spelling nvidia-222 --dry-run
	is "$status" 0 "and retype"
done

for command in "list" "types" "gc --dry-run" "status"; do
	# shellcheck disable=SC2086 # Several words they are.
	vl $command --pgpu 0000:26:00.4
	is "$status" 0 "$command takes the address of a VF for its card"
done
vl inventory --pgpu 0000:26:00.4 --output pgpu --no-headings
is "$status|$out" "0|0000:26:00.0" "and inventory shows that card"
vl retype 0000:26:00.4 nvidia-1147 --dry-run
is "$status" 0 "retype, too"

for word in 84:00.0 0000:84:00:0 pci_0000_84_00_0; do
	vl list --pgpu $word
	holds "$word is refused with the address that was meant" ended 2 M_BAD_PGPU_SHORT $word 0000:84:00.0
	vl release $word
	holds "as the ID of a vGPU likewise" ended 2 M_SIMILAR 0000:84:00.0
done

tap_done
