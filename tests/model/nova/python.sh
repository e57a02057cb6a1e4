# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The Python that has Nova, or oslo.config: this host's; with NOVA_TREE that of a tree which tests/vm/image.sh has made.
# Sourced by compare.sh and exports.sh. What is given to it is in /tmp.

# nova_python PROGRAM ARGUMENT...: runs a program of this directory, without the directory: its nova.py is not Nova.
nova_python() {
	local options=(-IB -X utf8) program=$1
	shift
	if [ -z "${NOVA_TREE:-}" ]; then
		/usr/bin/python3 "${options[@]}" "${srcdir:?}/tests/model/nova/$program" "$@"
		return
	fi
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount bash -c 'mount --bind /tmp "$0/tmp" && mount --bind "$1" "$0/mnt" && shift &&
		exec chroot "$0" /srv/nova/python "$@"' \
		"$NOVA_TREE" "$srcdir/tests/model/nova" "${options[@]}" "/mnt/$program" "$@"
}
