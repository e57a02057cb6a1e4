#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which type a vGPU gets where its domain does not say: a definition's, the remembered one, the pool's.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:2
pool() { configure "$@" policy 'reclaim = never' 'driver_cleanup = 0' 'release_wait = 5'; } # TYPE...
two=(nvidia-222@0000:84:00.0 nvidia-223@0000:85:00.0 'max_instances = 1')
affinity=/var/lib/vgpu-lease/affinity/$u1
check() { lease check 2>&1; }

### The pool's
pool nvidia-222 nvidia-223 nvidia-224
holds "of several enabled types without sections the first alone has cards" prepare
is "$(type_of $u1)" nvidia-222 "and a domain without metadata gets that"
release
is "$(check | grep -c 'nvidia-223\>')|$(check | grep -c '^WARN.*nvidia-223\>')" "1|1" "the check calls the second a warning, once"
is "$(check | grep -c 'nvidia-224\>')|$(check | grep -c '^WARN.*nvidia-224\>')" "1|1" "and the third"
rm -f "$root$affinity"
pool nvidia-222 nvidia-999@0000:99:00.0
holds "a type whose cards this host does not have does not count" prepare
release
rm -f "$root$affinity"
pool "${two[@]}" nvidia-999@0000:99:00.0
said=$(prepare 2>&1)
holds "of those that have cards one has to be named, and no other is advised" \
	says M_WHICH_TYPE "nvidia-222, nvidia-223" <<<"$said"
pool nvidia-999
said=$(prepare 2>&1)
holds "where the only type has no card, the refusal says why there is none" \
	says M_NO_CAPACITY "$(message M_ONLY_TYPE nvidia-999)" <<<"$said"
pool nvidia-998 nvidia-999
said=$(prepare 2>&1)
holds "where none of several has a card, none is advised" \
	says M_ABSENT_NO_TYPE_SERVED "nvidia-998, nvidia-999" <<<"$said"
configure <<<'[devices]'
said=$(prepare 2>&1)
holds "where no type is enabled, that is said" says M_ABSENT_NO_TYPE_ENABLED <<<"$said"
make_device 0000:84:00.0 nvidia-224 $u1
pool "${two[@]}"
holds "a device that exists is taken as what it is" prepare
release
remove_device $u1

### The remembered one
rm -f "$root$affinity"
pool nvidia-222
prepare && release
is "$(cut -d' ' -f1 "$root$affinity")" nvidia-222 "what a UUID was is remembered"
pool nvidia-223
holds "a remembered type that is not enabled any more gives way" prepare
is "$(type_of $u1)" nvidia-223 "to the pool's"
release
pool "${two[@]}"
holds "one that is enabled stays, though the pool has several" prepare
is "$(type_of $u1)" nvidia-223 "and it is the same again"
release
make_device 0000:85:00.0 nvidia-223 "${u1%??}aa"
said=$(prepare 2>&1)
holds "a refusal of it names the type and the file that remembers" \
	says M_NO_CAPACITY "$(message M_TYPE_REMEMBERED nvidia-223 "$affinity")" <<<"$said"
holds "and what to write instead" says M_OR_WRITE "type='nvidia-222'" <<<"$said"
typed nvidia-222 >"$work/typed.xml"
holds "with which the domain starts" prepare "$work/typed.xml"
release

pool nvidia-223@0000:85:00.0 'max_instances = 1' nvidia-224@0000:84:00.0
said=$(prepare 2>&1)
holds "where it is no longer enabled and others are, the refusal names it" \
	says M_TYPE_DISABLED nvidia-222 "$affinity" "nvidia-223, nvidia-224" <<<"$said"
is "$(lease plan "$vm" 2>&1 | says_times M_TYPE_DISABLED nvidia-222)" 1 "and so does plan"
sed "s|</uuid>|</uuid><metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>|" "$vm" >"$work/nova.xml"
said=$(prepare "$work/nova.xml" 2>&1)
holds "of Nova's instance, which has no such metadata, it says what can be done with Nova" \
	says M_TYPE_DISABLED_NOVA nvidia-222 "nvidia-223, nvidia-224" <<<"$said"
fails "and nothing of the metadata" says M_OR_WRITE <<<"$said"
pool "${two[@]}"

### A definition's
mdevctl_has 0000:85:00.0 $u1 nvidia-223
definition=/etc/mdevctl.d/0000:85:00.0/$u1
said=$(prepare 2>&1)
holds "a type from a definition is named with its file" \
	says M_NO_CAPACITY "$(message M_TYPE_DEFINED nvidia-223 "$definition")" <<<"$said"
holds "and what to write instead" says M_OR_WRITE "type='nvidia-222'" <<<"$said"
holds "the metadata go before it" prepare "$work/typed.xml"
is "$(type_of $u1)" nvidia-222 "so that is what helps"

### A card whose driver has not registered it: its type is in the configuration, and cannot be had
end_host
rm -r "${root:?}"
host t4:3
pool "${two[@]}" nvidia-224@0000:86:00.0
control register "0000:86:00.0 off"
said=$(prepare 2>&1)
holds "of three types only those of cards that are ready are advised" says M_WHICH_TYPE "nvidia-222, nvidia-223" <<<"$said"
control register "0000:85:00.0 off"
holds "where one card is ready, its type is the one" prepare
is "$(type_of $u1)" nvidia-222 "whatever else is enabled"
release
tap_done
