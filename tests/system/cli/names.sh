#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What came from outside, on a terminal: no name and no XML drives it, hides in it or looks like another one.
. "$(dirname "$0")/../../lib/cli.sh"
host t4:1 nvidia-222

# on_tty LOCALE ARGUMENT...: what it prints on a terminal of 200 columns, both streams.
on_tty() { on_terminal 200 env LC_ALL="$1" TERM=dumb timeout --foreground 20 "$builddir/vgpu-lease" --root "$root" "${@:2}"; }
on_a_terminal() { on_tty C.UTF-8 "$@"; }
# Names the characters of standard input that would not be seen as themselves; the newline ends a line.
hidden() {
	python3 -c '
import sys, unicodedata
text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
print(sorted({hex(ord(c)) for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}))'
}
named() {
	name=$2 LC_ALL=C awk '/^name=/ { print "name=" ENVIRON["name"]; next } 1' "$root/run/vgpu-lease/leases/$(uuid "$1")" >"$tmp/lease"
	cat "$tmp/lease" >"$root/run/vgpu-lease/leases/$(uuid "$1")"
}
# C1 (CSI), right-to-left override, isolate, zero width space, line separator, byte order mark, soft hyphen, a tag
odd=$'\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf\xc2\xad\xf3\xa0\x80\xa1'
shown='\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf\xc2\xad\xf3\xa0\x80\xa1'

domain 9 00000000-0000-0000-0000-000000000000 nvidia-222 | sed "s|<devices>|<!-- $odd \\\\xc2 -->\n&|" >"$tmp/odd.xml"
sed "s/<name>vm9</<name>vm$odd</" "$tmp/odd.xml" >"$tmp/named.xml"
for file in odd named; do
	out=$(on_a_terminal plan --op migrate "$tmp/$file.xml")
	is "$(hidden <<<"$out")" "[]" "plan shows no hidden character of the XML on a terminal ($file)"
	out=$(on_a_terminal rewrite "$tmp/$file.xml")
	is "$(hidden <<<"$out")" "[]" "nor does rewrite"
	holds "but what is there, with its own backslashes marked" grep -qF "<!-- $shown \\x5cxc2 -->" <<<"$out"
done
vl rewrite "$tmp/odd.xml"
holds "what is not a terminal gets the XML as it is" grep -qF "$odd" <<<"$out"
vl plan "$tmp/missing$odd.xml"
is "$(hidden <<<"$err")" "[]" "nor an error"
vl plan --op migrate --json "$tmp/named.xml"
is "$(hidden <<<"$out")" "[]" "nor JSON"
is "$(jq -r .domain.name <<<"$out")" "vm$odd" "which says it all the same"

for n in {1..3}; do call prepare begin "$n" nvidia-222; done
named 1 "a$odd%1b[2J"
named 2 "a$shown"
named 3 ' b  '
for command in list status 'show 0000:84:00.0' "show $(uuid 1)" 'gc --dry-run' "release --dry-run $(uuid 1)"; do
	out=$(in_words on_a_terminal "$command" 2>&1)
	is "$(hidden <<<"$out")" "[]" "nor does $command"
done
is "$(on_a_terminal list -o domain --no-headings | sort)" "$(printf '%s\n' "a${shown//\\/\\x5c}" "a$shown\x1b[2J" '\x20b \x20' | sort)" \
	"two names that differ never look the same, and blanks at the ends of a name are seen"
is "$(on_a_terminal status | grep -cE '^   (├|└)─ ')" 3 "so each is a branch of the tree"
is "$(vgpu_lease --root "$root" list --json | jq -r '.leases[].domain.name' | sort)" "$(printf '%s\n' "a$odd"$'\e[2J' "a$shown" ' b  ' | sort)" \
	"JSON has them as they are"

### Names that are not ASCII: columns stay columns, and a terminal gets what its locale can show
new_host t4:1 nvidia-222
# Two characters of two columns each, and one with a combining accent: 12 columns, 16 bytes.
wide=$'\xe6\x9d\xb1\xe4\xba\xac-gue\xcc\x81st-1' bytes='\xe6\x9d\xb1\xe4\xba\xac-gue\xcc\x81st-1'
for n in 1 2; do call prepare begin $n nvidia-222; done
sed -i "s/^name=.*/name=$wide/" "$root/run/vgpu-lease/leases/$(uuid 1)"

table=(list -o 'domain,type' --sort domain)
in_columns="\
DOMAIN        TYPE
vm2           nvidia-222
$wide  nvidia-222"
escaped="\
DOMAIN                                    TYPE
$bytes  nvidia-222
vm2                                       nvidia-222"
is "$(on_a_terminal "${table[@]}")" "$in_columns" "a column is as wide as its text is on a terminal"
is "$(on_tty C "${table[@]}")" "$escaped" "one whose locale is ASCII gets bytes as ls has them"
is "$(on_tty POSIX "${table[@]}")" "$escaped" "by whatever name"
for locale in C C.UTF-8; do
	is "$(LC_ALL=$locale vgpu_lease --root "$root" "${table[@]}")" "$in_columns" \
		"what is not a terminal gets the name as it is, in columns ($locale)"
	holds "and so does JSON ($locale)" grep -qF "\"name\": \"$wide\"" < <(LC_ALL=$locale vgpu_lease --root "$root" list --json)
done
for command in status "show $(uuid 1)" 'show 0000:84:00.0'; do
	out=$(in_words on_tty C "$command")
	is "$(LC_ALL=C tr -d '\000-\177' <<<"$out" | wc -c) $(grep -cF -- "$bytes" <<<"$out")" "0 1" "$command as well"
done
tap_done
