#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm.sh boot NAME [INDEX [RELEASE]]  starts a machine and waits until commands can be run in it (20 s)
# vm.sh run NAME COMMAND [ARG...]    runs a command in it: arguments, streams and exit status are the command's
# vm.sh push NAME PATH... DIRECTORY  copies files and directories into DIRECTORY of it
# vm.sh pull NAME PATH DIRECTORY     copies PATH of it into DIRECTORY of this host
# vm.sh stop [NAME...]               ends machines (all, if none is named) and throws their disks away
#
# A machine's disk is a layer over the image of its RELEASE (trixie, the default, or bookworm): nothing done in it is kept. It
# has no way out. Machines with INDEX 1 (the default) and 2 see each other as host1, 10.77.0.1, and host2, 10.77.0.2; any
# number of others can run beside them.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	sed -n '3,7s/^# /usage: /p' "$0" >&2
	exit 2
}

# The port of this host on which QEMU, process $1, passes connections on to the machine's ssh server. The kernel
# chose it when QEMU asked for any: so it is never taken. Prints nothing while there is none.
forwarded_port() {
	local socket port
	socket=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l ' 2>/dev/null) || :
	port=$(awk -v sockets="$socket" '$4 == "0A" && $2 ~ /^0100007F:/ && index(sockets, "[" $10 "]") {
		print substr($2, 10); exit }' /proc/net/tcp)
	[ -z "$port" ] || echo $((16#$port))
}

# Starts the machine's QEMU, and leaves its process id in the machine's directory.
launch() {
	local name=$1 index=$2 dir=$machines/$1 peer=$machines/net$((3 - $2)) sriov=sriov_max_vfs=4
	local clocks='no_timer_check tsc=nowatchdog' cpu=max,-erms,-smap,-la57
	# QEMU keeps what it has translated by the address at which a process has it: where each process has its libraries
	# elsewhere all is translated anew for each, until the space for that is full and all that was kept is thrown away.
	local addresses=norandmaps
	sriov+=,sriov_vq_flexible=8,sriov_vi_flexible=4
	rm -rf "$dir"
	mkdir -p "$dir"
	ln -s "$image/key" "$dir/key"
	qemu-img create -q -f qcow2 -F raw -b "$image/root.img" "$dir/disk.qcow2"
	# The network between two machines is a pair of Unix sockets: either may start first.
	# Behind an IOMMU, as VFIO needs it, there are two PFs of four VFs each, none enabled: 0000:01:00.0 and 0000:02:00.0.
	# Where the host is busy its timer comes late, and the kernel must not take that for a timer that does not work; nor the
	# TSC for a clock that does not, and patch its own code for another, of which it can die.
	# ERMS and REP_GOOD have the kernel clear and copy pages with instructions that are emulated byte by byte, SMAP has it
	# leave the translated code at each access to a process's memory: without them all takes little more than half the time.
	# LA57 adds a level to each page-table walk.
	# kvm has no use here, and patches the scheduler's code for each VM that QEMU probes it with.
	# shellcheck disable=SC2054 # the commas are QEMU's
	local qemu=(qemu-system-x86_64 -name "$name" -machine q35 -cpu "$cpu" -accel "${VM_ACCEL:-tcg,tb-size=1024}"
		-smp "${VM_CPUS:-2}" -m "${VM_MEM:-3G}" -nodefaults -display none -no-reboot
		-kernel "$image/vmlinuz" -initrd "$image/initrd"
		-append "console=ttyS0 quiet net.ifnames=0 mitigations=off module_blacklist=kvm,kvm_amd clearcpuid=rep_good panic=-1 $clocks $addresses intel_iommu=on iommu=pt vgpu_test_host=$index"
		-device intel-iommu,intremap=on
		-drive "if=none,id=root,file=$dir/disk.qcow2,format=qcow2,cache=unsafe"
		-device virtio-blk-pci,drive=root -device virtio-rng-pci
		-netdev user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:0-:22
		-device virtio-net-pci,netdev=n0,romfile=
		-netdev "dgram,id=n1,local.type=unix,local.path=$machines/net$index,remote.type=unix,remote.path=$peer"
		-device "virtio-net-pci,netdev=n1,romfile=,mac=52:54:00:77:00:$(printf %02x "$index")"
		-uuid "7e57bed0-0000-4000-8000-0000000000$(printf %02x "$index")"
		-serial "file:$dir/console.log")
	local n
	for n in 1 2; do
		# A PCI function without a driver, until one loads pgpu: 0000:00:10.0 and 0000:00:11.0.
		qemu+=(-device "edu,addr=0x1$((n - 1))")
		qemu+=(-device "pcie-root-port,id=port$n,chassis=$n,slot=$n" -device "nvme-subsys,id=card$n"
			-device "nvme,serial=card$n,subsys=card$n,bus=port$n,max_ioqpairs=10,msix_qsize=8,$sriov")
	done
	# Each jump to another page looks up QEMU's table of translations: huge pages make that faster.
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "${qemu[@]}" </dev/null >"$dir/qemu.log" 2>&1 9>&- &
	echo $! >"$dir/pid"
	disown
}

# Waits until the machine answers; fails when its QEMU ends before.
wait_for() {
	local name=$1 dir=$machines/$1 pid port='' start=$SECONDS now
	pid=$(<"$dir/pid")
	while kill -0 "$pid" 2>/dev/null; do
		if [ -z "$port" ]; then
			port=$(forwarded_port "$pid")
			[ -z "$port" ] || echo "$port" >"$dir/port"
		elif machine_of "$name" && now=$("${reach[@]}" date +%s 2>/dev/null </dev/null); then
			# Where the host is busy while the kernel measures the TSC by the PIT, it can take it for twenty times slower
			# than it is, and all time limits are over at once.
			[ "$now" -gt $(($(date +%s) + 10)) ] || return 0
			echo "its clock is too fast: $((now - $(date +%s))) s ahead" >&2
			kill "$pid"
		fi
		[ $((SECONDS - start)) -lt "${VM_BOOT_TIME:-600}" ] || die "no answer; see $dir/console.log"
		# Of such a clock systemd can end, and QEMU goes on.
		! grep -qsF 'Freezing execution' "$dir/console.log" || kill "$pid"
		sleep 0.5
	done
	return 1
}

boot() {
	local name=$1 index=${2:-1} dir=$machines/$1 start=$SECONDS
	use_release "${3:-trixie}"
	[ -f "$image/root.img" ] || die "there is no image; run $here/image.sh $release"
	[ "${#dir}" -lt 80 ] || die "$dir: too long a path for sockets"
	if [ -f "$dir/pid" ] && is_machine "$(<"$dir/pid")" "$dir"; then
		die "$name runs already"
	fi
	# Without KVM a kernel that patches its own code while another processor runs it panics now and then, which
	# ends QEMU: that is its emulation, and the next attempt succeeds.
	for _ in 1 2 3; do
		launch "$name" "$index"
		if wait_for "$name"; then
			echo "$name: usable after $((SECONDS - start)) s"
			return
		fi
		tail -n 3 "$dir/qemu.log" "$dir/console.log" >&2
	done
	die "QEMU ended; see $dir"
}


run() {
	machine_of "$1"
	shift
	exec "${reach[@]}" -- "$(printf '%q ' "$@")"
}

push() {
	local name=$1 target path paths=()
	target=$(printf %q "${*: -1}")
	for path in "${@:2:$#-2}"; do
		paths+=(-C "$(cd "$(dirname "$path")" && pwd)" "$(basename "$path")")
	done
	machine_of "$name"
	tar --owner=0 --group=0 -cf - "${paths[@]}" |
		"${reach[@]}" "mkdir -p $target && tar -xf - --keep-directory-symlink --no-overwrite-dir -C $target"
}

pull() {
	machine_of "$1"
	mkdir -p "$3"
	"${reach[@]}" "tar -cf - -C $(printf %q "$(dirname "$2")") $(printf %q "$(basename "$2")")" | tar -xf - -C "$3"
}

stop() {
	local dir pid
	for dir; do
		dir=$machines/$dir
		[ -f "$dir/pid" ] || continue
		pid=$(<"$dir/pid")
		if [ -S "$dir/ssh" ]; then
			ssh -F none -q -o "ControlPath=$dir/ssh" -O exit root@127.0.0.1 2>/dev/null || :
		fi
		if is_machine "$pid" "$dir"; then
			kill "$pid"
			for _ in {1..50}; do
				kill -0 "$pid" 2>/dev/null || break
				sleep 0.1
			done
			kill -KILL "$pid" 2>/dev/null || :
		fi
		rm -rf "$dir"
	done
}

verb=${1:-}
shift || :
case $verb:$# in
boot:[123] | run:[2-9] | run:[1-9][0-9]* | push:[3-9] | push:[1-9][0-9]* | pull:3) "$verb" "$@" ;;
stop:0)
	mapfile -t running < <(find "$machines" -mindepth 2 -maxdepth 2 -name pid -printf '%P\n' 2>/dev/null)
	stop "${running[@]%/pid}"
	;;
stop:*) stop "$@" ;;
*) usage ;;
esac
