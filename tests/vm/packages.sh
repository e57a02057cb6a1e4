#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packages.sh tarball          makes the tarball that the others use, in the build directory
# packages.sh build SUITE...   builds the Debian package of each release (bookworm, trixie) in a bare tree of it
# packages.sh trees SUITE...   creates the trees that check runs in
# packages.sh check SUITE...   runs the quick check in a tree of that release: what its compiler makes with the sanitizers, and
#                              the unit tests with its clang
# packages.sh others           prints the releases that are not this host's
# packages.sh try SUITE...     tries the package in its tree, and prints TAP
#
# The commands are README's; the unit tests are part of the build, except on this host's release, which has all tests without
# that. What was built is vm/packages/SUITE/vgpu-lease.deb, and beside it next.deb, the same with a higher version, and `staged`,
# what `make install` installs; vm/package-SUITE.log says why it is not there. The trees are kept, and nothing is built twice
# from the same tarball.
# How a package behaves in a tree without systemd is seen here; scenarios/24-package.sh has the whole of it, in a machine.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tree.sh
. "$here/tree.sh"
# shellcheck source=tests/lib/tap.sh
. "$srcdir/tests/lib/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
out=$vm/packages own_release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# The commands in README's line on Debian: what installs the dependencies, and what builds.
mapfile -t commands < <(awk -F '`' '/^- \*\*Debian 12 and 13/ { print $2; print $4 }' "$srcdir/README.md")
[[ "${commands[*]}" == *' build-dep '*dpkg-buildpackage* ]] || die "README.md does not say how the package is built"

# What the package is built with, as debian/control has it.
build_depends() {
	awk '/^Build-Depends:/ { on = 1; next } /^[^ ]/ { on = 0 } on' "$srcdir/debian/control"
}

# What the system tests are run with beside that.
test_needs() {
	sed '/^# --all/,$d' "$srcdir/tests/packages" | awk -F '#' 'NF > 1 && $1 != "" && $2 !~ /^ lint/ { print $1 }'
	echo clang
}

# A bare tree to build in.
make_tree() {
	local suite=$1 tree=$vm/package-$1 step=("package-$1" "$(declare -f make_tree)" "${commands[0]}" "$(build_depends)")
	done_with "${step[@]}" && return
	make_base "$suite" "$tree"
	install -D -m 644 -t "$tree/src/package/debian" "$srcdir/debian/control"
	[ ! -c /dev/fuse ] || mknod -m 666 "$tree/dev/fuse" c 10 229
	installing "$tree" sh -c "cd /src/package && ${commands[0]}"
	rm -f "$vm/tests-$suite.done" "$vm/built-$suite.done"
	mark_done "${step[@]}"
}

# The same with what the system tests need.
make_tests_tree() {
	local suite=$1 tree=$vm/tests-$1 needs
	make_tree "$suite"
	mapfile -t needs < <(test_needs | tr -d '[:blank:]')
	done_with "tests-$suite" "${needs[@]}" && return
	rm -rf "$tree"
	mkdir "$tree"
	(cd "$vm/package-$suite" && find . -mindepth 1 -maxdepth 1 ! -name src -exec cp -a -t "$tree" {} +)
	install_in "$tree" "${needs[@]}"
	mark_done "tests-$suite" "${needs[@]}"
}

make_tarball() {
	make -C "$builddir" -s dist
	mv "$builddir"/vgpu-lease-[0-9]*.tar.xz "$out/vgpu-lease.tar.xz"
}

build() {
	local suite=$1 tree=$vm/package-$1 name step tests=
	step=("built-$suite" "$(sha256sum <"$out/vgpu-lease.tar.xz")" "${commands[1]}")
	make_tree "$suite"
	done_with "${step[@]}" && return
	rm -rf "$tree/src" "${out:?}/$suite"
	mkdir -p "$tree/src" "$out/$suite"
	tar -C "$tree/src" -xf "$out/vgpu-lease.tar.xz"
	mv "$tree"/src/vgpu-lease-* "$tree/src/package"
	cp "$out/vgpu-lease.tar.xz" "$tree/src/vgpu-lease_$(sed -n '1s/.*(\(.*\)-.*/\1/p' "$srcdir/debian/changelog").orig.tar.xz"
	# For lintian.
	run_in "$tree" sh -c 'cd /src && dpkg-source -b package'
	[ "$suite" != "$own_release" ] || tests=nocheck
	run_in "$tree" env DEB_BUILD_OPTIONS="$tests" sh -c "cd /src/package && ${commands[1]}"
	name=$(find "$tree/src" -maxdepth 1 -name 'vgpu-lease_*.deb')
	cp "$name" "$tree/src/vgpu-lease.deb"
	cp "$name" "$out/$suite/vgpu-lease.deb"
	dpkg-deb -R "$name" "$tree/src/next"
	sed -i 's/^Version: .*/&+next/' "$tree/src/next/DEBIAN/control"
	dpkg-deb --root-owner-group -Zgzip -b "$tree/src/next" "$tree/src/next.deb"
	# What `make install` installs there, on a host without another hook.
	run_in "$tree" make -C /src/package/build-deb -s install DESTDIR=/src/staged HOOK_NAME=qemu
	cp -a "$tree/src/staged" "$out/$suite/"
	cp "$tree/src/next.deb" "$out/$suite/next.deb"
	mark_done "${step[@]}"
}

# alone SUITE build|make_tests_tree: one caller at a time.
alone() {
	(
		flock 8
		logged "${2/build/package}-$1.log" "$2" "$1"
	) 8>"$vm/package-$1.lock"
}

# check SUITE: what fails in it is told by make. -O2 costs more time in the compiler than it saves in the tests, which wait for
# most of theirs: clang compiles meanwhile.
# shellcheck disable=SC2016 # the inner shell expands it
check() {
	local suite=$1 tree=$vm/tests-$1 failed=0
	rm -rf "$tree/src"
	install -d "$tree/src"
	cp -a "$vm/package-$suite/src/package" "$tree/src"
	run_in "$tree" sh -ec 'mkdir /src/clang; cd /src/clang
		../package/configure CC=clang CFLAGS=-O2
		make -j "$(nproc)" check-unit' >"$vm/clang-$suite.log" 2>&1 &
	run_in "$tree" env MUST_WORK="${MUST_WORK:-0}" sh -ec 'mkdir /src/sanitizers; cd /src/sanitizers
		../package/configure --enable-sanitizers CFLAGS="-g -O1"
		make -j "$((4 * $(nproc)))" check-quick' || failed=1
	wait $! || failed=1
	cat "$vm/clang-$suite.log"
	return $failed
}

# in_tree COMMAND...: in the tree of the suite at hand.
in_tree() { run_in "$tree" "$@"; }
dpkg_in() { in_tree dpkg --force-unsafe-io "$@"; }

# The tree has no systemd: this stands in for systemctl, and writes down what it is told.
have_systemctl() {
	mkdir -p "$tree/run/systemd/system"
	cat >"$tree/usr/bin/systemctl" <<-'END'
		#!/bin/sh
		echo "$*" >>/run/systemctl.log
		case "$*" in *is-enabled*) echo enabled ;; esac
	END
	chmod 755 "$tree/usr/bin/systemctl"
	: >"$tree/run/systemctl.log"
}
# told PATTERN: was systemctl told so since the last time?
told() { grep -qE -- "$1" "$tree/run/systemctl.log" || { cat "$tree/run/systemctl.log"; return 1; }; }
forget() { : >"$tree/run/systemctl.log"; }
requests() { find "$tree/etc/systemd/system" -name 'vgpu-*' -printf '%P\n' 2>/dev/null | sort; }
state() { (cd "$tree" && ls -d run/vgpu-lease var/lib/vgpu-lease etc/vgpu-lease.conf 2>/dev/null) || :; }

# What lintian finds in the source and in the packages, without what there is a reason for.
linted() {
	lintian -EvI --pedantic --allow-root "$tree"/src/vgpu-lease_*.{dsc,changes} 2>&1 |
		grep -v '^N:' | grep -vEf <(grep -v '^#' "$here/lintian") || :
}

try() {
	local suite=$1 tree=$vm/package-$1
	holds "$suite: after \`${commands[0]}' \`${commands[1]}' makes the package, in a bare tree" test -f "$out/$suite/next.deb" || {
		tail -n 20 "$vm/package-$suite.log" | sed 's/^/# /'
		return 0
	}
	nothing "$suite: lintian finds nothing in it" "$(linted)"
	holds "$suite: it can be installed where there is no systemd" dpkg_in -i /src/vgpu-lease.deb
	is "$(requests)" $'multi-user.target.wants/vgpu-lease-wait.service\nmulti-user.target.wants/vgpu-leased.service' \
		"$suite: its services are enabled, for a boot with it"
	dpkg_in -P vgpu-lease >/dev/null 2>&1
	is "$(requests)" "" "$suite: and no more when it is purged"
	have_systemctl
	holds "$suite: it can be installed" dpkg_in -i /src/vgpu-lease.deb
	holds "$suite: the handler is started" told 'start vgpu-leased\.service'
	holds "$suite: libvirtd is told to look for hooks" told 'reload libvirtd\.service'
	fails "$suite: nothing waits for pGPUs" told 'start .*vgpu-lease-wait'
	is "$(readlink "$tree/etc/libvirt/hooks/qemu.d/vgpu-lease")" /usr/sbin/vgpu-lease-hook "$suite: the hook is in its place"
	forget
	holds "$suite: it can be upgraded" dpkg_in -i /src/next.deb
	holds "$suite: the handler is started again" told 'restart vgpu-leased\.service'
	fails "$suite: nothing waits for pGPUs then" told 'start .*vgpu-lease-wait'
	mkdir -p "$tree/run/vgpu-lease/leases" "$tree/var/lib/vgpu-lease/affinity"
	forget
	holds "$suite: it can be removed" dpkg_in -r vgpu-lease
	holds "$suite: the handler is stopped" told 'stop vgpu-leased\.service'
	is "$(state)" $'etc/vgpu-lease.conf\nrun/vgpu-lease\nvar/lib/vgpu-lease' "$suite: configuration and state stay"
	forget
	holds "$suite: it can be installed again" dpkg_in -i /src/next.deb
	holds "$suite: libvirtd is told again" told 'reload libvirtd\.service'
	: >"$tree/run/vgpu-lease/leases/some"
	holds "$suite: it can be purged" dpkg_in -P vgpu-lease
	is "$(state)$(requests)" run/vgpu-lease "$suite: a lease that is still held stays"
	dpkg_in -i /src/next.deb >/dev/null 2>&1
	rm "$tree/run/vgpu-lease/leases/some"
	dpkg_in -P vgpu-lease >/dev/null 2>&1
	is "$(state)$(requests)" "" "$suite: without one a purge leaves nothing"
	rm -r "$tree/run/systemd" "$tree/usr/bin/systemctl"
}

[ "$*" != others ] || { printf '%s\n' bookworm trixie | grep -vxF "$own_release"; exit; }
[ "$(id -u)" = 0 ] || die "must be root"
[ $# -ge 1 ] || die "usage error: see the first lines of $0"
verb=$1
shift
mkdir -p "$out"
case $verb in
tarball)
	[ -f "$builddir/Makefile" ] || die "nothing is configured in $builddir"
	logged tarball.log make_tarball
	;;
build) for suite; do alone "$suite" build; done ;;
trees) for suite; do alone "$suite" make_tests_tree; done ;;
check)
	for suite; do
		alone "$suite" build
		alone "$suite" make_tests_tree
		check "$suite" || failed=1
	done
	exit "${failed:-0}"
	;;
try)
	for suite; do try "$suite" || :; done
	tap_done
	;;
*) die "usage error: see the first lines of $0" ;;
esac
