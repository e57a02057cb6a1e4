#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The history of vGPUs: what the hook and the command log is in the journal, with fields, and `vgpu-lease log` finds it.
. "$(dirname "$0")/../../lib/cli.sh"
. "$(dirname "$0")/../../lib/journal.sh"
host mtty mtty-2 'max_instances = 1'
start_journal
events() { vl log "$@"; awk 'NF { printf "%s%s", sep, $2; sep = " " }' <<<"$out"; }

call prepare begin 1
call prepare begin 2 2>/dev/null
call release end 1
holds "what happened arrives" eventually arrived released 1
holds "and becomes a journal" publish

vl_works "it is read without a word more" log
like "$out" "20??-??-??T??:??:??Z  created    prepare: domain vm1: created $(uuid 1), mtty-2 on mtty*" "a line has time, event and message"
is "$(events)" "created refused released" "there is all of it, in its order"
is "$(events vm1)|$(events vm2)" "created released|refused" "of a domain, by its name"
is "$(events "$(domain_uuid 1)")" "created released" "by its UUID"
is "$(events "$(uuid 1)")" "created released" "of a vGPU"
is "$(events "$(uuid 2)")" "refused" "also one that was refused"
is "$(events "$(domain_uuid 1 | tr a-f A-F)")" "created released" "in whatever case"
is "$(events mtty)" "created released" "of a pGPU"
for object in nobody "$(domain_uuid 99)"; do
	vl_says "what nothing happened to, and nobody knows, is refused: $object" 1 log "$object" -- M_LOG_NOTHING "$object"
done
vl_says "so is a pGPU that does not exist" 1 log 0000:99:00.0 -- M_NO_PCI_DEVICE
vl_counts "as JSON, too" "1 1" "$(message M_LOG_NOTHING nobody)" log nobody --json
domain 9 "$(uuid 9)" | libvirt_has vm9
for object in vm9 "$(domain_uuid 9)"; do
	vl_is "a domain that is there may have no events: $object" "0||" log "$object"
	is "$(on_terminal 80 "$builddir/vgpu-lease" --root "$root" log "$object")" "$(message M_LOG_NONE)" "a terminal says so"
done
rm -r "$root/etc/libvirt"
vl_says "one that is not may be meant to be another" 1 log vm33 -- M_LOG_NOTHING vm33
vl_is "what has gone may have none since a time" "0||" log --since=9999-01-01 vm2
is "$(events --since=-1h)|$(events --since '2000-01-01 12:00' vm2)" "created refused released|refused" "since a time"
vl_is "and not before it" "0||" log --since=9999-01-01
for since in someday never 99h99 ../x; do
	vl_is "a time that is none is a usage error: $since" "2||$(message M_USAGE "$(message M_BAD_TIME $since)" " log")" log --since=$since
done
vl_counts "as JSON, too" "2 1" '"error": "invalid time' log --since=someday --json
chmod 755 "$root" "$root/run" "$root/var" "$root/var/log" "$root/var/log/journal"
chmod 644 "$journals/system.journal"
as_user vl_counts "a user who may read the journal reads it" "0 3" . log
chmod 0 "$journals/system.journal"
as_user vl_fails "one who may not is told so, and what to do" 1 log -- M_JOURNAL_NOT_READABLE
# A journal of the user's own has no events of the system.
"$remote" -o "$journals/user-65534.journal" "$tmp/export.now" 2>/dev/null
chmod 644 "$journals/user-65534.journal"
as_user vl_fails "also where another journal can be read" 1 log vm1 -- M_JOURNAL_NOT_READABLE
as_user vl_like "show does not say that there are none" \
	"0|*latest events:"$'\n'"  not known|$(message M_WARNING "$(message M_JOURNAL_NOT_READABLE)")" show mtty
as_user vl show mtty --json
holds "nor does it as JSON" grep -q '"events": null' <<<"$out"
rm "$journals/user-65534.journal"
chmod 644 "$journals/system.journal"
chmod 700 "$journals"
as_user vl_fails "nor may the directory be closed to the user" 1 log -- M_JOURNAL_NOT_READABLE
chmod 755 "$journals"
vl_counts "root reads all" "0 1" released show mtty

### A part of the journal cannot be read.
times() { grep -cE '^20[^ ]+  [a-z]+ ' <<<"$out"; }
cp "$journals/system.journal" "$journals/system@old.journal"
chmod 0 "$journals/system@old.journal"
as_user vl log
is "$(times)|$status|$err" "3|1|vgpu-lease: $(message M_JOURNAL_IN_PART 1)" "beside one that is closed to the user, the others are read"
as_user vl log --json
is "$status|$(grep -c '"event":' <<<"$out")|$(grep -c '"error": "journal: ' <<<"$out")" "1|3|1" "as JSON, too"
as_user vl show mtty
is "$(times)|$status|$err" "2|0|vgpu-lease: warning: $(message M_JOURNAL_IN_PART 1)" "show warns, and has what there is"
head -c 100 "$journals/system.journal" >"$journals/system@old.journal"
chmod 644 "$journals/system@old.journal"
for who in eval as_user; do
	$who vl log
	is "$(times)|$status" "3|1" "so it is with one that is broken"
	holds "which is named" says M_JOURNAL_BROKEN "$journals/system@old.journal" <<<"$err"
	is "$(wc -l <<<"$err")" 1 "in one line"
done
vl log --json
is "$status|$(grep -c '"error": "journal: .*system@old.journal' <<<"$out")|$err" "1|1|vgpu-lease: $(sed -n 's/.*"error": "\(.*\)"/\1/p' <<<"$out")" "and in the JSON"
rm "$journals/system@old.journal"
mv "$journals/system.journal" "$journals/system@1.journal~"
vl_makes "a journal that was not closed when the host went down is read" "0 3" times log
chmod 0 "$journals/system@1.journal~"
as_user vl_fails "if the user may" 1 log -- M_JOURNAL_NOT_READABLE
mv "$journals/system@1.journal~" "$journals/system.journal"
chmod 644 "$journals/system.journal"

# log is not told of a host: as a user of a machine with this journal, and those of another machine and a container beside it.
mkdir -p "$tmp/etc" "$tmp/log/journal"
cp /etc/passwd /etc/group "$tmp/etc"
echo "${journals##*/}" >"$tmp/etc/machine-id"
cp -r "$journals" "$tmp/log/journal"
for other in fedcba9876543210fedcba9876543210 "${journals##*/}.namespace"; do
	cp -r "$journals" "$tmp/log/journal/$other"
	chmod 0 "$tmp/log/journal/$other"/*
done
# shellcheck disable=SC2016 # of the other shell
out=$(unshare -m bash -c 'mount --bind "$0/etc" /etc && mount --bind "$0/log" /var/log && shift && "$@"' "$tmp" - \
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/bin/vgpu-lease" log 2>&1)
is "$?|$(times)|$(wc -l <<<"$out")" "0|3|3" "another machine's journals, and those of a namespace, are not asked for"
# shellcheck disable=SC2016 # of the other shell
out=$(unshare -m bash -c 'mount -t tmpfs none /var/log && mount -t tmpfs none /run && exec "$0" log' "$tmp/bin/vgpu-lease" 2>&1)
is "$?|$out" "1|vgpu-lease: $(message M_JOURNAL_NONE)" "a host without a journal is one"
mv "$journals" "$tmp/journals"
vl_like "where nothing happened there are none" "0|*latest events:"$'\n'"  none in the journal|*" show mtty
mv "$tmp/journals" "$journals"

shown() { vl show "$@"; sed '1,/^latest events:/d' <<<"$out" | awk 'NF { printf "%s%s", sep, $2; sep = " " }'; }
is "$(shown "$(uuid 1)")" "created released" "show has the history of a vGPU that is gone"
is "$(shown mtty)" "created released" "and of a pGPU"
vl_json "as JSON, too" "0 2" '.events | length' show mtty

vl log --json vm2
for line in '"event": "refused"' "\"$(uuid 2)\"" '"reason": "capacity"' '"type": null' "\"uuid\": \"$(domain_uuid 2)\"" '"name": "vm2"'; do
	holds "the JSON has $line" grep -qF "$line" <<<"$out"
done

### Hostile text: neither a domain's name nor another user adds an event.
name=$'x&#10;PGPU=mtty&#10;VGPU_LEASE_EVENT=created'
domain 3 "$(uuid 3)" mtty-9 | sed "s/<name>.*</<name>${name//&/\\&}</" | hook x prepare begin - 2>/dev/null
holds "the refusal of a domain with such a name arrives" eventually arrived refused 2
chmod a+x "$work" "$root"
chmod 777 "$socket"
as_nobody /usr/bin/python3 - "$socket" "VGPU_LEASE_EVENT=released
MESSAGE_ID=$(sed -n 's/^-- //p' "$srcdir/etc/catalog/vgpu-lease.catalog" | head -n 1)
PGPU=mtty
MESSAGE=forged
" <"$srcdir/tests/lib/journald.py"
holds "so does what nobody sends" eventually grep -aq forged "$work/logged"
publish
is "$(events "$(domain_uuid 3)")" "refused" "it is that domain's"
is "$(events mtty)" "created released" "and no event of a pGPU; what nobody sent is not shown"
is "$(events)" "created refused released refused" "nowhere"
holds "the journal has it" grep -q forged <(journalctl --root="$root" -o cat --no-pager)

# An event of root with values that the programs never write.
{
	printf '__REALTIME_TIMESTAMP=%s000000\n_BOOT_ID=0123456789abcdef0123456789abcdef\n_UID=0\n' "$(date +%s)"
	printf 'VGPU_LEASE_EVENT=delayed\nDOMAIN_NAME=a=b\nDOMAIN_NAME=second\nVGPU_LEASE_IDS=x\n'
	printf 'VGPU_LEASE_ID=%s\n' {1..40}
	printf 'VGPU_LEASE_REASON\n\x0d\0\0\0\0\0\0\0one\nPGPU=mtty\n'
	printf 'MESSAGE=%s\n\n' "$(head -c 3000000 /dev/zero | tr '\0' x)"
} >>"$work/logged"
publish
vl_json "a value may have an =" "0 1" '.events | length' log a=b
is "$(jq -c '.events[0] | [.domain.name, .pgpu, .reason]' <<<"$out")" '["a=b",null,"one\nPGPU=mtty"]' \
	"a line within a value is not a field; the first of several values counts"
is "$(jq -r '.events[0].ids | length' <<<"$out")" 40 "but for IDs"
is "$(jq -r '.events[0].message | length' <<<"$out")" 65536 "a value is cut where nobody reads it any more"
vl_ends "the second name is found, too" 0 log second
tap_done
