#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vgpu-lease status --watch: the picture follows the leases, and the terminal is as it was in the end.
. "$(dirname "$0")/../../lib/cli.sh"

host mtty mtty-1
screen=$tmp/screen
mkfifo "$tmp/keys"
# watch: on a terminal of its own; `keys TEXT` types there. The terminal's settings after it are in $tmp/after.
watch() {
	: >"$screen"
	rm -f "$tmp/after" "$tmp/status"
	SHELL=/bin/bash TERM=xterm LC_ALL=C.UTF-8 script -qfec "stty cols 100 rows 12; stty -g >$tmp/before
		$(printf '%q ' "$builddir/vgpu-lease" --root "$root" status --watch); echo \"status \$?\" >$tmp/status; stty -g >$tmp/after" \
		/dev/null <"$tmp/keys" >"$screen" &
	watcher=$!
	exec 8>"$tmp/keys"
}
keys() { printf '%b' "$1" >&8; }
ends() {
	eventually test -s "$tmp/after" || kill $watcher
	exec 8>&-
	wait $watcher
}
# shows WORD: it is in the last picture.
shows() { tr -d '\r' <"$screen" | awk -v RS='\033[[]H' 'END { print }' | grep -q "$1"; }

watch
holds "a picture is there" eventually shows "0 vGPUs"
call prepare begin 1
holds "a lease that somebody else makes appears, with the store that was not there before" eventually shows vm1
call prepare begin 2
holds "as does a second one" eventually shows vm2
call release end 1
holds "one that ends goes" eventually eval '! shows vm1'
holds "and only that" shows vm2
call prepare begin 3
holds "while others come" eventually shows vm3
keys q
ends
is "$(cat "$tmp/status")|$(cat "$tmp/after")" "status 0|$(cat "$tmp/before")" "q ends it, and the terminal is as it was"
is "$(head -c 8 "$screen")" $'\e[?1049h' "it has a screen of its own"
like "$(cat "$screen")" "*"$'\e[?25h\e[?1049l' "and leaves it"

for key in 003 034; do
	watch
	holds "again" eventually shows vm3
	keys "\\$key"
	ends
	is "$(cat "$tmp/status")|$(cat "$tmp/after")" "status 0|$(cat "$tmp/before")" "so does the key $key, ^C or ^\\"
	like "$(cat "$screen")" "*"$'\e[?25h\e[?1049l' "in the same way"
done

### On what is no terminal there is nothing of that.
"$builddir/vgpu-lease" --root "$root" status --watch >"$screen" </dev/null &
watcher=$!
holds "in a pipe" eventually grep -q vm3 "$screen"
call release end 3
follows() { tail -n 8 "$screen" | grep -q vm2 && ! tail -n 8 "$screen" | grep -q vm3; }
holds "the picture follows, too" eventually follows
nothing "without an escape sequence" "$(grep -a $'\e' "$screen")"
kill $watcher
wait $watcher
is $? 0 "SIGTERM ends it"
vl_ends "JSON is printed once" 2 status --watch --json
tap_done
