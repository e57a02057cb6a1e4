#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# migrate.sh [--keep] [MIGRATION...]   installs vgpu-lease in two test machines, between which domains migrate
#
# As run.sh, with the migrations/*.sh: each is run by pair.sh in the first machine, which commands the second.
set -euo pipefail
# shellcheck source=tests/vm/run.sh
. "$(dirname "$0")/run.sh"
hosts=(a b)

if [ $# = 0 ]; then
	mapfile -t migrations < <(cd "$here/migrations" && printf '%s\n' *.sh)
	set -- "${migrations[@]%.sh}"
fi
begin_run
"$here/image.sh" 9>&- | sed 's/^/# image: /' || bail_out "the image cannot be built"
if [ -z "$keep" ]; then
	trap '"$here/vm.sh" stop "${hosts[@]}"' EXIT
	"$here/vm.sh" stop "${hosts[@]}"
fi
booting=()
for i in 0 1; do
	name=${hosts[i]}
	if ! alive; then
		"$here/vm.sh" boot "$name" $((i + 1)) | sed 's/^/# /' &
		booting+=($!)
	fi
done
for pid in "${booting[@]}"; do
	wait "$pid" || bail_out "a machine does not start"
done
for name in "${hosts[@]}"; do
	ready_machine
	"$here/vm.sh" push "$name" "$here/pair.sh" "$here/migrations" /srv/vm
done
echo "# ready after $SECONDS s"
for migration; do
	echo "# $migration: $(sed -n '3s/^# //p' "$here/migrations/$migration.sh")"
	started=$SECONDS complete=''
	tally "$migration" < <("$here/vm.sh" run "${hosts[0]}" timeout 900 bash /srv/vm/pair.sh "$migration" </dev/null 2>&1)
	[ -n "$complete" ] || tally "$migration" <<<"not ok 0 - migration $migration comes to its end"
	echo "# $migration: $((SECONDS - started)) s"
done
echo "1..$number"
[ "$failures" = 0 ]
