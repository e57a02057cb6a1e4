#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tree is the architecture: each directory of src is a layer, and a file includes only what is in its own directory or in
# one that comes before it. Prints TAP.
#
# `layers.sh --tree DIR` only looks at the includes below DIR, and prints what is wrong: so that tests/lint/broken.sh
# can show that each rule catches what it is for.
. "$(dirname "$0")/../lib/tap.sh"

# From the ground up; directories joined by + are siblings, which never include each other.
order='base sys model config domain state look decide act libvirt check cli+handler+sim+hooks'

# Library header (as grep -E reads it): the files that may include it.
libraries='
<libxml/	src/base/xml\.c
<ini\.h>	src/config/config(_[a-z]+)?\.c
<libsmartcols\.h>	src/cli/term\.c
<libudev\.h>	src/handler/udev\.c
<systemd/	src/(handler/main|cli/(cmd_log|cmd_inventory)|check/check_libvirt)\.c
<libvirt/	src/libvirt/[a-z_]+\.[ch]
<fuse	src/sim/(fuse(_[a-z]+)?|internal)\.[ch]
'

# Paths of sysfs stand as text in these only: they know the kernel's layout.
sysfs='src/(look/[a-z_]+|sim/[a-z_]+|state/store_lease)\.[ch]'

# What a decision may call outside of itself: lookups in what was read, memory, text.
decision_calls='lease_state_words|config_(section|quota|takes_rest)|framework_words|inventory_(device|next_on|offer|parent|pgpu|type(_on|_of)?)|lease_(find|for|is_void)|owner_of|request_(names|excludes)|text_add|text_copy|text_cut|text_(find|operand)|mem_(new|resize|add|free)|free'
decision_calls+='|mem[a-z]+|str[a-z]+|v?snprintf|bsearch|qsort|__stack_chk_fail|__[a-z]+_chk'

# What a directory may include: itself, and all that comes before it.
declare -A before
seen=
for group in $order; do
	for directory in ${group//+/ }; do before[$directory]=" $seen$directory "; done
	seen+="${group//+/ } "
done

includes() {
	local f directory inc
	for f in src/*; do
		[ -d "$f" ] || echo "$f: is in no directory of src"
		[ -n "${before[${f#src/}]+known}" ] || echo "$f: is in no order of directories"
	done
	for f in src/*/*.[ch] hooks/*.c; do
		directory=${f#src/} directory=${directory%%/*}
		[ -n "${before[$directory]+known}" ] || continue
		while read -r inc; do
			case $inc in
			'"internal.h"') [ -f "${f%/*}/internal.h" ] || echo "$f: there is no internal.h beside it" ;;
			*/internal.h?) echo "$f: includes $inc, which is private to its directory" ;;
			'"'*/*'"')
				inc=${inc//\"/}
				[ -f "src/$inc" ] || echo "$f: includes \"$inc\", which does not exist"
				[[ ${before[$directory]} == *" ${inc%%/*} "* ]] || echo "$f: includes \"$inc\", which is above it or beside it"
				;;
			'"'*) echo "$f: includes $inc without its directory" ;;
			'<'*)
				inc=${inc#<} inc=${inc%>}
				[ -z "$(find src -path "src/$inc" -o -path "src/*/$inc")" ] ||
					echo "$f: includes <$inc>, which is a file of src: write \"DIRECTORY/${inc##*/}\""
				;;
			esac
		done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]+[>"]).*/\1/p' "$f")
	done
	grep -nE '#[[:space:]]*include [<"](fcntl|unistd|time|dirent|errno|poll|signal|sys/.*)\.h[>"]' src/decide/*.[ch] src/look/{pool,world}.[ch] 2>/dev/null |
		sed 's/$/: a decision does no I\/O and reads no clock/'
}

if [ "${1:-}" = --tree ]; then
	cd "$2" && includes
	exit
fi

cd "$srcdir" || exit 1

nothing "a file includes only its own directory and those before it, private headers from their own only" "$(includes)"
nothing "file names are unique, but for main.c, internal.h and the simulated kernel" \
	"$(basename -a src/*/*.[ch] hooks/*.c | sort | uniq -d | grep -vxE 'main\.c|internal\.h|kernel\.[ch]')"

while IFS=$'\t' read -r header where; do
	[ -n "$header" ] || continue
	nothing "${header//\\/} is included in its own module only" \
		"$(grep -nE "#include $header" src/*/*.[ch] hooks/*.c | grep -vE "^$where:")"
done <<<"$libraries"

nothing "paths of sysfs stand in the modules that know its layout" \
	"$(grep -nE '"/?sys(/|")' src/*/*.[ch] hooks/*.c | grep -vE "^$sysfs:|#include")"

# By the objects, whatever is included. Of what is not there nothing would be found.
holds "decide and the hook are built" test -e "$builddir/src/decide/plan.o" -a -x "$builddir/hooks/qemu"
nothing "a decision calls nothing that could do I/O or read a clock" \
	"$(cd "$builddir" && nm -u src/decide/*.o src/look/pool.o src/model/vgpu.o | awk '$1 == "U" { print $2 }' | sort -u |
		grep -vxE "$decision_calls|$(nm --defined-only src/decide/*.o src/look/pool.o src/model/vgpu.o | awk '$2 == "T" { print $3 }' | paste -sd'|')")"

nothing "the hook is linked with no library that is slow to load" \
	"$(readelf -d "$builddir/hooks/qemu" | grep -E 'NEEDED.*lib(virt|udev|smartcols|systemd|xml2|fuse)')"

# A name that could be opened, as a whole; the installed version is told by where its link leads.
nothing "the hook cannot call libvirt, which waits for it" \
	"$(grep -azxE 'libvirt(-qemu)?\.so(\.[0-9]+)*' "$builddir/hooks/qemu" | tr '\0' '\n')"

tap_done
