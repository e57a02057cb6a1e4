#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a reader of the code relies on, one rule a test: layout, size, layers, static analysis, scripts, documents.
# Run by `make lint`, which says where the tree is (srcdir), where it was built (builddir) and how it is compiled (LINT_FLAGS).
# With LINT=quick in the environment the analyzers are left out.
cd "${srcdir:?run it with: make lint}" || exit 1

. tests/lib/tap.sh

# The files that we wrote: no build directory, nothing that autotools made.
tree() {
	find . \( -path './.git' -o -path './build*' -o -path './autom4te.cache' -o -path './m4' -o -path './debian/*/*' \) -prune \
		-o -type f \( "$@" \) -print | sed 's,^\./,,' | sort
}

made='aclocal.m4|configure~?|Makefile\.in|(tests/vm/driver/)?COPYING'
mapfile -t c_files < <(tree -name '*.[ch]')
mapfile -t c_sources < <(tree -name '*.c')
# What is compiled with the kernel's headers is the kernel's build to judge, and under the kernel's licence.
mapfile -t our_sources < <(printf '%s\n' "${c_sources[@]}" | grep -v '^tests/vm/driver/')
mapfile -t scripts < <(tree ! -path "./tests/fuzz/corpus/*" | grep -vxE "$made" |
	xargs grep -lE "^#!/(bin/(ba)?sh|usr/bin/env bash)|^# shellcheck shell=")
mapfile -t manuals < <(tree -path './man/*.[1-8]')
mapfile -t texts < <(tree ! -path './tests/fuzz/corpus/*' ! -path './tests/trees/*' ! -path './tests/data/*' | grep -vxE "$made" |
	xargs grep -lI .)
# This file has to name what no other may.
mapfile -t shipped < <(printf '%s\n' "${texts[@]}" | grep -vxF tests/lint/run.sh)

# A function of the kernel's layout: from a brace in column 0 to the one that ends it.
long_functions() {
	awk 'FNR == 1 { name = "" }
		/^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^\{/ { start = FNR }
		/^\}/ && start && FNR - start - 1 > (FILENAME ~ /^tests/ ? 80 : 50) {
			print FILENAME ": " name ": " FNR - start - 1 " lines"
		}
		/^\}/ { start = 0 }' "${c_sources[@]}"
}

# A tab of the indent is eight columns; a character of more than one byte is one (mawk counts bytes: those behind the first go).
long_lines() {
	awk '{ line = $0; gsub(/\t/, "        ", line); gsub(/[\200-\277]/, "", line) }
		length(line) > 120 && !/"/ { print FILENAME ":" FNR }' "${c_files[@]}"
}

unnamed_files() {
	local f licence
	for f in "${c_files[@]}"; do
		licence=LGPL-2.1-or-later
		[[ $f != tests/vm/driver/* ]] || licence=GPL-2.0-only
		[ "$(head -n 1 "$f")" = "/* SPDX-License-Identifier: $licence */" ] && [[ $(sed -n 2p "$f") == /\** ]] || echo "$f"
	done
}

# Data and documents are covered by README.md.
unlicensed() {
	local f
	printf '%s\n' "${scripts[@]}" "${manuals[@]}" "$@" | grep -v '^\.ci/' | sort -u | while IFS= read -r f; do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: LGPL-2\.1-or-later$' || echo "$f: no SPDX line in its first three"
	done
}

# findings_first COMMAND...: what it prints, and before that a line for each finding: the details of one file can be longer than what
# is shown of a failure.
findings_first() {
	local said status=0
	said=$("$@" 2>&1) || status=$?
	[ -z "$said" ] || printf '%s\n' "$said" | sed -nE 's,^([^ :]+:[0-9]+):[0-9]+: (error|warning|performance|portability): ,\1: ,p' | sort -u
	[ -z "$said" ] || printf '%s\n' "$said"
	return $status
}

# The analyzer's search ends after 40,000 states of a function (its own default takes five times as long to find the same).
tidy() {
	local search='--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000'
	# shellcheck disable=SC2016 # $f and $bad are the inner shell's.
	printf '%s\n' "${our_sources[@]}" | xargs -P 2 -n 4 bash -c '
		for f; do
			said=$(clang-tidy-19 --quiet '"$search"' "$f" -- '"$LINT_FLAGS"' 2>/dev/null) || { printf "%s\n" "$said"; bad=1; }
		done
		exit ${bad:-0}' tidy
}

# Not its style group: the scope of variables and the like are the reviewer's.
cppchecked() {
	cppcheck -q -j 2 --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
		--suppressions-list=tests/lint/cppcheck.supp -D_GNU_SOURCE -D__linux__ -DXML_SONAME='"libxml2.so"' \
		-DPACKAGE_NAME='"vgpu-lease"' -DPACKAGE_VERSION='"0"' -Isrc -Itests "${our_sources[@]}"
}

# Each script is read with what it sources. SC2119: a function's arguments may be left out, as those of prepare and release.
shellchecked() { printf '%s\n' "${scripts[@]}" | xargs -P 2 -n 8 shellcheck -x -P SCRIPTDIR:.:tests/lib -e SC2119; }

unfinished='\<(TO''DO|FIX''ME|X''XX)\>|^(<{7}|>{7}) '
# What the glossary of ARCHITECTURE.md has other words for: directory, failed attempt, release, history, reclaimable, request, facts,
# framework change, missing, capacity, limited. A member of a library's structure and systemd's multi-user.target.wants are theirs.
old_words='(^|[^[:alnum:]_.>])(folders?|mishaps?|give-?backs?|(give|gives|gave|given|giving) back|giveback|memos?|spares?|wish(es)?|stamps?'
old_words+='|crossings?|wants?|lacks?|lacking|rooms?|bounded|mine)\>'
own_paths='(^|[^[:alnum:]_.$}])/(work|root)/|\.\./shared|design\.md'

# These take a processor of their own, and tell in the end.
layers=$(mktemp)
trap 'rm -f "$layers"' EXIT
{
	tests/lint/layers.sh
	tests/lint/messages.sh
	tests/lint/broken.sh
} >"$layers" &
layered=$!

holds "clang-format finds nothing to change" clang-format-19 --dry-run -Werror "${c_files[@]}"
nothing "no line is longer than 120 columns, but for a string in it" "$(long_lines 2>&1)"
nothing "no function is longer than 50 lines, and none of a test than 80" "$(long_functions 2>&1)"
nothing "no C file is longer than 450 lines" "$(wc -l "${c_sources[@]}" 2>&1 | awk '$2 != "total" && $1 > 450')"
nothing "each file begins with its licence and with what it is for" "$(unnamed_files 2>&1)"
mapfile -t built < <(tree -name '*.py' -o -name '*.am' -o -name configure.ac -o -name GNUmakefile -o -name '*.spec' -o -path './etc/*/*')
nothing "so does each script and each manual page, with its licence" "$(unlicensed "${built[@]}" 2>&1)"
if [ "${LINT:-all}" != quick ]; then
	holds "clang-tidy finds nothing" findings_first tidy
	holds "cppcheck finds nothing" findings_first cppchecked
fi
holds "shellcheck finds nothing in ${#scripts[@]} scripts" shellchecked
holds "codespell knows all words" codespell --ignore-words-list="$(sed 's/#.*//' tests/lint/words | tr -d '[:blank:]' | grep . | paste -sd,)" "${texts[@]}"
[ ${#manuals[@]} = 0 ] ||
	holds "mandoc finds nothing in the manual pages" mandoc -T lint -W warning "${manuals[@]}"
nothing "the manual pages are rendered as they are written, and begin with an example" "$(python3 tests/lint/manuals.py 2>&1)"
nothing "libvirt's directory in /etc is where configure says (LIBVIRT_ETC)" "$(grep -nE '"/?etc/libvirt' src/*/*.[ch] hooks/*.[ch] 2>&1)"
nothing "no link of the documents leads nowhere, and no line is too long" "$(python3 tests/lint/documents.py 2>&1)"
nothing "no text has a word of tests/lint/old-words" "$(python3 tests/lint/language.py 2>&1)"
nothing "nothing is unfinished" "$(grep -nE "$unfinished" "${shipped[@]}" 2>&1)"
nothing "nothing names a directory of a developer's machine" "$(grep -nE "$own_paths" "${shipped[@]}" 2>&1)"
# Names of debhelper's and lintian's own stand there.
mapfile -t worded < <(printf '%s\n' "${shipped[@]}" | grep -vxE 'debian/(\.gitignore|vgpu-lease\.lintian-overrides)')
nothing "one word for one thing: none that the glossary has replaced" "$(grep -niE "$old_words" "${worded[@]}" 2>&1)"
nothing "no line ends in a blank" "$(grep -nE '[[:blank:]]$' "${shipped[@]}" 2>&1)"

# A test that is not in the tarball is one that no packager runs. What belongs to a checkout alone is not missed.
not_in_tarball() {
	# Not under the name that a `make dist` beside this one uses.
	local dir=${builddir:?}/vgpu-lease-lint
	make -s -C "$builddir" distdir distdir=vgpu-lease-lint >/dev/null || return
	comm -23 <(git ls-files | grep -vxE '\.ci/run|\.editorconfig|\.gitattributes|\.gitignore|debian/\.gitignore|GNUmakefile' | sort) \
		<(cd "$dir" && find . -type f -o -type l | sed 's,^\./,,' | sort)
	chmod -R u+w "$dir" && rm -rf "$dir"
}
if [ -e .git ]; then nothing "the tarball has every file of the tree" "$(not_in_tarball)"; fi

# A test that was renamed would else be in no list, and run where it has not what it needs.
nothing "each of LONG_TESTS is a test" "$(comm -23 <(sed -n 's/^LONG_TESTS += //p' Makefile.am | sort) \
	<(sed -n 's/^\(SCRIPT\|PROGRAM\)_TESTS += //p' Makefile.am | sort))"

wait "$layered"
while IFS= read -r line; do
	case $line in
	"ok "*) holds "${line#ok * - }" true ;;
	"not ok "*) holds "${line#not ok * - }" false ;;
	"#"*) echo "$line" ;;
	esac
done <"$layers"

tap_done
