#!/bin/bash
# That the rules of tests/lint/layers.sh catch what they are for: each is broken once, in a copy of the tree. Prints TAP.
set -u
cd "${srcdir:?}" || exit 1
export LC_ALL=C
. tests/lib/tap.sh

tree=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-lease-layers.XXXXXX")
trap 'rm -rf "$tree"' EXIT

# caught FILE LINE SENTENCE: with the line in that file, the file is named.
caught() {
	rm -rf "${tree:?}/src" "$tree/hooks"
	cp -r src hooks "$tree"
	printf '%s\n' "$2" >>"$tree/$1"
	holds "$3" grep -q "^$1:" <<<"$(bash tests/lint/layers.sh --tree "$tree")"
}

rm -rf "${tree:?}/src" && cp -r src hooks "$tree"
nothing "the tree as it is breaks no rule" "$(bash tests/lint/layers.sh --tree "$tree")"
caught src/base/text.c '#include "plan/plan.h"' "an include upwards"
caught src/cli/cmd.c '#include "daemon/handler.h"' "an include of a sibling"
caught hooks/qemu.c '#include "cli/cmd.h"' "an include of another program's"
caught src/survey/survey.c '#include "plan/internal.h"' "a private header of another folder"
caught src/state/store.c '#include "internal.h"' "a private header that is not there"
caught src/plan/plan.c '#include "pool.h"' "an include without its folder"
caught src/state/lease.c '#include <config/config.h>' "a file of ours in angle brackets"
caught src/state/lease.c '#include <config.h>' "or found by its last name"
caught src/state/lease.c '#  include "ops/attach.h"' "an include that is spelled otherwise"
caught src/plan/capacity.c '#include <unistd.h>' "I/O in a decision"
caught src/plan/capacity.h '#include <sys/stat.h>' "or in its header"
mkdir "$tree/src/attic"
holds "a folder that has no place in the order" grep -q '^src/attic:' <<<"$(bash tests/lint/layers.sh --tree "$tree")"
tap_done
