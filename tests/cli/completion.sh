#!/bin/bash
# bash's completion: commands, options, and the IDs and types of the host that the line speaks of.
. "${srcdir:?}/tests/cli/host.sh"
. "$srcdir/etc/bash-completion/vgpu-lease"
. "$srcdir/etc/bash-completion/vgpu-lease-sim"

PATH=$builddir:$PATH
host mtty+t4:2
conf <<EOF
[devices]
enabled_mdev_types = mtty-1
EOF
call prepare begin 1

types=$("$builddir/vgpu-lease" --root "$root" types | awk 'NR > 1 { printf "%s%s", sep, $1; sep = " " }')

# complete_line WORD...: what the last word may become.
complete_line() {
	COMP_WORDS=(vgpu-lease "$@")
	COMP_CWORD=$#
	_vgpu_lease
	echo "${COMPREPLY[*]}"
}

is "$(complete_line '')" "list show types inventory plan rewrite check gc release retype attach detach suspend resume" "the commands"
is "$(complete_line --root "$root" re)" "rewrite release retype resume" "behind an option with its value, too"
is "$(complete_line list --)" "--root --config --help --json" "the options of a command"
is "$(complete_line gc --t)" "--type" "those of its own"
is "$(complete_line plan --op m)" "migrate" "their values"
is "$(complete_line --root "$root" release '')" "$(uuid 1)" "the IDs that can be released"
is "$(complete_line --root "$root" gc --type '')" "$types" "the types of the host"
is "$(complete_line rewrite "$srcdir/COPY")" "$srcdir/COPYING" "files"
is "$(complete_line detach vm1 --root "$root" '')" "$(uuid 1)" "the vGPUs that can be detached"
is "$(complete_line --root "$root" retype '')|$(complete_line --root "$root" retype mtty '')" \
	"0000:84:00.0 0000:85:00.0 mtty|$types" "the cards and their types"
# bash takes words apart at each : and =, and has the last piece replaced.
is "$(complete_line --root "$root" retype 0000 : 8)|$(complete_line --root "$root" retype 0000 :)" \
	"84:00.0 85:00.0|84:00.0 85:00.0" "an address of which a part is there"
is "$(complete_line --root "$root" retype 0000 : 84 : 0)|$(complete_line --root "$root" retype 0000 : 84 : 00.0 mtty-)" \
	"00.0|mtty-1 mtty-2" "or all of it"
is "$(complete_line --root = "$root" retype mt)|$(complete_line gc --root = "$root" --type = mtty)" "mtty|mtty-1 mtty-2" \
	"an option and its value in one word"
is "$(complete_line plan --op =)" "prepare migrate restore" "also without the value's beginning"
is "$(complete_line --connect qemu : ///system sh)" "show" "a libvirt's URI"
is "$(complete_line list x)" "" "and nothing where nothing is to come"
for name in list show types inventory plan rewrite check gc release retype attach detach suspend resume; do
	missing=$(for option in $("$builddir/vgpu-lease" "$name" --help | grep -oE '^  --[a-z-]+'); do
		[[ " $(complete_line "$name" --) " == *" $option "* ]] || echo "$option"
	done)
	nothing "all options of $name are known" "$missing"
done

sim_line() {
	COMP_WORDS=(vgpu-lease-sim "$@")
	COMP_CWORD=$#
	_vgpu_lease_sim
	echo "${COMPREPLY[*]}"
}
is "$(sim_line --st)" "--stop" "options of the simulator"
is "$(sim_line /tmp l4)" "l40s-mdev l40s" "its models"
is "$(sim_line --set pid=1 /tmp t4:2+mt)" "t4:2+mtty" "several of them"
is "$(sim_line --set pid = 1 --driver = 550 "$builddir/ho")" "$builddir/hooks" "options whose words bash takes apart"
missing=$(for option in $("$sim" --help | grep -oE '^  --[a-z-]+'); do
	[[ " $(sim_line --) " == *" $option "* ]] || echo "$option"
done)
nothing "all its options are known" "$missing"
tap_done
