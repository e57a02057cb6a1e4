#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packages.sh tree SUITE...    creates the trees to build in, and keeps them
# packages.sh build SUITE...   builds the Debian package of each release (bookworm, trixie) in a tree of its own
# packages.sh try SUITE...     tries it there, and prints TAP
#
# What was built is vm/packages/SUITE/vgpu-lease.deb, and beside it next.deb, the same with a higher version, and `staged`, what
# `make install` installs. When vm/packages/SUITE.done is there they are, or it has failed: vm/package-SUITE.log says why.
# How a package behaves in a tree without systemd is seen here; scenarios/24-package.sh has the whole of it, in a machine.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tree.sh
. "$here/tree.sh"
# shellcheck source=tests/lib/tap.sh
. "$srcdir/tests/lib/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
out=$vm/packages

# What the package is built with, as debian/control has it.
build_depends() {
	awk '/^Build-Depends:/ { on = 1; next } /^[^ ]/ { on = 0 } on { sub(/[,(<].*/, ""); gsub(/ /, ""); print }' \
		"$srcdir/debian/control"
}

# A tree to build in, which is kept.
make_tree() {
	local suite=$1 tree=$vm/package-$1 needs
	mapfile -t needs < <(build_depends)
	done_with "package-$suite" "${needs[@]}" && return
	make_base "$suite" "$tree"
	install_in "$tree" build-essential fakeroot "${needs[@]}"
	[ ! -c /dev/fuse ] || [ -e "$tree/dev/fuse" ] || mknod -m 666 "$tree/dev/fuse" c 10 229
	mark_done "package-$suite" "${needs[@]}"
}

build() {
	local suite=$1 tree=$vm/package-$1 name
	make_tree "$suite"
	rm -rf "$tree/src" "${out:?}/$suite"
	mkdir -p "$tree/src" "$out/$suite"
	tar -C "$tree/src" -xf "$out/vgpu-lease.tar.xz"
	mv "$tree"/src/vgpu-lease-* "$tree/src/package"
	cp "$out/vgpu-lease.tar.xz" "$tree/src/vgpu-lease_$(sed -n '1s/.*(\(.*\)-.*/\1/p' "$srcdir/debian/changelog").orig.tar.xz"
	run_in "$tree" sh -c 'cd /src/package && DEB_BUILD_OPTIONS="nocheck parallel=2" dpkg-buildpackage -us -uc'
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
	lintian -EvI --pedantic --allow-root "$tree"/src/vgpu-lease_*.changes 2>&1 |
		grep -v '^N:' | grep -vEf <(grep -v '^#' "$here/lintian") || :
}

try() {
	local suite=$1 tree=$vm/package-$1
	holds "$suite: the package is built" test -f "$out/$suite/next.deb" || return 0
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
	if [ -e "$tree/dev/fuse" ]; then
		holds "$suite: tests that mount and look for processes pass as root in its tree" in_tree \
			make -C /src/package/build-deb -s check-TESTS TESTS='tests/system/hook/input.sh tests/system/hook/suspended.sh
				tests/system/install.sh tests/system/leased/life.sh tests/system/leased/orphans.sh'
	fi
}

[ "$(id -u)" = 0 ] || die "must be root"
[ $# -ge 2 ] || die "usage error: see the first lines of $0"
verb=$1
shift
case $verb in
tree) for suite; do logged "tree-$suite.log" make_tree "$suite"; done ;;
build)
	[ -f "$vm/build/Makefile" ] || die "nothing is configured in $vm/build; run.sh does that"
	mkdir -p "$out"
	rm -f "$out"/vgpu-lease*.tar.xz
	logged dist.log make -C "$vm/build" -s dist
	mv "$vm/build"/vgpu-lease-*.tar.xz "$out/vgpu-lease.tar.xz"
	for suite; do
		(build "$suite") >"$vm/package-$suite.log" 2>&1 || :
		: >"$out/$suite.done"
	done
	;;
try)
	for suite; do
		[ -f "$out/$suite/next.deb" ] || tail -n 20 "$vm/package-$suite.log" | sed 's/^/# /'
		try "$suite" || :
	done
	tap_done
	;;
*) die "usage error: see the first lines of $0" ;;
esac
