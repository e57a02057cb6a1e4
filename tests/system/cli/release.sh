#!/bin/bash
# vgpu-lease release: takes a vGPU from its domain, unless somebody has it open.
. "${srcdir:?}/tests/lib/cli.sh"

host mtty
conf <<EOF
[devices]
enabled_mdev_types = mtty-1
[policy]
release_timeout = 1
reuse = never
EOF

lease() {
	cat "$root/run/vgpu-lease/leases/$(uuid "$1")" 2>/dev/null
}

vl release "$(uuid 1)"
is "$status|$out|$err" "1||vgpu-lease: $(uuid 1): no lease of this ID: 'vgpu-lease list' shows those that there are" \
	"an ID that nobody knows"
create mtty mtty-1 1
vl release "$(uuid 1)"
is "$status|$out|$err" \
	"1||vgpu-lease: $(uuid 1): no domain has leased it; the device is there: 'vgpu-lease gc' removes it if it is an orphan" \
	"a device that is in no lease"
holds "stays" exists 1

call prepare begin 1
hold 1
before=$(lease 1)
vl release "$(uuid 1)"
is "$status|$out|$err" "1||vgpu-lease: $(uuid 1): process $$ has it open, for domain vm1: shut that down first" \
	"an open device is refused"
is "$(lease 1)" "$before" "and its lease is what it was"
holds "the device, too" exists 1
leave
vl release "$(uuid 1)"
is "$status|$out|$err" "0|dropped the lease of $(uuid 1), mtty-1 on mtty, of domain vm1|" "of an adopted device the lease is dropped"
is "$(lease 1)" "" "and gone"
holds "the device is left" exists 1

call prepare begin 2
runs 2
vl release "$(tr '[:lower:]' '[:upper:]' <<<"$(uuid 2)")"
is "$status|$out" "0|removed $(uuid 2), mtty-1 on mtty, of domain vm2" "one that we made is removed"
is "$err" "vgpu-lease: warning: $(uuid 2): domain vm2 runs, though nobody has the device open" \
	"with a word where its domain runs"
fails "it is gone" exists 2
is "$(lease 2)" "" "and so is its lease"

call prepare begin 3
echo 1 >"$root/sys/bus/mdev/devices/$(uuid 3)/remove"
vl release "$(uuid 3)"
is "$status|$out" "0|dropped the lease of $(uuid 3), mtty-1 on mtty, of domain vm3" "a lease whose device is gone is dropped"

call migrate begin 4 >/dev/null
vl release "$(uuid 4)"
is "$status|$out|$(lease 4)" "0|dropped the lease of $(uuid 4), mtty-1 on mtty, of domain vm4|" "a reservation is dropped"

call prepare begin 5
echo 'remove mtty EIO 99' >"$root/.kernel/control/inject"
vl release "$(uuid 5)"
like "$status|$out|$err" "1||vgpu-lease: removing vGPU $(uuid 5): Input/output error*" "what the kernel says is passed on"
like "$(lease 5)" "*state=releasing*" "the lease stays, for gc"
echo clear >"$root/.kernel/control/inject"

conf <<<'[nonsense]'
vl release "$(uuid 5)"
like "$status|$out|$err" "0|removed $(uuid 5), *|vgpu-lease: warning: */vgpu-lease.conf:1: *" \
	"it works under a broken configuration"

mkdir "$tmp/copy"
cp "$builddir/vgpu-lease" "$tmp/copy/"
chmod 755 "$tmp" "$tmp/copy" "$tmp/copy/vgpu-lease"
for args in "release $(uuid 1)" gc; do
	# shellcheck disable=SC2086 # The words of a command line.
	said=$(as_nobody "$tmp/copy/vgpu-lease" $args 2>&1)
	is "$?|$said" "1|vgpu-lease: this changes vGPUs, and only root can: run it with sudo" "${args%% *} needs root"
done
tap_done
