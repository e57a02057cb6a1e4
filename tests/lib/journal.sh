# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A journal for the simulated host: what the programs log is taken by tests/system/cli/journald, and becomes a journal file that
# libsystemd reads. Sourced after cli.sh; without systemd-journal-remote the test is skipped, or fails with MUST_WORK=1.
# shellcheck disable=SC2154 # root, tmp and builddir are cli.sh's
remote=/lib/systemd/systemd-journal-remote
if ! [ -x "$remote" ] || ! [ -x /usr/bin/journalctl ]; then
	skip_all "journalctl and systemd-journal-remote are needed"
fi
journald=
stop_all() {
	[ -z "$journald" ] || kill "$journald" 2>/dev/null
	clean_up
}
trap stop_all EXIT

# start_journal: for the host that runs in $root.
start_journal() {
	socket=$root/run/systemd/journal/socket
	journals=$root/var/log/journal/0123456789abcdef0123456789abcdef
	mkdir -p "${socket%/*}" "$journals"
	"$builddir/tests/system/cli/journald" "$socket" >"$tmp/export" &
	journald=$!
	holds "there is a journal" eventually test -S "$socket"
}
# publish: the journal has what has arrived until now.
publish() {
	rm -f "$journals/system.journal"
	cp "$tmp/export" "$tmp/export.now"
	"$remote" -o "$journals/system.journal" "$tmp/export.now" 2>/dev/null
}
# arrived EVENT N: so many events of this kind have.
arrived() { [ "$(tr '\000-\010' '\n' <"$tmp/export" | grep -acx "$1")" -ge "$2" ]; }
