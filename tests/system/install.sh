#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# make install and uninstall, for a host (no DESTDIR) and for a package (DESTDIR).
. "$(dirname "$0")/../lib/tap.sh"
cd "$builddir" || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL DESTDIR
etc=$work/host/etc hooks=$work/host/etc/libvirt/hooks

# do_make DESTDIR GOAL [VARIABLE=VALUE...]: each directory is named, as a packager may have configured it without the prefix.
do_make() {
	local destdir=$1 goal=$2 usr=$work/host/usr
	shift 2
	make -s "$goal" DESTDIR="$destdir" prefix="$usr" exec_prefix="$usr" sysconfdir="$etc" \
		bindir="$usr/bin" libexecdir="$usr/libexec" datarootdir="$usr/share" datadir="$usr/share" mandir="$usr/share/man" \
		docdir="$usr/share/doc/vgpu-lease" hooksdir="$hooks" HOOK_NAME=auto systemdsystemunitdir="$usr/lib/systemd/system" \
		tmpfilesdir="$usr/lib/tmpfiles.d" bashcompletiondir="$usr/share/bash-completion/completions" \
		zshcompletiondir="$usr/share/zsh/site-functions" fishcompletiondir="$usr/share/fish/vendor_completions.d" "$@"
}

files() { (cd "$1" && find . ! -type d | sort); }

holds "a host without hooks gets ours" do_make "" install
holds "at hooks/qemu" test -x "$hooks/qemu"
holds "as a file of its own" test ! -L "$hooks/qemu"
is "$(ls "$hooks")" qemu "and nowhere else"
holds "with a configuration" cmp "$etc/vgpu-lease.conf" "$srcdir/etc/vgpu-lease.conf"
holds "the device handler and its units are there" \
	ls "$work/host/usr/lib/systemd/system/"{vgpu-leased,vgpu-lease-wait,vgpu-sriov@}.service "$work"/host/usr/libexec/vgpu-lease/vgpu-leased
dead_links() {
	local page link
	find "$work/host/usr/share/doc" -name '*.md' | while IFS= read -r page; do
		grep -o '](\([^)#: ]*\)[#)]' "$page" | sed 's/^](//; s/[#)]$//' | grep . | while IFS= read -r link; do
			[ -e "${page%/*}/$link" ] || echo "${page##*/}: $link"
		done
	done
}
holds "the guide is there" test -e "$work/host/usr/share/doc/vgpu-lease/doc/troubleshooting.md"
nothing "no link of the installed documents leads nowhere" "$(dead_links)"
holds "it can be removed again" do_make "" uninstall
is "$(files "$work/host")" "" "and nothing is left"

do_make "" install >/dev/null
echo "# edited" >>"$etc/vgpu-lease.conf"
holds "a second installation goes over the first" do_make "" install
is "$(ls "$hooks")" qemu "the hook keeps its place"
is "$(tail -n 1 "$etc/vgpu-lease.conf")" "# edited" "an edited configuration stays"
do_make "" uninstall >/dev/null
is "$(files "$work/host")" ./etc/vgpu-lease.conf "also when the rest is removed"
rm -rf "$work/host"

mkdir -p "$hooks"
printf '#!/bin/sh\n# the administrator'"'"'s, who knows vgpu-lease\n' >"$hooks/qemu"
cp "$hooks/qemu" "$work/theirs"
holds "a host with a hook of its own gets ours, too" do_make "" install
holds "beside it" test -x "$hooks/qemu.d/vgpu-lease"
holds "the other is not touched" cmp "$hooks/qemu" "$work/theirs"
do_make "" uninstall >/dev/null
is "$(files "$hooks")" ./qemu "and alone again when ours is removed"
do_make "" install >/dev/null
rm "$hooks/qemu"
do_make "" install >/dev/null
is "$(files "$hooks")" ./qemu.d/vgpu-lease "a hook of ours that is installed there stays there: it is never run twice"
rm -r "${hooks:?}"/qemu*
mkdir -p "$hooks/qemu.d"
printf '#!/bin/sh\n' >"$hooks/qemu.d/other"
holds "it is installed where only qemu.d has a hook of somebody else" do_make "" install
is "$(files "$hooks")" $'./qemu.d/other\n./qemu.d/vgpu-lease' "beside that one"
rm "$hooks/qemu.d/vgpu-lease"
cp "$builddir/hooks/qemu" "$hooks/qemu"
do_make "" install >/dev/null 2>&1
is "$(files "$hooks")" $'./qemu\n./qemu.d/other' "a hook of ours at hooks/qemu stays there all the same: it is never run twice"
rm -rf "$work/host"

# A hook that is in use is called at any moment: it is there, whole, at each.
in_use=$hooks/qemu.d/vgpu-lease
mkdir -p "$hooks/qemu.d"
printf '#!/bin/sh\n' >"$hooks/qemu"
printf '\177ELF vgpu-lease, the one in use\n' >"$in_use"
cp -p "$in_use" "$work/before"
cat >"$work/installer" <<-END
	#!/bin/sh
	install "\$@" || exit
	case "\$*" in "hooks/qemu "*)
		cmp "$work/before" "$in_use" && ls -A "$hooks/qemu.d" >"$work/seen" && test ! -e "$work/fails" ;;
	esac
END
chmod 755 "$work/installer"
touch "$work/fails"
fails "an installation that breaks off is told of" do_make "" install INSTALL_PROGRAM="$work/installer"
holds "the hook in use is then as it was" cmp "$work/before" "$in_use"
is "$(files "$hooks")" $'./qemu\n./qemu.d/vgpu-lease' "with nothing beside it"
rm "$work/fails"
holds "the hook in use is as it was until the new one is whole" do_make "" install INSTALL_PROGRAM="$work/installer"
is "$(cat "$work/seen")" vgpu-lease "beside which libvirt finds no other to call"
holds "then it is the new one" test -x "$in_use"
fails "and not the old one" cmp -s "$work/before" "$in_use"
is "$(files "$hooks")" $'./qemu\n./qemu.d/vgpu-lease' "and nothing is left of how it came there"
rm -rf "$work/host"

holds "a package is made below DESTDIR" do_make "$work/pkg" install
holds "the hook's place there does not depend on the host" test -x "$work/pkg$hooks/qemu"
holds "a packager can say where" do_make "$work/pkg2" install HOOK_NAME=qemu.d/vgpu-lease
is "$(cd "$work/pkg2$hooks" && files .)" ./qemu.d/vgpu-lease "and it goes there only"
do_make "$work/pkg" uninstall >/dev/null
is "$(files "$work/pkg")" "" "nothing is left when it is removed"
fails "nothing was written outside of DESTDIR" test -e "$work/host"
tap_done
