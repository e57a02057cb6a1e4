# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How trees of Debian are made on the host: from which mirror, with which packages. Sourced by scripts that have sourced
# lib.sh; root is needed. Packages are kept, and a step whose input did not change is not done again.

# shellcheck disable=SC2154 # vm and built are lib.sh's
debs=$vm/debs

step() { printf '[%3d s] %s\n' "$SECONDS" "$*"; }

# done_with STEP INPUT...: was STEP done with exactly this input?
done_with() {
	local mark=$built/$1.done
	shift
	[ -f "$mark" ] && [ "$(<"$mark")" = "$(sum "$@")" ]
}
mark_done() {
	local mark=$built/$1.done
	shift
	sum "$@" >"$mark"
}
sum() { printf '%s\n' "$@" | sha256sum; }

# The mirror of this host's own apt. Another distribution's mirror, or none, gives Debian's public one.
find_mirror() {
	local release mirror=''
	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	if grep -qx 'ID="\?debian"\?' /etc/os-release; then
		mirror=$({ cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
			2>/dev/null || :; } | awk -v release="$release" '
			/^URIs:/ { uri = $2 }
			/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == release && !found++) print uri }
			/^deb / { sub(/\[[^]]*\] /, ""); if ($3 == release && !found++) print $2 }')
	fi
	printf '%s\n' "${mirror:-http://deb.debian.org/debian}"
}

# Runs a command in the tree $1, with /proc and terminals, in a mount namespace that ends with it.
run_in() {
	local tree=$1
	shift
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount bash -c 'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" &&
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts" && exec chroot "$0" /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"' "$tree" "$@"
}

# installing TREE COMMAND...: runs a command in it that installs packages, from those kept here where possible.
installing() {
	local tree=$1 cache=$1/var/cache/apt/archives
	shift
	cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
	mkdir -p "$cache"
	# No service is started in the tree.
	printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"
	# No initrd is made, which takes a minute: a machine has one of its own (image.sh).
	install -D -m 755 /dev/stdin "$tree/usr/local/sbin/update-initramfs" <<<'#!/bin/true'
	printf '%s;\n' 'APT::Keep-Downloaded-Packages "true"' 'APT::Install-Recommends "false"' 'APT::Get::Assume-Yes "true"' \
		'DPkg::Path "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"' >"$tree/etc/apt/apt.conf.d/98installing"
	echo force-unsafe-io >"$tree/etc/dpkg/dpkg.cfg.d/installing"
	find "$debs" -name '*.deb' -exec ln -f -t "$cache" {} +
	run_in "$tree" apt-get -q update
	run_in "$tree" "$@"
	find "$cache" -name '*.deb' -exec ln -f -t "$debs" {} +
	run_in "$tree" apt-get clean
	rm -f "$tree/etc/resolv.conf" "$tree"/usr/{sbin/policy-rc.d,local/sbin/update-initramfs} "$tree/etc/apt/apt.conf.d/98installing" \
		"$tree/etc/dpkg/dpkg.cfg.d/installing"
}

# Installs packages in the tree $1.
install_in() {
	local tree=$1
	shift
	installing "$tree" apt-get -q install "$@"
}

# logged LOG COMMAND...: the output goes to LOG, and to the reader if it fails.
logged() {
	local log=$built/$1 status
	shift
	# In a condition, a function would go on after a command that fails.
	set +e
	(
		set -e
		"$@"
	) >"$log" 2>&1
	status=$?
	set -e
	if [ "$status" != 0 ]; then
		tail -n 20 "$log" >&2
		die "failed; all of it is in $log"
	fi
}

# make_base SUITE TREE: Debian's smallest. It is made once, for the machine and for the package.
make_base() {
	local base=$vm/base/$1
	mkdir -p "$debs" "$vm/base"
	rm -rf "$2"
	(
		flock 8
		[ -d "$base" ] || debootstrap_base "$1" "$base"
	) 8>"$base.lock"
	cp -a "$base" "$2"
}
debootstrap_base() {
	local suite=$1 root=$2.new mirror
	mirror=$(find_mirror)
	rm -rf "$root"
	logged "debootstrap-$suite.log" debootstrap --variant=minbase --cache-dir="$debs" "$suite" "$root" "$mirror"
	printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
	# A host's clock, or a frozen mirror, may be years away.
	cat >"$root/etc/apt/apt.conf.d/99test" <<-'END'
		Acquire::Check-Valid-Until "false";
		Acquire::Check-Date "false";
		Acquire::Languages "none";
	END
	printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$root/etc/dpkg/dpkg.cfg.d/test"
	mv "$root" "$2"
}
