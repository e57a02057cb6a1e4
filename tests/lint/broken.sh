#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# That the rules of tests/lint/layers.sh, messages.sh, refusals.py, documents.py, manuals.py and language.py catch what they
# are for: each is broken once, in a copy of the tree. Prints TAP.
. "$(dirname "$0")/../lib/tap.sh"
cd "$srcdir" || exit 1

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
caught src/base/text.c '#include "decide/plan.h"' "an include upwards"
caught src/cli/cmd.c '#include "handler/handler.h"' "an include of a sibling"
caught hooks/qemu.c '#include "cli/cmd.h"' "an include of another program's"
caught src/look/survey.c '#include "decide/internal.h"' "a private header of another directory"
caught src/state/store.c '#include "internal.h"' "a private header that is not there"
caught src/decide/plan.c '#include "pool.h"' "an include without its directory"
caught src/state/lease.c '#include <config/config.h>' "a file of ours in angle brackets"
caught src/state/lease.c '#include <config.h>' "or found by its last name"
caught src/state/lease.c '#  include "act/attach.h"' "an include that is spelled otherwise"
caught src/decide/capacity.c '#include <unistd.h>' "I/O in a decision"
caught src/decide/capacity.h '#include <sys/stat.h>' "or in its header"
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
echo 'const char *x = "a reason that nobody explained";' >>"$tree/src/decide/plan.c"
echo 'src/decide/attic.c' >>"$tree/tests/lint/not-refusals"
said=$(cd "$tree" && python3 tests/lint/refusals.py)
holds "a refusal that the guide does not explain" grep -q '^src/decide/plan.c: .*: a reason that nobody explained$' <<<"$said"
holds "an exception without a message" grep -q ': excepts nothing: src/decide/attic.c$' <<<"$said"

cp -r README.md SECURITY.md man etc "$tree"
echo 'const char *y = "a reason (troubleshooting: a-heading-that-is-not-there)";' >>"$tree/src/decide/plan.c"
holds "a message that names a heading the guide has not" grep -q '^src/decide/plan.c: .* has no heading #a-heading-that-is-not-there$' \
	<<<"$(cd "$tree" && python3 tests/lint/documents.py)"

# misprinted CHANGE COMPLAINT SENTENCE: with that change, for sed, to a manual page, the complaint names it.
misprinted() {
	rm -rf "${tree:?}/man" && mkdir "$tree/man"
	sed "$1" man/vgpu-leased.8 >"$tree/man/vgpu-leased.8"
	holds "$3" grep -q "^man/vgpu-leased.8: $2" <<<"$(cd "$tree" && python3 tests/lint/manuals.py)"
}
fails "the page as it is, with an example early" misprinted '' '' ''
misprinted '1,/^\.Ed/{/^\.Bd/,/^\.Ed/d}' '[0-9]* lines before the first example' "an example that comes late"
misprinted '/^\.Bd/,/^\.Ed/d; /^\.Dl/d' 'has no example' "or never"
misprinted '/^\.tr/d' 'a hyphen that cannot be typed: ' "an option whose hyphens are typographic"
misprinted '/^\.de hy/,/^\.nh/d' 'a hyphen that cannot be typed: ' "a word that is hyphenated"
misprinted 's/^\.tr.*/.tr -\\-/' 'a curly apostrophe: ' "a quote that is typographic"
# shellcheck disable=SC2016 # $ is sed's.
misprinted '$a .Pp\nnova-compute nova-compute nova-compute nova-compute nova-compute nova-compute nova-compute' \
	'broken at the end of a line: nova-compute$' "a name that is broken at its hyphen"
misprinted "\$a .Dl # printf 'a\\\\vb'" 'not rendered as written: # printf ' "a command with an escape that is roff's"
# shellcheck disable=SC2016
misprinted '$a .Bd -literal\n# vgpu-lease status --domain vm1 --pgpu 0000:84:00.0 --type nvidia-222 --state active\n.Ed' 'wider than 78 columns: ' "a line that is too wide"
# shellcheck disable=SC2016
misprinted '$a .Unknown' 'groff: ' "a macro that is none"

# shellcheck disable=SC1090 # One of its functions, for a tree without scripts and manual pages.
. <(sed -n '/^unlicensed() {/,/^}/p' tests/lint/run.sh)
# shellcheck disable=SC2034 # Read by it.
scripts=() manuals=()
echo 'print(1)' >"$tree/new.py"
is "$(unlicensed "$tree/new.py")" "$tree/new.py: no SPDX line in its first three" "a program that does not name its licence"

cp CONTRIBUTING.md NEWS "$tree" && cp src/decide/plan.c "$tree/src/decide/"
cp tests/lint/language.py tests/lint/old-words "$tree/tests/lint/"
# worded FILE LINE FOUND SENTENCE: with the line in that file, this word is found in it.
worded() {
	cp "$1" "$tree/$1"
	printf '%b\n' "$2" >>"$tree/$1"
	holds "$4" grep -q "^$1:[0-9]*: '$3': " <<<"$(cd "$tree" && python3 tests/lint/language.py)"
	cp "$1" "$tree/$1"
}
worded src/cli/out.c 'const char *z = "it is told";' told "an old word in a message"
worded hooks/qemu.c 'const char *z = "it goes\\n" "on";' 'goes on' "also in two strings"
worded etc/vgpu-lease.conf '# At most so\n# many.' 'so many' "in a comment of the configuration, over the end of a line"
worded man/vgpu-lease.8 'Of a domain:' 'Of a' "in a manual page"
worded doc/quickstart.md 'Also for guests, too.' ', too' "in a document"
echo '/* It is told; a character, '"'\"'"', and no string: told */' >>"$tree/src/cli/out.c"
nothing "and none that only a comment has" "$(cd "$tree" && python3 tests/lint/language.py)"

# ends COMMAND: what a test prints that calls this.
ends() { bash -c '. tests/lib/tap.sh; fails "x" '"$1"' <<<"text"; tap_done' 2>/dev/null; }
is "$(ends 'says M_''BOGUS')" "Bail out! no message is called 'M_""BOGUS'" "a key that is unknown ends a test, also where a no would pass"
is "$(ends 'says M_CONNECTED more')" "Bail out! M_CONNECTED: no gap for 'more'" "so do too many arguments"
# shellcheck disable=SC2016 # The inner shell's.
is "$(ends 'test "$(message M_FOREIGN_DEVICE)"')" "Bail out! M_FOREIGN_DEVICE: a gap without its argument" "or too few for a whole message"

# A sentence that waits for a change to come fails if it holds already, and not before.
waits() { bash -c '. tests/lib/tap.sh; awaits "a change" '"$1"'; tap_done'; echo $?; }
is "$(waits 'holds "x" false' | xargs)" "not ok 1 - x # TO""DO a change 1..1 0" "what is expected to fail may"
is "$(waits 'holds "x" true' | xargs)" "ok 1 - x # TO""DO a change 1..1 1" "and is not to hold unnoticed"
# shellcheck disable=SC1090 # Two of its functions.
. <(sed -n '/^count() {/,/^}/p; /^what_failed() {/,/^}/p' bootstrap)
printf '%s\n' 'ok 1 - a' 'not ok 2 - b # TO''DO c' 'ok 3 - d # TO''DO c' 'ok 4 - e # SKIP f' 'not ok 5 - g' >"$tree/log"
is "$(count "$tree/log")" "1 2 1 1" "the totals have it neither as passed nor as failed"
is "$(what_failed "$tree/log" | cut -c 1-8 | xargs)" "ok 3 - d ok 4 - e not ok 5" "and what is listed is the rest"
printf '# %s:  1\n' PASS XFAIL XPASS SKIP >"$tree/log"
is "$(count "$tree/log")" "1 1 1 1" "in automake's sums as well"
tap_done
