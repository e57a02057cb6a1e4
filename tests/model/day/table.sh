#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The table of doc/placement.md is what the simulated days give.
set -u
. "$(dirname "$0")/../../lib/tap.sh"

while IFS= read -r line; do
	holds "doc/placement.md has: $line" grep -qxF -- "    $line" <(sed 's/ *$//' "$srcdir/doc/placement.md")
done < <("$builddir/tests/model/day/day" | sed -n 's/^# //p')
holds "that is all of it" test "$tap_run" = 8
tap_done
