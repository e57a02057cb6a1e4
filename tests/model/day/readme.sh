#!/bin/bash
# The table of README.md is what the simulated days give.
set -u
. "${srcdir:?}/tests/lib/tap.sh"

while IFS= read -r line; do
	holds "README.md has: $line" grep -qxF -- "    $line" <(sed 's/ *$//' "$srcdir/README.md")
done < <("${builddir:?}/tests/model/day/day" | sed -n 's/^# //p')
holds "that is all of it" test "$tap_run" = 6
tap_done
