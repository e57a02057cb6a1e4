#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease check: one line for all that was looked at; what is broken fails, what is full is worth a look. It writes nothing.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:2+mtty
mkdir -p "$root/etc/libvirt/hooks/qemu.d"
cp "$hook" "$root/etc/libvirt/hooks/qemu"
conf_path=$root/etc/vgpu-lease.conf nova_conf=$root/etc/nova/nova.conf

well() { check; is "$status|$err|$notes" "0||" "$1"; }
# finds STATUS WHAT PATTERN SENTENCE: there is just this one note.
finds() {
	check
	like "$notes" "$1 $2 $3" "$4"
	holds "$4: the sum of it" says M_CHECK_SUM "*" "$([ "$1" = WARN ] && echo 1 warning || echo 0 warnings)" \
		"$([ "$1" = FAIL ] && echo 1 || echo 0)" <<<"$out"
	is "$(wc -l <<<"$notes")|$status|$err" "1|$([ "$1" = FAIL ] && echo 1 || echo 0)|" "$4: nothing else, and its exit status"
}
# among STATUS WHAT PATTERN SENTENCE: this one is among the notes.
among() {
	local line found=
	check
	while read -r line; do
		# shellcheck disable=SC2053 # A pattern it is.
		[[ $line == "$1 $2 "$3 ]] && found=1
	done <<<"$notes"
	holds "$4" [ "$found" ]
	is "$status" "$([[ $notes == *FAIL* ]] && echo 1 || echo 0)" "$4: its exit status"
}

configure nvidia-222 mtty-1@mtty
before=$(cd "$root" && find run var etc | sort)
well "all is well"
like "$(tr -s ' ' <<<"$out")" "PASS config $conf_path: *PASS pgpu 0000:84:00.0: *PASS pgpu mtty: *PASS type $conf_path:2: *nvidia-222*PASS type $conf_path:3: *mtty-1*PASS hook *PASS state *PASS lease *" \
	"all that was looked at is listed"
check --json
like "$out" '{
  "version": 1,
  "ok": true,
  "pgpus": 3,
  "pgpus_in_pool": 3,
  "checks": [
    {
      "status": "PASS",
      "what": "config",
      "where": "'"$conf_path"'",
      "message": "'*'",
      "fix": null
    },*' "as JSON"
is "$(jq -r '.checks[] | select(.what == "libvirt").where' <<<"$out")" null "what is the host's has no place"
is "$(cd "$root" && find run var etc | sort)" "$before" "and nothing was written"

printf '%s\n' '[nonsense]' 'x = 1' '[policy]' 'placement = nowhere' what '[quota]' 'default = few' | configure
check
is "$status $(grep -c '^FAIL config ' <<<"$notes")" "1 4" "each mistake of a file is told"
for line in 1 4 5 7; do like "$notes" "*FAIL config $conf_path:$line: *" "in its line: $line"; done
check --json
like "$out" "*\"where\": \"$conf_path:5\"*" "a line that cannot be read has a place, too"
printf '[devices\nx = 1\n[policy]\nplacement = nowhere\n' | configure
check
is "$status $(cut -d ' ' -f 1-3 <<<"$notes" | grep config)" "1 FAIL config $conf_path:1:
FAIL config $conf_path:4:" "also where the first line cannot be read"
rm "$conf_path"
finds FAIL config "$conf_path: *" "a missing file"
configure <<<''
finds FAIL type "$conf_path: *" "an empty one: nothing can start"
configure <<<'[devices]'
finds FAIL type "$conf_path: *enabled_mdev_types*" "no type"
vl_like "--config is honoured" "1|FAIL  config   $conf_path.none: *|" --config "$conf_path.none" check
configure devices 'enabled_mdev_types = nvidia-222' 'nova_conf = /etc/nova/nova.conf'
nova_has <<<'[mdev_nvidia-223]'
finds WARN config "$nova_conf:1: *" "a warning has its place"
of_nova nvidia-222 nvidia-999@0000:99:00.0
finds WARN pgpu "$nova_conf:4: 0000:99:00.0: *" "a pGPU that is another host's is no error, and its type neither"
of_nova nvidia-999
among FAIL type "$nova_conf:2: $(message M_CHECK_NO_CARD nvidia-999)*" "a nova.conf that lets nothing be leased here is one"

configure <<EOF
[devices]
enabled_mdev_types = nvidia-222
[mdev_nvidia-222]
device_addresses = 0000:84:00.0,
  # moved
  0000:99:00.0
EOF
finds FAIL pgpu "$conf_path:6: 0000:99:00.0: *" "a card that is not there, in the line of its address"
configure 'mtty-1@mtty, 0000:84:00.0'
finds FAIL pgpu "$conf_path:4: 0000:84:00.0: $(message M_NOT_OFFERED mtty-1)*" "a card without the type"
configure nvidia-222@10de:1eb8 'nvidia-223@numa=1'
among FAIL pgpu "0000:85:00.0: *$(message M_GIVEN_TO_BOTH nvidia-222 nvidia-223)*" "a card that two sections match"
under nvidia-999 -- finds FAIL type "$conf_path:2: *nvidia-999*" "a type that no card has"
under nvidia-558@10de:2235 -- finds FAIL type "$conf_path:4: *nvidia-558*" "a match that fits no card, where nothing else can be leased"
configure <<EOF
[devices]
enabled_mdev_types = nvidia-222,
  nvidia-558, nvidia-223, nvidia-224
[mdev_nvidia-558]
device_match = 10de:2235
EOF
check
is "$status|$(cut -d ' ' -f 1-3 <<<"$notes")" "0|WARN type $conf_path:5:
WARN type $conf_path:3:" "one file serves a fleet; and types to which no card is left are told once, and fails nothing"
configure nvidia-222@0000:84:00.0
control register '0000:84:00.0 off'
finds FAIL pgpu "$conf_path:4: 0000:84:00.0: *$(message M_NOT_REGISTERED)*" "a card that is not ready"
configure nvidia-222
control register '0000:85:00.0 off'
among FAIL pgpu "0000:84:00.0: *$(message M_NOT_REGISTERED)*" "or that is one of all, none of which is"
control register '0000:85:00.0 on'
control register '0000:84:00.0 on'
configure nvidia-222@0000:84:00.0

definition=$root/etc/mdevctl.d/0000:84:00.0/$(uuid 1)
define() { mdevctl_has 0000:84:00.0 "$(uuid 1)" "$@"; } # TYPE [START]
define nvidia-223 auto
finds WARN mdevctl "$definition: *nvidia-223*nvidia-222*mdevctl undefine -u $(uuid 1)*" "a definition of another type"
define nvidia-222 auto
well "one of the same type is none"
define nvidia-223
well "nor one that does not start by itself"
echo '{"mdev_type"' >"$definition"
finds FAIL mdevctl "*$definition*" "one that is no JSON"
define nvidia-223 auto
create 0000:84:00.0 nvidia-223 1
domain 1 "$(uuid 1)" | libvirt_has vm1
among WARN mdevctl "$definition: *nvidia-223*nvidia-222*vm1*" "a definition of another type whose device a domain uses"
fails "without advice against that device" grep -q undefine <<<"$notes"
rm "$root/etc/libvirt/qemu/vm1.xml"
call prepare begin 1
among WARN mdevctl "$definition: *nvidia-223*nvidia-222*vm1*" "likewise where it is only leased"
fails "nor then" grep -q undefine <<<"$notes"
call release end 1
remove_device "$(uuid 1)"
rm "$definition"

domain 1 "$(uuid 1)" | libvirt_has vm1
runs_without() {
	domain 1 "$(uuid 1)" | sed "/<hostdev/,/<\\/hostdev>/d; s|</metadata>|${1-}&|; s|<domain type='qemu'|& id='3'|" | libvirt_runs vm1
}
runs_without
finds WARN domain "$root/etc/libvirt/qemu/vm1.xml: $(message M_CHECK_LACKS_DEFINED vm1 "$(uuid 1)")*" "a running domain without the vGPU of its definition"
runs_without "<s:suspended xmlns:s='urn:vgpu-lease:suspended:1' hostdevs='\&lt;hostdev mode=\"subsystem\" type=\"mdev\" model=\"vfio-pci\">\&lt;source>\&lt;address uuid=\"$(uuid 1)\"/>\&lt;/source>\&lt;/hostdev>'/>"
finds FAIL domain "$root/etc/libvirt/qemu/vm1.xml: $(message M_CHECK_LACKS_SUSPENDED vm1 "$(uuid 1)")*vgpu-lease *resume vm1*" \
	"one that a suspend took its vGPU from, with the command that attaches it"
domain 1 "$(uuid 1)" | sed "s|<domain type='qemu'|& id='3'|" | libvirt_runs vm1
well "one with its vGPU is none"
rm "$root/run/libvirt/qemu/vm1.xml" "$root/etc/libvirt/qemu/vm1.xml"

for n in 1 2; do domain $n "$(uuid 1)" nvidia-222 | libvirt_has vm$n; done
finds WARN domain "$root/etc/libvirt/qemu/vm?.xml: $(message M_CHECK_SHARED vm? vm? "$(uuid 1)")*" "two domains that are off"
guest 1 nvidia-222
finds WARN domain "$root/etc/libvirt/qemu/vm2.xml: $(message M_CHECK_DOMAIN_REFUSED vm2)*$(message M_LEASED_TO_DO vm1 "*")*" \
	"one of which has it: the start of the other would be refused"
rm "$root"/{run,etc}/libvirt/qemu/vm?.xml && vl release "$(uuid 1)"

start_handler
handler_is() { vl check; grep -q "^$1 *handler " <<<"$out"; }
holds "a handler that runs is no finding" eventually handler_is PASS
stop_handler
finds WARN handler "*vgpu-leased*" "one that ran and has ended is"
rm "$root/run/vgpu-lease/handler.lock"
well "a simulated host where none has run needs none"

define nvidia-222 auto
of_nova nvidia-222@0000:84:00.0
finds WARN mdevctl "$definition: *mdevctl undefine -u $(uuid 1)*" "a definition without device that no domain names"
domain 1 "$(uuid 1)" | libvirt_has vm1
finds WARN mdevctl "$definition: *vm1*" "one that a domain names"
fails "is that domain's" grep -q undefine <<<"$notes"
rm "$root/etc/libvirt/qemu/vm1.xml"
holds "what Nova counts is said" says M_CHECK_NOVA 17 nvidia-222 0 '' 16 1 <<<"$out"
create 0000:84:00.0 nvidia-222 1
well "one with its device is none"
holds "nor is it counted twice" says M_CHECK_NOVA 16 nvidia-222 1 s 15 0 <<<"$out"
of_nova nvidia-222@0000:84:00.0 'max_instances = 10'
finds WARN nova "0000:84:00.0: *mdev_nvidia-222*" "max_instances below what the host has leaves Nova no vGPU"
holds "with the number that it needs" says M_CHECK_NOVA_LIMITED 0 nvidia-222 16 10 nvidia-222 16 <<<"$out"
of_nova nvidia-222@0000:84:00.0 'max_instances = 16'
well "enough is enough"
of_nova nvidia-223@0000:84:00.0 'max_instances = 16'
among WARN nova "0000:84:00.0: *retype --dry-run 0000:84:00.0 nvidia-223'*" "mdevs of another type take what Nova would count"
holds "with their number" says M_CHECK_NOVA_OTHERS 0 nvidia-223 1 <<<"$out"
of_nova nvidia-222@0000:84:00.0,0000:85:00.0
second=$root/etc/mdevctl.d/0000:85:00.0/$(uuid 1)
mdevctl_has 0000:85:00.0 "$(uuid 1)" nvidia-222 auto
finds WARN mdevctl "$second: *0000:84:00.0*mdevctl undefine -u $(uuid 1) -p 0000:85:00.0*" "a UUID that is defined for another card than its device's"
holds "Nova counts both" says M_CHECK_NOVA 17 nvidia-222 0 '' 16 1 <<<"$out"
is "$(vgpu_lease --root "$root" export placement --json | jq -c '[.providers[] | select(.defined > 0) | [.parent, .total, (.note | contains("'"$(uuid 1)"'"))]]')" \
	'[["0000:85:00.0",17,true]]' "so does the export for Placement, and names it"
remove_device "$(uuid 1)"
among WARN mdevctl "$second: *0000:84:00.0*mdevctl undefine -u $(uuid 1) -p 0000:85:00.0*" "and one that two cards define, without a device"
rm "$second"
create 0000:84:00.0 nvidia-222 1
remove_device "$(uuid 1)"
rm "$definition"
configure nvidia-222@0000:84:00.0

chmod 644 "$root/etc/libvirt/hooks/qemu"
finds FAIL hook "$root/etc/libvirt/hooks/qemu: *chmod 755" "a hook that cannot be run"
check_counts "which passes for nothing else" 0 "^PASS +hook "
chmod 755 "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
finds WARN hook "$root/etc/libvirt/hooks/qemu: *qemu.d/vgpu-lease*" "a hook that is there twice"
printf '#!/bin/sh\n# vgpu-lease\n' >"$root/etc/libvirt/hooks/qemu"
well "beside another hook ours is in qemu.d"
rm "$root/etc/libvirt/hooks/qemu.d/vgpu-lease"
finds FAIL hook "$root/etc/libvirt/hooks: *reload*" "no hook of ours, also below --root"
mv "$root/etc/libvirt" "$tmp/libvirt"
well "a simulated host without libvirt needs none"
mv "$tmp/libvirt" "$root/etc/libvirt"
ln -sf "$tmp/elsewhere" "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$tmp/elsewhere"
finds WARN hook "$root/etc/libvirt/hooks/qemu: *$tmp/elsewhere*AppArmor*" "a link to where AppArmor does not let it"
rm "$root/etc/libvirt/hooks/qemu"
cp "$hook" "$root/etc/libvirt/hooks/qemu"

call prepare begin 2 nvidia-222
well "a lease is no finding"
age 2
finds WARN lease "$root/run/vgpu-lease/leases: 1 *gc*" "one whose domain is gone"
runs 2
well "nor is that of a domain that runs"
rm "$root/run/libvirt/qemu/vm2.xml"
echo rubbish >"$root/run/vgpu-lease/leases/$(uuid 2)"
finds WARN lease "$root/run/vgpu-lease/leases: 1 *" "a broken lease"
vl gc
finds WARN state "$root/run/vgpu-lease/garbage: 1 *" "what was set aside"
rm -r "$root/run/vgpu-lease/garbage"
vl gc
remove_device "$(uuid 2)"
chmod 777 "$root/run/vgpu-lease/leases"
among FAIL state "$root/run/vgpu-lease/leases: *" "a directory that others may write to"
chmod 700 "$root/run/vgpu-lease/leases"
mv "$root/run/vgpu-lease" "$root/run/elsewhere" && : >"$root/run/vgpu-lease"
among FAIL state "$root/run/vgpu-lease: *not a directory*remove that file*" "a file in the place of a directory"
is "$(grep -c '^FAIL state .*not a directory' <<<"$notes")" 1 "the directories that would be below it are not reported"
is "$(grep -c 'permissions\|chown' <<<"$notes")" 0 "without the fix of another cause"
reports "that of the refusal, too" call prepare begin 3 nvidia-222 -- M_NOT_A_DIRECTORY /run/vgpu-lease
rm "$root/run/vgpu-lease" && mv "$root/run/elsewhere" "$root/run/vgpu-lease"
for filled in run var/lib; do
	mount -t tmpfs -o size=64k none "$root/$filled"
	cat /dev/zero >"$root/$filled/fill" 2>/dev/null
	check
	holds "a full /$filled is a finding" grep -qE "^(WARN|FAIL) state $root/$filled: .*full" <<<"$notes"
	umount "$root/$filled"
done
take_lock "$root/run/vgpu-lease/lock"
configure nvidia-222@0000:84:00.0 policy 'lock_timeout = 2'
finds FAIL state "$root/run/vgpu-lease/lock: *process $holder; *lock_timeout*" "the lock, held for longer than a start waits"
fails "which is refused indeed" call prepare begin 3 nvidia-222
sed -i 's/^lock_timeout.*/lock_timeout = 30/' "$conf_path"
holds "check tells on a terminal what it waits for" says M_CHECK_WAITS <<<"$(
	on_terminal 80 timeout 4 "$builddir/vgpu-lease" --root "$root" check | tr '\r' '\n')"
started=$SECONDS
vl status
like "$out|$((SECONDS - started < 20))" "*WARN *run/vgpu-lease/lock: *|1" "status does not wait for so long"
sed -i 's/^lock_timeout.*/lock_timeout = 2/' "$conf_path"
let_go
exec 9<>"$root/run/vgpu-lease/lock"
flock 9
finds FAIL state "$root/run/vgpu-lease/lock: *last by an unknown process; *fuser*" "one whose holder is not the one that is recorded"
exec 9>&-
well "is one as long as it is held"
take_lock "$(card_lock 0000:84:00.0)"
finds WARN state "$(card_lock 0000:84:00.0): *driver*" "so is a pGPU's, to which somebody writes"
taken_ago "$(card_lock 0000:84:00.0)" 60
among FAIL type "*0000:84:00.0: held by process $holder*" "one whose driver has hung for a minute takes no start"
let_go
rm "$root/run/vgpu-lease/lock"
mkdir "$root/run/vgpu-lease/lock"
finds FAIL state "$root/run/vgpu-lease/lock: *" "a lock that is no file"
fails "and nothing can be leased indeed" call prepare begin 3 nvidia-222
rmdir "$root/run/vgpu-lease/lock"
control hang "available_instances 0000:84:00.0"
among FAIL pgpu "*0000:84:00.0: *" "a driver that hangs in a read"
control hang clear
chmod 600 "$conf_path"
as_user vl_like "what cannot be read is named, once" "1|FAIL  config   $(message M_DENIED "$conf_path")*" check
chmod 644 "$conf_path"
mkdir -p "$root/run/libvirt"
chmod 700 "$root/run/libvirt"
as_user vl_like "and what cannot be told is not told to be well" "*WARN  libvirt *" check
tap_done
