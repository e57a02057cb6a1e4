# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A journal for the simulated host: what the programs log is taken by journald.py, and becomes a journal file that
# libsystemd reads. Sourced after cli.sh; without systemd-journal-remote the test is skipped, or fails with MUST_WORK=1.
# shellcheck disable=SC2154 # root, tmp and work are cli.sh's
remote=/lib/systemd/systemd-journal-remote
needs "$remote" journalctl

# start_journal: for the host that runs in $root.
start_journal() {
	journals=$root/var/log/journal/0123456789abcdef0123456789abcdef
	mkdir -p "$journals"
	log_here
}
# publish: the journal has what has arrived until now.
publish() {
	rm -f "$journals/system.journal"
	cp "$work/logged" "$tmp/export.now"
	"$remote" -o "$journals/system.journal" "$tmp/export.now" 2>/dev/null
}
# arrived EVENT N: so many events of this kind have.
arrived() { [ "$(tr '\000-\010' '\n' <"$work/logged" | grep -acx "$1")" -ge "$2" ]; }
