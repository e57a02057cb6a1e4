#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# image.sh [trixie | bookworm]  builds the image that the test machines start from (root, 1.5 minutes, 1.5 GB)
# image.sh --needs              prints the Debian packages that this directory's scripts need on the host
#
# The image is Debian 13 (trixie) with libvirt, QEMU and mdevctl, an ssh server, and the kernel's own sample drivers of
# mediated devices, mtty and mdpy: a host on which vGPUs can be made without a GPU. Drivers of our own, not loaded at boot,
# hang where they are told to (driver/stuck.c), and stand in for NVIDIA's, of VFs (driver/nvidia*.c) and of mdevs
# (driver/mdev.c). That of Debian 12 (bookworm) has neither these nor Nova. No loop device, KVM or network in the machine is
# needed. Packages come from the mirror that the host's apt is configured with; they are kept, and a step whose input did
# not change is not done again.
set -euo pipefail

needs=(debian-archive-keyring debootstrap mount util-linux e2fsprogs cpio xz-utils zstd openssh-client
	qemu-system-x86 qemu-utils)
guest_packages=(systemd systemd-sysv udev dbus kmod iproute2 procps openssh-server apparmor linux-image-amd64
	busybox-static libvirt-daemon-system libvirt-clients qemu-system-x86 qemu-utils mdevctl strace jq
	libvirt0 libxml2 libinih1 libudev1 fuse3)
build_packages=(linux-headers-amd64 linux-source gcc make xz-utils)
disk_size=6G

if [ "${1:-}" = --needs ]; then
	printf '%s\n' "${needs[@]}"
	exit
fi
suite=${1:-trixie}
case $suite in
trixie)
	guest_packages+=(libfuse3-4)
	nova_packages=(python3-nova python3-libvirt)
	drivers=(mtty mdpy driver/stuck driver/pgpu nvidia)
	;;
bookworm)
	guest_packages+=(libfuse3-3)
	nova_packages=()
	drivers=(mtty mdpy)
	;;
*) set -- "$@" more ;;
esac
[ $# -le 1 ] || { echo "usage: image.sh [--needs | trixie | bookworm]" >&2; exit 2; }

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
use_release "$suite"
root=$built/rootfs       # what becomes the disk
modules=$built/modules   # the sample drivers, and for which kernel they are
ours=()
[[ ${drivers[*]} != *driver/* ]] || ours=("$here"/driver/*.[ch])

# shellcheck source=tests/vm/tree.sh
. "$here/tree.sh"

# Compiles the sample drivers, in a tree of their own that is thrown away.
make_modules() {
	local tree=$built/buildfs kernel
	logged build-packages.log install_in "$tree" "${build_packages[@]}"
	kernel=$(find "$tree/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n')
	mkdir "$tree/usr/src/sample"
	tar -C "$tree/usr/src/sample" -xf "$(find "$tree/usr/src" -name 'linux-source-*.tar.*')" \
		--wildcards '*/samples/vfio-mdev/m*.[ch]' --strip-components=3
	cp -r "$here/driver" "$tree/usr/src/sample/"
	cat >"$tree/usr/src/sample/Makefile" <<-END
		obj-m := ${drivers[*]/%/.o}
		CFLAGS_driver/pgpu.o := -Wno-unused-function
		nvidia-y := \$(patsubst \$(src)/%.c,%.o,\$(wildcard \$(src)/driver/nvidia*.c))
	END
	logged modules.log run_in "$tree" make -C "/lib/modules/$kernel/build" M=/usr/src/sample modules
	rm -rf "$modules"
	mkdir "$modules"
	(cd "$tree/usr/src/sample" && cp "${drivers[@]/%/.ko}" "$modules/")
	# Two stand in for NVIDIA's, and have its name.
	if [[ ${drivers[*]} == *nvidia* ]]; then
		cp -r "$here/driver" "$tree/usr/src/mdev"
		printf '%s\n' 'obj-m := nvidia.o' 'nvidia-y := mdev.o nvidia_migration.o nvidia_trouble.o' \
			>"$tree/usr/src/mdev/Makefile"
		logged modules-mdev.log run_in "$tree" make -C "/lib/modules/$kernel/build" M=/usr/src/mdev modules
		cp "$tree/usr/src/mdev/nvidia.ko" "$modules/nvidia_mdev.ko"
	fi
	echo "$kernel" >"$modules/kernel"
	rm -rf "$tree"
}

# Nova and all that it needs beside the machine's packages, unpacked and compiled, but not installed: the other scenarios
# see nothing of it. /srv/nova/python is the interpreter that finds it.
make_nova() {
	local deb
	rm -rf "$root/srv/nova"
	mkdir -p "$root/srv/nova"
	logged nova-packages.log install_in "$root" --download-only "${nova_packages[@]}"
	run_in "$root" apt-get -s --no-install-recommends install "${nova_packages[@]}" | awk '/^Inst/ {
		sub(/\]\).*/, ""); gsub(/[[(]/, ""); gsub(/:/, "%3a", $3); print $2 "_" $3 "_" $NF ".deb" }' |
		while read -r deb; do dpkg-deb -x "$debs/$deb" "$root/srv/nova"; done
	cat >"$root/srv/nova/python" <<-'END'
		#!/bin/sh
		export LD_LIBRARY_PATH=/srv/nova/usr/lib/x86_64-linux-gnu
		exec /srv/nova/usr/bin/python3 "$@"
	END
	chmod 755 "$root/srv/nova/python"
	mkdir -p "$root/etc/ssl/certs"
	cat "$root"/srv/nova/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
	logged nova-compile.log run_in "$root" /srv/nova/python -m compileall -q -j2 /srv/nova/usr/lib/python3{,.13}
}

# All that is not a package's; can be done over and over in the same tree.
configure() {
	local kernel
	kernel=$(<"$modules/kernel")
	[ -d "$root/lib/modules/$kernel" ] || die "the drivers are for kernel $kernel, which the image does not have"
	install -D -m 644 -t "$root/lib/modules/$kernel/extra" "$modules"/*.ko
	run_in "$root" depmod "$kernel"
	printf '%s\n' mtty mdpy >"$root/etc/modules-load.d/test.conf"

	[ -f "$image/key" ] || ssh-keygen -q -t ed25519 -N '' -C vgpu-lease-test -f "$image/key"
	install -D -m 600 "$image/key.pub" "$root/root/.ssh/authorized_keys"
	install -D -m 600 "$image/key" "$root/root/.ssh/id_ed25519"
	cat >"$root/root/.ssh/config" <<-'END'
		Host *
		 StrictHostKeyChecking no
		 UserKnownHostsFile /dev/null
		 LogLevel ERROR
	END
	printf '%s\n' 'UseDNS no' 'PermitRootLogin yes' 'GSSAPIAuthentication no' >"$root/etc/ssh/sshd_config.d/test.conf"

	# Each boot compiles them, for programs that are not here: half a minute.
	find "$root/etc/apparmor.d" -maxdepth 1 -type f ! -name '*libvirt*' -delete
	rm -f "$root"/etc/libvirt/qemu/networks/autostart/*
	# Machines migrate domains to each other over plain TCP: nobody else is on their network.
	sed -i '/^auth_tcp/d' "$root/etc/libvirt/libvirtd.conf"
	echo 'auth_tcp = "none"' >>"$root/etc/libvirt/libvirtd.conf"
	# Else libvirt asks each QEMU that starts for its processor's 450 properties, one by one: three seconds without KVM.
	sed -i '/^capability_filters/d' "$root/etc/libvirt/qemu.conf"
	echo 'capability_filters = [ "cpu-unavailable-features" ]' >>"$root/etc/libvirt/qemu.conf"
	echo '/dev/vda / ext4 noatime 0 1' >"$root/etc/fstab"
	printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 host1' '10.77.0.2 host2' >"$root/etc/hosts"
	: >"$root/etc/machine-id"
	cat >"$root/usr/local/sbin/test-network" <<-'END'
		#!/bin/sh
		# Name and addresses of this machine, by its number on the kernel command line.
		n=$(sed -n 's/.*vgpu_test_host=\([0-9]*\).*/\1/p' /proc/cmdline)
		hostname "host$n"
		echo "host$n" >/etc/hostname
		modprobe -q virtio_net
		tries=0
		while [ ! -e /sys/class/net/eth1 ] && [ $tries -lt 100 ]; do
			sleep 0.1
			tries=$((tries + 1))
		done
		ip link set lo up
		ip link set eth0 up && ip address add 10.0.2.15/24 dev eth0
		ip link set eth1 up && ip address add "10.77.0.$n/24" dev eth1
	END
	chmod 755 "$root/usr/local/sbin/test-network"
	cat >"$root/etc/systemd/system/test-network.service" <<-'END'
		[Unit]
		Description=Name and addresses of this test machine
		DefaultDependencies=no
		After=systemd-remount-fs.service systemd-udevd.service
		Before=network-pre.target ssh.service libvirtd.service
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/usr/local/sbin/test-network
		[Install]
		WantedBy=multi-user.target
	END
	run_in "$root" systemctl -q enable test-network.service ssh.service libvirtd.service libvirtd.socket \
		libvirtd-tcp.socket virtlogd.socket
	# What only takes time on a machine that lives for minutes.
	run_in "$root" systemctl -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
		e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-timesyncd.service networking.service \
		libvirt-guests.service systemd-pcrphase.service getty@tty1.service systemd-random-seed.service \
		systemd-binfmt.service systemd-update-utmp.service systemd-firstboot.service ldconfig.service \
		systemd-hwdb-update.service systemd-journal-catalog-update.service dev-hugepages.mount
}

# A first file system with the modules that the disk needs, and nothing else.
make_initrd() {
	local kernel tree=$built/initrd.d module path
	kernel=$(<"$modules/kernel")
	rm -rf "$tree"
	mkdir -p "$tree"/{bin,proc,sys,dev,mnt,modules}
	cp "$root/bin/busybox" "$tree/bin/"
	for module in virtio_pci virtio_blk ext4 crc32c_generic crc32c-intel; do
		run_in "$root" modprobe -S "$kernel" --show-depends "$module" 2>/dev/null || :
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
		module=$(basename "$path")
		case $module in
		*.xz) xz -dc "$root$path" >"$tree/modules/${module%.xz}" ;;
		*.zst) zstd -qdc "$root$path" >"$tree/modules/${module%.zst}" ;;
		*) cp "$root$path" "$tree/modules/" ;;
		esac
		module=${module%.xz}
		echo "${module%.zst}"
	done >"$tree/modules/order"
	cat >"$tree/init" <<-'END'
		#!/bin/busybox sh
		b=/bin/busybox
		$b mount -t devtmpfs dev /dev
		$b mount -t proc proc /proc
		$b mount -t sysfs sys /sys
		while read -r module; do $b insmod "/modules/$module" 2>/dev/null; done </modules/order
		n=0
		while [ ! -b /dev/vda ] && [ $n -lt 200 ]; do $b sleep 0.1; n=$((n + 1)); done
		$b mount -t ext4 -o noatime /dev/vda /mnt || exec $b sh
		$b umount /proc
		$b umount /sys
		$b mount -o move /dev /mnt/dev
		exec $b switch_root /mnt /lib/systemd/systemd
	END
	chmod 755 "$tree/init"
	(cd "$tree" && find . | cpio -o -H newc --quiet) >"$image/initrd"
	rm -rf "$tree"
	cp "$root/boot/vmlinuz-$kernel" "$image/vmlinuz"
}

make_disk() {
	rm -f "$image/root.img" "$root"/boot/initrd.img-* "$root"/var/lib/apt/lists/*_Packages*
	mke2fs -q -t ext4 -d "$root" -L root -E lazy_itable_init=1 "$image/root.img.new" "$disk_size" >/dev/null
	mv "$image/root.img.new" "$image/root.img"
}

all=("$suite" "${guest_packages[*]} ${nova_packages[*]}" "${build_packages[*]}"
	"$(cat "$here"/{image.sh,tree.sh} "${ours[@]}")")
if done_with image "${all[@]}"; then
	exit
fi
[ "$(id -u)" = 0 ] || die "must be root"
for tool in debootstrap mke2fs cpio xz zstd ssh-keygen unshare; do
	command -v "$tool" >/dev/null || die "$tool is missing; the packages needed: ${needs[*]}"
done
mkdir -p "$image" "$debs"
# One build at a time.
exec 9>"$built/image.lock"
flock 9
if done_with image "${all[@]}"; then
	exit
fi

if ! done_with base "$suite"; then
	step "Debian $suite"
	rm -f "$built"/{image,modules,packages,nova}.done
	make_base "$suite" "$root"
	mark_done base "$suite"
fi
builder=
if ! done_with modules "$suite" "${build_packages[@]}" "$(cat /dev/null "${ours[@]}")"; then
	step "the kernel's sample drivers"
	# Of the base, for in the machine's tree there may be another kernel.
	make_base "$suite" "$built/buildfs"
	# Not joined by &&, before which a function goes on after a command that fails.
	(
		make_modules
		mark_done modules "$suite" "${build_packages[@]}" "$(cat /dev/null "${ours[@]}")"
	) &
	builder=$!
fi
if ! done_with packages "${guest_packages[@]}"; then
	step "the machine's packages"
	logged guest-packages.log install_in "$root" "${guest_packages[@]}"
	mark_done packages "${guest_packages[@]}"
fi
if [ ${#nova_packages[@]} != 0 ] &&
	! done_with nova "${guest_packages[@]}" "${nova_packages[@]}" "$(declare -f make_nova)"; then
	step "Nova"
	make_nova
	mark_done nova "${guest_packages[@]}" "${nova_packages[@]}" "$(declare -f make_nova)"
fi
if [ -n "$builder" ]; then
	wait "$builder" || die "the drivers cannot be built; see the logs in $built"
	if [ ! -d "$root/lib/modules/$(<"$modules/kernel")" ]; then
		step "a newer kernel for the machine"
		logged kernel.log install_in "$root" linux-image-amd64
	fi
fi
step "configuration"
configure
step "disk"
make_initrd
make_disk
mark_done image "${all[@]}"
step "done: $image/root.img"
