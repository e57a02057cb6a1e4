#!/bin/bash
# That the rules of tests/lint/layers.sh and messages.sh catch what they are for: each is broken once, in a copy of the
# tree. Prints TAP.
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
caught src/survey/survey.c '#include "plan/internal.h"' "a private header of another directory"
caught src/state/store.c '#include "internal.h"' "a private header that is not there"
caught src/plan/plan.c '#include "pool.h"' "an include without its directory"
caught src/state/lease.c '#include <config/config.h>' "a file of ours in angle brackets"
caught src/state/lease.c '#include <config.h>' "or found by its last name"
caught src/state/lease.c '#  include "ops/attach.h"' "an include that is spelled otherwise"
caught src/plan/capacity.c '#include <unistd.h>' "I/O in a decision"
caught src/plan/capacity.h '#include <sys/stat.h>' "or in its header"
mkdir "$tree/src/attic"
holds "a directory that has no place in the order" grep -q '^src/attic:' <<<"$(bash tests/lint/layers.sh --tree "$tree")"

# unfit LINE FILE TEXT SENTENCE: with the text in that file, the line is printed.
unfit() {
	rm -rf "${tree:?}/tests"
	cp -r tests "$tree"
	printf '%s\n' "$3" >>"$tree/$2"
	holds "$4" grep -qxF "$1" <<<"$(bash tests/lint/messages.sh --tree "$tree")"
}
table=tests/lib/messages
unfit "M_""BOGUS: is used by a test and not in $table" tests/system/hook/life.sh 'says M_''BOGUS' "a message that is not in the table"
unfit "$table: no test uses M_""BOGUS" $table 'M_'$'BOGUS\tbogus' "a message that no test looks for"
unfit "$table: twice: M_RELEASED" $table $'M_RELEASED\tbogus' "one key for two messages"

rm -rf "${tree:?}/src" "$tree/hooks" && cp -r src hooks doc "$tree"
echo 'const char *x = "a reason that nobody explained";' >>"$tree/src/plan/plan.c"
echo 'src/plan/attic.c' >>"$tree/tests/lint/not-refusals"
said=$(cd "$tree" && python3 tests/lint/refusals.py)
holds "a refusal that the guide does not explain" grep -q '^src/plan/plan.c: .*: a reason that nobody explained$' <<<"$said"
holds "an exception without a message" grep -q ': excepts nothing: src/plan/attic.c$' <<<"$said"

# ends COMMAND: what a test prints that calls this.
ends() { bash -c '. tests/lib/tap.sh; fails "x" '"$1"' <<<"text"; tap_done' 2>/dev/null; }
is "$(ends 'says M_''BOGUS')" "Bail out! no message is called 'M_""BOGUS'" "a key that is unknown ends a test, also where a no would pass"
is "$(ends 'says M_CONNECTED more')" "Bail out! M_CONNECTED: no gap for 'more'" "so do too many arguments"
# shellcheck disable=SC2016 # The inner shell's.
is "$(ends 'test "$(message M_FOREIGN_DEVICE)"')" "Bail out! M_FOREIGN_DEVICE: a gap without its argument" "or too few for a whole message"
tap_done
