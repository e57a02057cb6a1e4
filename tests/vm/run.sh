#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh [--keep] [SCENARIO...]   installs vgpu-lease in a test machine, and lets the libvirtd there call the hook
#
# Runs the named scenarios (all: scenarios/*.sh) and prints one TAP stream. With --keep the machine stays, and one
# that runs already is used: for work on a scenario. Root is needed, and the packages that `image.sh --needs` names.
# Where they are missing, all is skipped; with MUST_WORK=1 in the environment that is a failure.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
name=a number=0 failures=0 keep=

bail_out() {
	echo "Bail out! $*"
	exit 1
}

skip_all() {
	[ "${MUST_WORK:-0}" != 1 ] || bail_out "$*"
	echo "1..0 # SKIP $*"
	exit 0
}

# Gives each check on standard input its number in the whole.
tally() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*)
			number=$((number + 1))
			echo "ok $number - ${line#ok * - }"
			;;
		'not ok '*)
			number=$((number + 1))
			failures=$((failures + 1))
			echo "not ok $number - ${line#not ok * - }"
			;;
		1..[0-9]*) ;;
		"end of $1") complete=1 ;;
		'#'*) echo "$line" ;;
		*) echo "# $line" ;;
		esac
	done
}

# What a run needs is there, and no other run is under way.
begin_run() {
	local tool
	[ "$(id -u)" = 0 ] || skip_all "root is needed"
	for tool in debootstrap mke2fs cpio xz zstd ssh ssh-keygen unshare qemu-system-x86_64 qemu-img; do
		command -v "$tool" >/dev/null || skip_all "$tool is missing; image.sh --needs names the packages"
	done
	mkdir -p "$vm"
	exec 9>"$vm/run.lock"
	flock -n 9 || die "another run is under way in $vm"
}

# Builds for the machine's folders, and copies what `make install` installs into it.
install_in_machine() {
	local build=$vm/build staged=$vm/staged
	mkdir -p "$build" && rm -rf "$staged" || return
	[ -x "$srcdir/configure" ] || (cd "$srcdir" && ./autogen.sh) || return
	if [ ! -f "$build/Makefile" ]; then
		(cd "$build" && "$srcdir/configure" --prefix=/usr --sysconfdir=/etc --localstatedir=/var \
			--libexecdir=/usr/libexec) || return
	fi
	make -C "$build" -j2 &&
		make -C "$build" install DESTDIR="$staged" &&
		"$here/vm.sh" push "$name" "$staged"/* / &&
		"$here/vm.sh" run "$name" rm -rf /srv/vm &&
		"$here/vm.sh" push "$name" "$srcdir/tests/tap.sh" "$here/inside.sh" "$here/scenarios" /srv/vm &&
		# libvirtd looks for hooks when it starts.
		"$here/vm.sh" run "$name" systemctl restart libvirtd
}

alive() { "$here/vm.sh" run "$name" true >/dev/null 2>&1; }

# A machine with vgpu-lease in it: a new one, where none runs.
ready_machine() {
	alive || "$here/vm.sh" boot "$name" | sed 's/^/# /' || bail_out "the machine does not start"
	if ! install_in_machine >"$vm/install.log" 2>&1; then
		tail -n 20 "$vm/install.log" | sed 's/^/# /'
		bail_out "vgpu-lease cannot be installed in the machine; see $vm/install.log"
	fi
}

# Runs a scenario in the machine; fails when it does not come to its end.
run_scenario() {
	local started=$SECONDS
	complete=''
	tally "$1" < <("$here/vm.sh" run "$name" timeout 300 bash /srv/vm/inside.sh "$1" </dev/null 2>&1)
	echo "# $1: $((SECONDS - started)) s"
	[ -n "$complete" ]
}

if [ "${1:-}" = --keep ]; then
	keep=1
	shift
fi
# Sourced, this file only lends what it defines, and the option.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
if [ $# = 0 ]; then
	mapfile -t scenarios < <(cd "$here/scenarios" && printf '%s\n' *.sh)
	set -- "${scenarios[@]%.sh}"
fi
begin_run

"$here/image.sh" 9>&- | sed 's/^/# image: /' || bail_out "the image cannot be built"
if [ -z "$keep" ]; then
	trap '"$here/vm.sh" stop "$name"' EXIT
	"$here/vm.sh" stop "$name"
fi
ready_machine
echo "# ready after $SECONDS s"
spare=1
for scenario; do
	echo "# $scenario: $(sed -n '3s/^# //p' "$here/scenarios/$scenario.sh")"
	run_scenario "$scenario" && continue
	# The machine's kernel can die of its emulation (see vm.sh): once in a run the scenario is not blamed for it.
	if [ "$spare" = 1 ] && ! alive; then
		spare=0
		echo "# the machine has died; the end of its console, and then once more in a new one:"
		tail -n 30 "$machines/$name/console.log" | tr -d '\r' | sed 's/^/# /'
		"$here/vm.sh" stop "$name"
		ready_machine
		run_scenario "$scenario" && continue
	fi
	tally "$scenario" <<<"not ok 0 - scenario $scenario comes to its end"
done
echo "1..$number"
[ "$failures" = 0 ]
