#!/bin/bash
# The history of vGPUs: what the hook and the command log is in the journal, with fields, and `vgpu-lease log` finds it.
# shellcheck source=tests/lib/cli.sh
. "${srcdir:?}/tests/lib/cli.sh"

remote=/lib/systemd/systemd-journal-remote
if ! [ -x "$remote" ] || ! [ -x /usr/bin/journalctl ]; then
	[ "${MUST_WORK:-0}" = 1 ] && { echo "Bail out! journalctl and systemd-journal-remote are needed"; exit 1; }
	echo "1..0 # SKIP journalctl and systemd-journal-remote are needed"
	exit 0
fi
journald=
stop_all() {
	[ -z "$journald" ] || kill "$journald" 2>/dev/null
	clean_up
}
trap stop_all EXIT

host mtty
conf <<EOF
[devices]
enabled_mdev_types = mtty-2
[mdev_mtty-2]
max_instances = 1
EOF
socket=$root/run/systemd/journal/socket
mkdir -p "${socket%/*}" "$root/var/log/journal/0123456789abcdef0123456789abcdef"
"$builddir/tests/system/cli/journald" "$socket" >"$tmp/export" &
journald=$!
holds "there is a journal" eventually test -S "$socket"

# publish: the journal has what has arrived until now.
publish() {
	local journal=$root/var/log/journal/0123456789abcdef0123456789abcdef/system.journal
	rm -f "$journal"
	cp "$tmp/export" "$tmp/export.now"
	"$remote" -o "$journal" "$tmp/export.now" 2>/dev/null
}
# arrived EVENT N: so many events of this kind have.
arrived() { [ "$(tr '\000-\010' '\n' <"$tmp/export" | grep -acx "$1")" -ge "$2" ]; }
# events [OPERAND]...: those that log shows, in one line.
events() {
	vl log "$@"
	awk 'NF { printf "%s%s", sep, $2; sep = " " }' <<<"$out"
}

call prepare begin 1
call prepare begin 2 2>/dev/null
call release end 1
holds "what happened arrives" eventually arrived released 1
holds "and becomes a journal" publish

vl log
is "$status|$err" "0|" "it is read without a word more"
like "$out" "20??-??-??T??:??:??Z  created    prepare: domain vm1: created $(uuid 1), mtty-2 on mtty*" \
	"a line has time, event and message"
is "$(events)" "created refused released" "there is all of it, in its order"
is "$(events vm1)|$(events vm2)" "created released|refused" "of a domain, by its name"
is "$(events "$(domain_uuid 1)")" "created released" "by its UUID"
is "$(events "$(uuid 1)")" "created released" "of a vGPU"
is "$(events "$(uuid 2)")" "refused" "also one that was refused"
is "$(events "$(domain_uuid 1 | tr a-f A-F)")" "created released" "in whatever case"
is "$(events mtty)" "created released" "of a pGPU"
is "$(events nobody)" "" "of what nothing happened to: nothing"
is "$(events --since=-1h)|$(events --since '2000-01-01 12:00' vm2)" "created refused released|refused" "since a time"
is "$(events --since=+1h)" "" "and not before it"
vl log --since=someday
is "$status" 1 "a time that is none is an error"
holds "which journalctl explains" says M_JOURNALCTL_FAILED <<<"$err"
vl log --since=someday --json
is "$status|$(grep -c '"error": "' <<<"$out")" "1|1" "as JSON, too"

vl log --json vm2
for line in '"event": "refused"' "\"$(uuid 2)\"" '"reason": "capacity"' '"type": null' "\"uuid\": \"$(domain_uuid 2)\"" '"name": "vm2"'; do
	holds "the JSON has $line" grep -qF "$line" <<<"$out"
done

### Hostile text: neither a domain's name nor another user adds an event.
name=$'x&#10;PGPU=mtty&#10;VGPU_LEASE_EVENT=created'
domain 3 "$(uuid 3)" mtty-9 | sed "s/<name>.*</<name>${name//&/\\&}</" | "$hook" --root "$root" -- x prepare begin - 2>/dev/null
holds "the refusal of a domain with such a name arrives" eventually arrived refused 2
chmod a+x "$work" "$root"
chmod 777 "$socket"
as_nobody "$builddir/tests/system/cli/journald" --send "$socket" "VGPU_LEASE_EVENT=released
MESSAGE_ID=$(sed -n 's/^-- //p' "$srcdir/etc/catalog/vgpu-lease.catalog" | head -n 1)
PGPU=mtty
MESSAGE=forged
"
holds "so does what nobody sends" eventually grep -aq forged "$tmp/export"
publish
is "$(events "$(domain_uuid 3)")" "refused" "it is that domain's"
is "$(events mtty)" "created released" "and no event of a pGPU; what nobody sent is not shown"
is "$(events)" "created refused released refused" "nowhere"
holds "the journal has it" grep -q forged <(journalctl --root="$root" -o cat --no-pager)
tap_done
