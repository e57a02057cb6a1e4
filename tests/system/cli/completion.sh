#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bash's completion: commands, options, and the IDs and types of the host that the line speaks of.
. "$(dirname "$0")/../../lib/cli.sh"
. "$srcdir/etc/bash-completion/vgpu-lease"
. "$srcdir/etc/bash-completion/vgpu-lease-sim"
. "$srcdir/etc/bash-completion/vgpu-leased"

PATH=$builddir:$PATH
host mtty+t4:2 mtty-1
call prepare begin 1

types=$("$builddir/vgpu-lease" --root "$root" types | awk 'NR > 1 { printf "%s%s", sep, $1; sep = " " }')

# completed PROGRAM WORD...: what the last word may become.
completed() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	"_${1//-/_}"
	echo "${COMPREPLY[*]}"
}
complete_line() { completed vgpu-lease "$@"; }
unknown() {
	local option
	for option in $("${@:2}" --help | grep -oE '^  --[a-z-]+'); do
		[[ " $($1 --) " == *" $option "* ]] || echo "$option"
	done
}

is "$(complete_line '')" "status list show types inventory init plan rewrite check gc release retype log metrics export attach detach suspend resume help" "the commands"
is "$(complete_line help s)" "status show suspend" "and those that help tells of"
is "$(complete_line --root "$root" re)" "rewrite release retype resume" "behind an option with its value, too"
# --json and the options of a table exclude each other.
for line in '--json=--json' '--output ID=--output' '--sort ID=--output' '--no-headings=--output'; do
	read -ra words <<<"${line%=*}"
	is "$(complete_line list "${words[@]}" -- | grep -oE -- '--(json|output)' | xargs)" "${line#*=}" "behind ${line%=*} what goes with it"
done
is "$(complete_line list --)" "--root --config --help --version --json --output --sort --no-headings --domain --pgpu --type --state" "the options of a command"
is "$(complete_line gc --t)" "--type" "those of its own"
is "$(complete_line plan --op m)" "migrate" "their values"
is "$(complete_line --root "$root" list -o '')" "ID TYPE PARENT STATE ORIGIN AGE DOMAIN NOTE" "the columns of a table"
is "$(complete_line list --sort x inv)|$(complete_line --root "$root" inventory --pgpu m)|$(complete_line list --state r)" "|mtty|reserved releasing" \
	"the values of filters"
is "$(complete_line --root "$root" release '')" "$(uuid 1)" "the IDs that can be released"
is "$(complete_line --root "$root" gc --type '')" "$types" "the types of the host"
is "$(complete_line rewrite "$srcdir/COPY")" "$srcdir/COPYING" "files"
is "$(complete_line detach vm1 --root "$root" '')" "$(uuid 1)" "the vGPUs that can be detached"
is "$(complete_line --root "$root" retype '')|$(complete_line --root "$root" retype mtty '')" \
	"0000:84:00.0 0000:85:00.0 mtty|mtty-1 mtty-2" "the cards, and of one card its own types"
# bash splits words at each : and =, and replaces only the last piece.
is "$(complete_line --root "$root" retype 0000 : 8)|$(complete_line --root "$root" retype 0000 :)" \
	"84:00.0 85:00.0|84:00.0 85:00.0" "an address of which a part is there"
is "$(complete_line --root "$root" retype 0000 : 84 : 0)|$(complete_line --root "$root" retype 0000 : 84 : 00.0 mtty-)$(complete_line --root "$root" retype 0000 : 84 : 00.0 nvidia-222)" \
	"00.0|nvidia-222" "or all of it"
is "$(complete_line --root = "$root" retype mt)|$(complete_line gc --root = "$root" --type = mtty)" "mtty|mtty-1 mtty-2" \
	"an option and its value in one word"
is "$(complete_line plan --op =)" "prepare migrate restore" "also without the value's beginning"
is "$(complete_line --connect qemu : ///system sh)" "show" "a libvirt's URI"
is "$(complete_line export n)|$(complete_line export placement n)" "nova-provider-config nova-pci|" "the formats"
for line in "release $(uuid 1)" "detach vm1 $(uuid 1)" 'detach vm9' "plan $srcdir/COPYING" "rewrite $srcdir/COPYING" 'help show'; do
	read -ra words <<<"$line"
	nothing "nothing that would be refused behind $line" "$(complete_line --root "$root" "${words[@]}" '')"
done
is "$(complete_line list x)" "" "and nothing where nothing is to come"
for name in status list show types inventory init plan rewrite check gc release retype log metrics export attach detach suspend resume; do
	nothing "all options of $name are known" "$(unknown "complete_line $name" "$builddir/vgpu-lease" "$name")"
done

sim_line() { completed vgpu-lease-sim "$@"; }
is "$(sim_line --st)" "--stop" "options of the simulator"
is "$(sim_line /tmp l4)" "l40s-mdev l40s" "its models"
is "$(sim_line --set pid=1 /tmp t4:2+mt)" "t4:2+mtty" "several of them"
is "$(sim_line --set pid = 1 --driver = 550 "$builddir/ho")" "$builddir/hooks/" "options whose words bash takes apart"
nothing "all its options are known" "$(unknown sim_line "$sim")"

leased_line() { completed vgpu-leased "$@"; }
is "$(leased_line --f)|$(leased_line --connect '')|$(leased_line --config "$srcdir/COPY")|$(leased_line --root = "$builddir/ho")" \
	"--foreground|qemu:///system|$srcdir/COPYING|$builddir/hooks/" "the handler's options and their values"
nothing "all its options are known" "$(unknown leased_line "$builddir/vgpu-leased")"

### Words from outside, in a real interactive bash: none is ever expanded, and what is inserted is one word.
mkdir -p "$work/files/d"
program virsh <<<"cat $work/bin/domains"
program vgpu-lease-sim <<<"cat $work/bin/models"
program vgpu-lease <<END
for word; do case \$word in list | types | inventory) cat $work/bin/columns $work/bin/\$word ;; esac; done
END

# One bash for all: `typed KEYS` types them, and shows what stands in the line then.
mkfifo "$work/keys"
(cd "$work/files" && PATH=$work/bin:$PATH exec script -qfec 'bash --norc --noprofile -i' /dev/null) <"$work/keys" >"$work/screen" 2>&1 &
bash_pid=$!
exec 7>"$work/keys"
printf '%s\n' "HISTFILE=; bind 'set bell-style none'; bind 'set completion-query-items 0'" \
	". '$srcdir/etc/bash-completion/vgpu-lease'; . '$srcdir/etc/bash-completion/vgpu-lease-sim'; . '$srcdir/etc/bash-completion/vgpu-leased'" \
	"bind -x '\"\\C-g\": printf %s \"\$READLINE_LINE\" >$work/line.new; mv $work/line.new $work/line'; : >$work/ready" >&7
holds "an interactive bash has read both" eventually test -e "$work/ready"
typed() {
	rm -f "$work/line"
	printf '%b\a' "$1" >&7
	eventually test -e "$work/line" && cat "$work/line"
	printf '\025' >&7
}
# meant TEXT: the words that a shell makes of it.
meant() { (cd "$work/files" && bash -c "printf '<%s>' $1" 2>&1); }
# inserts SENTENCE LINE KEYS WORD: behind the line, the keys and a tab insert this one word.
inserts() {
	got=$(typed "$2$3\t")
	is "$(meant "${got#"$2"}")" "<$4>" "$1"
}
offer() { for file in columns domains list types inventory models; do printf '%s\n' "$@" >"$work/bin/$file"; done; }

# shellcheck disable=SC2016
hostile=('x$(id>PWNED)' 'x`id>PWNED`' 'x;id>PWNED' 'x$HOME' "x'y" 'x"y' 'x\y' 'x*' 'x~y' 'x>PWNED' 'x&' 'x{a,b}' 'x#' 'x!!' 'x|y' 'x:$(id>PWNED)')
for name in "${hostile[@]}"; do
	offer "$name"
	for line in 'attach ' 'detach ' 'show ' 'suspend ' 'resume ' 'release ' 'detach vm1 ' 'gc --type ' 'attach --type ' 'retype ' 'retype mtty ' 'log ' \
		'list --type ' 'list --domain ' 'inventory --pgpu '; do
		inserts "$name is inserted as one word behind $line" "vgpu-lease $line" x "$name"
	done
	# The columns are the words of the first line.
	for option in -o --sort; do inserts "likewise behind $option" "vgpu-lease list $option " x "$name"; done
	inserts "likewise behind vgpu-lease-sim" "vgpu-lease-sim /tmp " x "$name"
done
offer 'a domain' 'b'
inserts "a name with a space is one word" "vgpu-lease attach " a "a domain"
is "$(typed "vgpu-lease attach 'a\\t")" "vgpu-lease attach 'a" "within quotes nothing is inserted that they would not hold"
inserts "what is escaped already goes on" "vgpu-lease attach " 'a\\ d' "a domain"
offer "${hostile[@]}"
typed 'vgpu-lease attach x\t\t' >/dev/null
typed 'vgpu-lease release \t\t' >/dev/null
touch "$work/files/f\$(id>PWNED)"
# shellcheck disable=SC2016
for line in 'plan ' 'rewrite ' '--config '; do inserts "a file's name is one word behind $line" "vgpu-lease $line" f 'f$(id>PWNED)'; done
rm "$work/files/f"*
is "$(typed 'vgpu-lease plan d\t')" "vgpu-lease plan d/" "a directory may go on"
is "$(typed 'vgpu-lease-sim d\t')" "vgpu-lease-sim d/" "likewise the simulator's"
is "$(ls "$work/files")" d "nothing of all that was run"
printf 'exit\n' >&7
exec 7>&-
wait $bash_pid
tap_done
