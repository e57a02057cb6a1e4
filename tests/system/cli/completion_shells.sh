#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The completion of zsh and fish, in the shells themselves: bash's words, each inserted as one word, and none ever run.
# shellcheck disable=SC2016,SC2012 # what other shells expand; names that are known
. "$(dirname "$0")/../../lib/cli.sh"
needs zsh fish

mkdir -p "$work/files/dir" "$work/zsh" "$work/fish"
: >"$work/files/file"
sed "s,@bashcompletiondir@,$srcdir/etc/bash-completion," "$srcdir/etc/zsh/_vgpu-lease.in" >"$work/zsh/_vgpu-lease"
for file in "$builddir"/etc/fish/*.fish; do
	sed "s,'[^']*' \$name,'$srcdir/etc/bash-completion' \$name," "$file" >"$work/fish/${file##*/}"
done
program virsh <<<"cat $work/bin/domains"
# Prints words if there are some; else keeps the arguments that it is called with.
program vgpu-lease <<END
for word; do
	[ -e "$work/bin/words" ] && case \$word in
	list | types | inventory) echo NAME && exec cat "$work/bin/words" ;;
	--list-models) exec cat "$work/bin/words" ;;
	esac
done
printf "<%s>" "\$@" >"$work/args.new"
mv "$work/args.new" "$work/args"
END
for name in leased lease-sim; do cp "$work/bin/vgpu-lease" "$work/bin/vgpu-$name"; done
export PATH=$work/bin:$PATH
# shellcheck disable=SC2016
hostile=('x$(id>PWNED)' 'x`id>PWNED`' 'x;id>PWNED' 'x$HOME' "x'y" 'x"y' 'x\y' 'x*' 'x~y' 'x>PWNED' 'x&' 'x{a,b}' 'x#' 'x|y' 'x y')
# Before an ID, a type, an address and a model.
lines=('vgpu-lease release' 'vgpu-lease gc --type' 'vgpu-lease retype' 'vgpu-lease retype mtty' 'vgpu-lease-sim dir')
# called LINE WORD: what the command gets.
# shellcheck disable=SC2086 # several words
called() { printf '<%s>' ${1#* } "$2"; }
cd "$work/files" || exit

### zsh: keys are typed in an interactive one, and what the command gets when the line is run is looked at
mkfifo "$work/keys"
ZDOTDIR=$work script -qfec 'zsh -f -i' /dev/null <"$work/keys" >"$work/screen" 2>&1 &
zsh_pid=$!
exec 7>"$work/keys"
printf '%s\n' "HISTFILE=; unsetopt beep; fpath=('$work/zsh' \$fpath); autoload -U compinit; compinit -D -u; : >'$work/ready'" >&7
holds "an interactive zsh knows the completion" eventually test -e "$work/ready"
# typed KEYS: the arguments with which the command is called.
typed() {
	rm -f "$work/args"
	printf '%b\n' "$1" >&7
	eventually test -e "$work/args" && cat "$work/args"
}
is "$(typed 'vgpu-lease inv\t')|$(typed 'vgpu-lease plan --op m\t')|$(typed 'vgpu-lease plan --op=r\t')" \
	"<inventory>|<plan><--op><migrate>|<plan><--op=restore>" "zsh: commands, and the values of options"
is "$(typed 'vgpu-lease plan f\t')|$(typed 'vgpu-lease --root d\t')" "<plan><file>|<--root><dir>" "zsh: files and directories"
is "$(typed 'vgpu-lease --root=d\t')|$(typed 'vgpu-leased --config=f\t')" "<--root=dir>|<--config=file>" "zsh: also behind an option's ="
is "$(typed 'vgpu-leased --wai\t')|$(typed 'vgpu-lease-sim --li\t')" "<--wait-ready>|<--list-models>" "zsh: the handler and the simulator"
for name in "${hostile[@]}"; do
	echo "$name" >"$work/bin/domains"
	is "$(typed 'vgpu-lease attach x\t')" "<attach><$name>" "zsh: $name is inserted as one word"
	[[ $name != *' '* ]] || continue
	echo "$name" >"$work/bin/words"
	for line in "${lines[@]}"; do
		is "$(typed "$line x\t")" "$(called "$line" "$name")" "zsh: likewise behind $line"
	done
	rm "$work/bin/words"
done
printf 'exit\n' >&7
exec 7>&-
holds "zsh ends" eventually test ! -e /proc/$zsh_pid/exe || kill -KILL $zsh_pid

### fish: what it offers, from the file of the command's name; it quotes what it inserts by itself
in_fish() { fish --no-config -c "set fish_complete_path '$work/fish'; $1" "${@:2}"; }
offers() { in_fish 'complete -C $argv[1]' "$1" | paste -sd' '; }
is "$(offers 'vgpu-lease inv')|$(offers 'vgpu-lease plan --op m')|$(offers 'vgpu-lease plan --op=r')" \
	"inventory|migrate|--op=restore" "fish: commands, and the values of options"
is "$(offers 'vgpu-lease plan f' | cut -f1)|$(offers 'vgpu-lease --root d' | cut -f1)" "file|dir/" "fish: files and directories"
is "$(offers 'vgpu-lease --root=d' | cut -f1)|$(offers 'vgpu-leased --config=f' | cut -f1)" "--root=dir/|--config=file" "fish: also behind an option's ="
is "$(offers 'vgpu-leased --wai')|$(offers 'vgpu-lease-sim --li')" "--wait-ready|--list-models" "fish: the handler and the simulator"
for name in "${hostile[@]}"; do
	echo "$name" >"$work/bin/domains"
	is "$(in_fish 'eval "vgpu-lease attach "(string escape -- (complete -C "vgpu-lease attach x"))'; cat "$work/args")" \
		"<attach><$name>" "fish: $name is offered as it is"
	[[ $name != *' '* ]] || continue
	echo "$name" >"$work/bin/words"
	for line in "${lines[@]}"; do
		is "$(in_fish "eval \"$line \"(string escape -- (complete -C \"$line x\")); cat \"$work/args\"")" \
			"$(called "$line" "$name")" "fish: likewise behind $line"
	done
	rm "$work/bin/words"
done

is "$(ls "$work/files" | paste -sd' ')" "dir file" "nothing of all that was run"
tap_done
