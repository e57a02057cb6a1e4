#!/bin/bash
# Who may include whom. A module is a header with its .c files (NAME.c, NAME_part.c); it may include what stands before it in the
# table, and nothing else of ours. Each library has one module that knows it. Prints TAP; needs srcdir, and builddir for the hook.
set -u
cd "${srcdir:?}" || exit 1
export LC_ALL=C

# From the ground up. A new module takes its place here; those joined by + may include each other.
layers='
base:      auto text err ident file host numlist json log notify bounded udev
simulator: sim
facts:     config xml virt domxml typelist inventory handles ondisk store lease memo stamp
decision:  pool absent mine plan+room remark wish crossing define
effect:    kernel giveback adopt apply
flow:      leftover spare survey stamp_live attach rewrite hotplug
command:   preview compare qemu table diff collect reload audit cmd main
handler:   reconcile finisher handler guests leased
'

# Library header (as grep -E reads it): the files that may include it.
libraries='
<libxml/	src/xml\.c
<ini\.h>	src/config(_[a-z]+)?\.c
<libudev\.h>	src/udev(_[a-z]+)?\.c
<libvirt/	src/virt(_[a-z]+\.[ch]|\.c)
<fuse	src/sim_fuse(_[a-z]+)?\.[ch]
'

# Paths of sysfs stand as text in these only: they know the kernel's layout.
sysfs='src/(inventory|kernel|handles|sim|host)(_[a-z]+)?\.[ch]'

. tests/tap.sh

rows=$(tr -s ' ' '\n' <<<"$layers" | grep -v ':$' | grep .)
modules=${rows//+/$'\n'}

# The module of a file: the longest name of the table that its own begins with.
module_of() {
	local base=${1##*/} m best=
	base=${base%.[ch]}
	for m in $modules; do
		if [[ $base == "$m" || $base == "${m}_"* ]] && [ ${#m} -gt ${#best} ]; then best=$m; fi
	done
	echo "$best"
}

include_upwards() {
	local f m inc seen

	for f in src/*.[ch]; do
		m=$(module_of "$f")
		if [ -z "$m" ]; then
			echo "$f: stands in no layer of tests/layers.sh"
			continue
		fi
		seen=" $(sed -E "/^(.*\+)?$m(\+.*)?\$/q" <<<"$rows" | tr '\n+' '  ')"
		while read -r inc; do
			[[ $seen == *" $(module_of "$inc") "* ]] || echo "$f: includes $inc, which stands above it"
		done < <(sed -n 's/^#include "\(.*\)"/\1/p' "$f")
	done
}

nothing "each module includes only what stands below it" "$(include_upwards)"

while IFS=$'\t' read -r header where; do
	[ -n "$header" ] || continue
	nothing "${header//\\/} is included in its own module only" \
		"$(grep -nE "#include $header" src/*.[ch] hooks/*.c | grep -vE "^$where:")"
done <<<"$libraries"

nothing "paths of sysfs stand in the modules that know its layout" \
	"$(grep -nE '"/?sys(/|")' src/*.[ch] hooks/*.c | grep -vE "^$sysfs:")"

nothing "a decision does no I/O and reads no clock" \
	"$(grep -nE '#include <(fcntl|unistd|time|dirent|errno|sys/.*)\.h>' src/plan*.[ch] src/reconcile_judge.c 2>/dev/null)"

nothing "the hook is linked with no library that is slow to load" \
	"$(readelf -d "${builddir:?}/hooks/qemu" | grep -E 'NEEDED.*lib(virt|udev|xml2|fuse)')"

# A name that could be opened, as a whole; the installed version is told by where its link leads.
nothing "the hook cannot call libvirt, which waits for it" \
	"$(grep -azxE 'libvirt(-qemu)?\.so(\.[0-9]+)*' "$builddir/hooks/qemu" | tr '\0' '\n')"

tap_done
