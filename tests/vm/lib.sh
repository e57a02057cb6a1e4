# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts of this directory share: where things are kept, and how a machine is reached. Sourced, not run.
#
# Settings, from the environment:
#   builddir      the build directory (default: build in the source tree); everything of the machines is in its directory vm
#   VM_MEM        memory of a machine (3G)
#   VM_CPUS       processors of a machine (2; in run.sh the first machine has two, the others one)
#   VM_ACCEL      QEMU's accelerator (tcg: works everywhere)
#   VM_BOOT_TIME  seconds that a machine may take to come up (600)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
srcdir=$(cd "${srcdir:-$here/../..}" && pwd)
builddir=${builddir:-$srcdir/build}
vm=$builddir/vm           # all that these scripts write
machines=$vm/machines     # a directory for each running machine

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# use_release NAME: the Debian of the machines from here on. Each has a directory of its own, `built`, for its image
# (root.img, vmlinuz, initrd and the key to log in with) and for what this is built from.
# shellcheck disable=SC2034 # image is for the caller
use_release() {
	release=$1 built=$vm
	[ "$release" = trixie ] || built=$vm/$release
	image=$built/image
}
use_release trixie

# The directory of the running machine $1, in `machine`, and the command that reaches it, in `reach`: one connection
# serves all calls.
# shellcheck disable=SC2034 # both are for the caller
machine_of() {
	machine=$machines/$1
	[ -f "$machine/port" ] || die "no machine named $1 is running"
	reach=(ssh -F none -q -p "$(<"$machine/port")" -i "$machine/key"
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes -o BatchMode=yes
		-o ConnectTimeout=20 -o Compression=no -o ControlMaster=auto -o ControlPersist=600
		-o "ControlPath=$machine/ssh" root@127.0.0.1)
}

# Is process $1 the QEMU of the machine directory $2? A process id alone may belong to another process by now.
is_machine() {
	[ -r "/proc/$1/cmdline" ] && tr '\0' '\n' <"/proc/$1/cmdline" | grep -qF "file=$2/disk.qcow2,"
}
