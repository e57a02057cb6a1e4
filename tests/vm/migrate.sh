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
"$here/image.sh" 9>&- | sed 's/^/# image: /'
if [ -z "$keep" ]; then
	trap '"$here/vm.sh" stop "${hosts[@]}"' EXIT
	"$here/vm.sh" stop "${hosts[@]}"
fi
booting=()
for i in 0 1; do
	if ! "$here/vm.sh" run "${hosts[i]}" true 2>/dev/null; then
		"$here/vm.sh" boot "${hosts[i]}" $((i + 1)) | sed 's/^/# /' &
		booting+=($!)
	fi
done
for pid in "${booting[@]}"; do
	wait "$pid"
done
for name in "${hosts[@]}"; do
	if ! { install_in_machine && "$here/vm.sh" push "$name" "$here/pair.sh" "$here/migrations" /srv/vm; } >"$vm/install.log" 2>&1; then
		tail -n 20 "$vm/install.log" | sed 's/^/# /'
		echo "Bail out! vgpu-lease cannot be installed in machine $name; see $vm/install.log"
		exit 1
	fi
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
