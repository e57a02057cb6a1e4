#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rpm.sh   builds the RPM from the tarball as an administrator would, and installs, upgrades and removes it
#
# Prints TAP. Run by `make check-rpm`. It is installed into a tree that has a shell, and in place of systemctl what writes down
# what it is told: what the package does, not what systemd then does. It is built without optimization, which nothing here sees.
. "$(dirname "$0")/lib/tap.sh"
cd "$builddir" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

needs rpmbuild rpmlint
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
# Debian's rpm has its database there.
export HOME=$work
root=$work/root hook=etc/libvirt/hooks/qemu.d/vgpu-lease spec=$srcdir/rpm/vgpu-lease.spec
version=$(sed -n 's/^Version: //p' "$spec")
units='vgpu-leased.service vgpu-lease-wait.service'
# Programs without symbols have no debug package. Debian's script that compresses manual pages needs bash and asks for sh.
options=(--nodeps --buildroot "$work/buildroot" --define "_topdir $work" --define "_tmppath $work" --define 'debug_package %{nil}'
	--define "__os_install_post bash /usr/lib/rpm/brp-compress")
# That of Debian 12 installs nothing unless it is told that this is no mistake.
debian=()
rpm --force-debian --version >/dev/null 2>&1 && debian=(--force-debian)
# rpm enters the tree, which only root may do.
as_root=()
[ "$(id -u)" = 0 ] || as_root=(unshare --map-root-user)

# rpmbuild's last lines say what failed.
logged() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; return 1; }; }
build() { CFLAGS=-O0 LDFLAGS=-s logged rpmbuild -tb --nocheck --noclean "${options[@]}" "vgpu-lease-$version.tar.xz"; }
# The same once more, as a higher release with another configuration: packed only.
build_next() {
	echo "# next" >>"$work/buildroot/etc/vgpu-lease.conf"
	logged rpmbuild -bb --short-circuit --noclean "${options[@]}" --define 'dist .next' "$spec"
}
linted() {
	rpmlint -c "$srcdir/rpm/rpmlint.toml" "$first" "$spec" >"$work/lint" 2>&1
	grep ' 0 errors, 0 warnings' "$work/lint" || { cat "$work/lint"; return 1; }
}
package() { find "$work/RPMS" -name "vgpu-lease-$version-1$1.*.rpm"; }
in_root() { "${as_root[@]}" rpm --root "$root" --dbpath /var/lib/rpm --noplugins "${debian[@]}" --nodeps "$@"; }

# modules PATTERN FILE: what pkg-config is asked for there.
modules() { grep -oE "$1" "$2" | sed 's/.*[[(]//; s/[]) ].*//' | sort; }
# The package's files and own directories in a tree as `ls` has them; manual pages as they are before they are compressed.
listed() {
	(cd "$1" && find etc usr \( ! -type d -o -path '*/vgpu-lease' -o -path '*/vgpu-lease/*' -o -name qemu.d \) -printf '%M %p\n' |
		grep -vE '/\.build-id|usr/share/licenses|usr/bin/systemctl' | sed 's,\(/man/.*\)\.gz$,\1,' | sort -k 2)
}
needed() { grep -aohE 'lib[a-z0-9-]+\.so\.[0-9]+' "$root/$hook" "$root"/usr/bin/vgpu-lease* "$root"/usr/libexec/vgpu-lease/*; }
unmet() { comm -23 <(needed | sort -u) <(rpm -qp --requires "$first" | sed 's/(.*//' | sort -u); }

make_root() {
	local file
	mkdir -p "$root"/{bin,dev,usr/bin,var/lib/rpm}
	: >"$root/dev/null"
	cp -L /bin/sh "$root/bin/sh"
	ldd /bin/sh | grep -oE '/[^ ]+' | while read -r file; do cp -L --parents "$file" "$root"; done
	cat >"$root/usr/bin/systemctl" <<-'END'
		#!/bin/sh
		[ -x /etc/libvirt/hooks/qemu.d/vgpu-lease ] && hook=with || hook=without
		echo "$* ($hook the hook)" >>/told
	END
	chmod 755 "$root/usr/bin/systemctl"
	(cd "$root" && find . ! -type d | sort) >"$work/before"
}
told() { cat "$root/told" 2>/dev/null; rm -f "$root/told"; }
# What there is of the package, but for rpm's own files.
left() { (cd "$root" && find . ! -type d ! -path './var/lib/rpm/*' | sort | comm -13 "$work/before" -); }

is "$(modules 'pkgconfig\([^)]*\)' "$spec")" "$(modules '^PKG_CHECK_MODULES\(\[[A-Z_]*\], \[[^] ]*' "$srcdir/configure.ac" | grep -v umockdev)" \
	"it is built with what configure asks for"
holds "it is built from the tarball" build || { tap_done; exit; }
first=$(package '')
holds "and once more, as a higher release" build_next
next=$(package .next)
holds "rpmlint finds nothing in it" linted
nothing "its scripts have no macro that was not expanded" "$(rpm -qp --scripts "$first" | grep %)"
is "$(rpm -qp --qf '[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]' "$first" | sort -u)" root:root "all is root's"
is "$(rpm -qp --configfiles "$first")" /etc/vgpu-lease.conf "the configuration is the administrator's"

make_root
holds "it can be installed where systemd does not run" in_root -i "$first"
is "$(told)" "--no-reload preset $units (with the hook)" "then systemd's presets apply, and no more"
nothing "what the programs open and are linked with is required" "$(unmet)"
holds "the handler is where its unit starts it" test -x "$root$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/vgpu-leased.service")"
make -s install DESTDIR="$work/installed" prefix=/usr sysconfdir=/etc libexecdir=/usr/libexec HOOK_NAME=qemu.d/vgpu-lease >/dev/null
is "$(listed "$root")" "$(listed "$work/installed")" "it has what make install installs, with the same modes"
holds "it can be removed there" in_root -e vgpu-lease
is "$(told)" "--no-reload disable $units (with the hook)" "its services are disabled"
is "$(left)" "" "and nothing is left"

mkdir -p "$root/run/systemd/system"
holds "it can be installed where systemd runs" in_root -i "$first"
is "$(told)" "--no-reload preset $units (with the hook)
daemon-reload (with the hook)
reload libvirtd.service (with the hook)
reload virtqemud.service (with the hook)" "libvirt is told to look for hooks, and nothing is started against the presets"

mkdir -p "$root/run/vgpu-lease/leases" "$root/var/lib/vgpu-lease/affinity"
touch "$root/run/vgpu-lease/leases/some" "$root/var/lib/vgpu-lease/affinity/some"
echo "# edited" >>"$root/etc/vgpu-lease.conf"
is "$(in_root -U "$next" 2>&1)" "warning: /etc/vgpu-lease.conf created as /etc/vgpu-lease.conf.rpmnew" \
	"it can be upgraded while there are leases, which it does not mention"
is "$(told)" "daemon-reload (with the hook)
reload libvirtd.service (with the hook)
reload virtqemud.service (with the hook)
daemon-reload (with the hook)
try-restart vgpu-leased.service (with the hook)" "libvirt is told again, and the handler restarted; nothing waits for pGPUs"
is "$(tail -n 1 "$root/etc/vgpu-lease.conf")" "# edited" "an edited configuration stays"

said=$(in_root -e vgpu-lease 2>&1)
holds "removed while there are leases, it says what becomes of them" grep -qxF "$(sed -n 's/.*echo "\(.*\)" >&2/\1/p' "$srcdir/debian/vgpu-lease.prerm")" <<<"$said"
is "$(told)" "--no-reload disable --now $units (with the hook)
daemon-reload (without the hook)" "its services are stopped before the hook goes"
is "$(left)" "./etc/vgpu-lease.conf.rpmnew
./etc/vgpu-lease.conf.rpmsave
./run/vgpu-lease/leases/some
./var/lib/vgpu-lease/affinity/some" "the edited configuration and the state stay"
rm -r "$root/run/vgpu-lease"
rm "$root"/etc/vgpu-lease.conf.*
in_root -i "$next" >/dev/null 2>&1
is "$(in_root -e vgpu-lease 2>&1)" "" "removed without leases, it says nothing"
tap_done
