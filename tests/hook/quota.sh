#!/usr/bin/env bash
# A project's quota: it holds on each way a vGPU comes to a domain.
# shellcheck source=tests/hook/lib.sh
. "${srcdir:?}/tests/hook/lib.sh"
host t4:1
configure <<-'EOF'
	[devices]
	enabled_mdev_types = nvidia-222
	[policy]
	driver_cleanup = 0
	reclaim = never
	[quota]
	default = 1
EOF
u() { echo "${u1%??}$1"; }
project() { # N: domain number N, of project blue, in a file of its own
	another "$1" | sed "s|</uuid>|</uuid><metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1' project='blue'/></metadata>|" \
		>"$work/$1.xml"
}
for i in 11 12 13 14; do project $i; done
migrate() { hook vm migrate begin - <"$1"; }
restore() { hook vm restore begin - <"$1"; }
full="the quota of project blue is used up: 1 of 1"

holds "the first of a project's domains starts" prepare "$work/11.xml"
make_device 0000:84:00.0 nvidia-222 "$(u 0c)"
said=$(migrate "$work/12.xml" 2>&1)
holds "one that arrives where its device was made beforehand is refused" grep -q "$full" <<<"$said"
make_device 0000:84:00.0 nvidia-222 "$(u aa)"
said=$(migrate "$work/13.xml" 2>&1)
holds "so is one that would take a free foreign device" grep -q "$full" <<<"$said"
is "$(leases)" 1 "nothing is reserved for either"
is "$(restore "$work/12.xml" 2>&1)$?" 0 "a restore says nothing and ends with 0, as its failure would delete the image"
is "$(leases)" 1 "but it reserves nothing"
said=$(prepare "$work/12.xml" 2>&1)
holds "and the prepare that follows refuses" grep -q "$full" <<<"$said"
release "$work/12.xml" failed
release "$work/11.xml"
is "$(leases)" 0 "with the first gone"
holds "the second can arrive" migrate "$work/12.xml"
holds "and arrive once more, since that takes the place of what it had reserved" migrate "$work/12.xml"
holds "and start" prepare "$work/12.xml"
open_device "$(u 0c)"
release "$work/12.xml"
is "$(lease list --json | sed -n 's/.*"state": "\(.*\)",/\1/p')" releasing "while its last QEMU is on its way out"
holds "it is restored with another vGPU" restore "$work/12.xml"
is "$(lease list --json | grep -c '"state": "reserved"')" 1 "as what it leaves behind is not counted against it"
close_device
tap_done
