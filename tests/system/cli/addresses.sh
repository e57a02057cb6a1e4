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
	vl_ends "and so does gc" 0 gc --dry-run --pgpu $spelling
	vl_ends "and types" 0 types --pgpu $spelling
	vl_is "and inventory" "0|0000:84:00.0|" inventory --pgpu $spelling --output pgpu --no-headings
	vl_ends "and show" 0 show $spelling
	vl_ends "and retype" 0 retype $spelling nvidia-222 --dry-run
done

for command in "list" "types" "gc --dry-run" "status"; do
	# shellcheck disable=SC2086 # Several words they are.
	vl_ends "$command takes the address of a VF for its card" 0 $command --pgpu 0000:26:00.4
done
vl_is "and inventory shows that card" "0|0000:26:00.0|" inventory --pgpu 0000:26:00.4 --output pgpu --no-headings
vl_ends "retype, too" 0 retype 0000:26:00.4 nvidia-1147 --dry-run

for word in 84:00.0 0000:84:00:0 pci_0000_84_00_0; do
	vl_says "$word is refused with the address that was meant" 2 list --pgpu $word -- M_BAD_PGPU_SHORT $word 0000:84:00.0
	vl_says "as the ID of a vGPU likewise" 2 release $word -- M_SIMILAR 0000:84:00.0
done

tap_done
