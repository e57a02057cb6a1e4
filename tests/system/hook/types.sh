#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which type a vGPU gets where its domain does not say: a definition's, the remembered one, the pool's.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
pool() { configure "$@" policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 5'; } # TYPE...
two=(nvidia-222@0000:84:00.0 nvidia-223@0000:85:00.0 'max_instances = 1')
affinity=/var/lib/vgpu-lease/affinity/$u1

### The pool's
pool nvidia-222 nvidia-999@0000:99:00.0
holds "a type whose cards this host does not have does not count" prepare
is "$(type_of $u1)" nvidia-222 "and a domain without metadata gets the other"
release

### The remembered one
is "$(cut -d' ' -f1 "$root$affinity")" nvidia-222 "what a UUID was is remembered"
pool nvidia-223
holds "a remembered type that is not enabled any more gives way" prepare
is "$(type_of $u1)" nvidia-223 "to the pool's"
release
pool "${two[@]}"
holds "one that is enabled stays, though the pool has several" prepare
is "$(type_of $u1)" nvidia-223 "and it is the same again"
release
rm "$root$affinity"
pool nvidia-222
prepare && release
typed nvidia-222 >"$work/typed.xml"
pool nvidia-223@0000:85:00.0 'max_instances = 1' nvidia-224@0000:84:00.0
reports "where it is no longer enabled and others are, the refusal names it" prepare \
	-- M_TYPE_DISABLED nvidia-222 "$affinity" "nvidia-223, nvidia-224"
is "$(lease plan "$vm" 2>&1 | says_times M_TYPE_DISABLED nvidia-222)" 1 "and so does plan"
sed "s|</uuid>|</uuid><metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>|" "$vm" >"$work/nova.xml"
reports "of Nova's instance, which has no such metadata, it says what can be done with Nova" prepare "$work/nova.xml" \
	-- M_TYPE_DISABLED_NOVA nvidia-222 "nvidia-223, nvidia-224"
fails "and nothing of the metadata" says M_OR_WRITE <<<"$said"
pool "${two[@]}"

### A definition's
make_device 0000:85:00.0 nvidia-223 "${u1%??}aa"
mdevctl_has 0000:85:00.0 $u1 nvidia-223
reports "a type from a definition is named with its file" prepare \
	-- M_NO_CAPACITY "$(message M_TYPE_DEFINED nvidia-223 "/etc/mdevctl.d/0000:85:00.0/$u1")"
holds "and what to write instead" says M_OR_WRITE "type='nvidia-222'" <<<"$said"
holds "the metadata go before it" prepare "$work/typed.xml"
is "$(type_of $u1)" nvidia-222 "so that is what helps"
tap_done
