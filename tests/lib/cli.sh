# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A simulated host for the tests of the command. Sourced; needs root and /dev/fuse.
. "${BASH_SOURCE[0]%/*}/host.sh"
hook=$builddir/hooks/qemu tmp=$work

# host MODEL [WORD...]: starts the host with this configuration, or an empty one.
host() { configure </dev/null; start_host "$@"; }

# domain N UUID [TYPE]: the XML of the domain vmN with this vGPU.
domain() { mdev_xml "vm$1" "$(domain_uuid "$1")" "${@:2}"; }

# call OP SUBOP N [TYPE]: what libvirt does for the domain vmN, whose vGPU has the number N, too.
call() { domain "$3" "$(uuid "$3")" "${4:-}" | "$hook" --root "$root" -- "vm$3" "$1" "$2" -; }

# vl ARGUMENT...: runs the command on this host; what it printed is in $out and $err, how it ended in $status.
as=(vgpu_lease)
vl() {
	status=0
	# shellcheck disable=SC2034 # Read by the tests.
	out=$("${as[@]}" --root "$root" "$@" 2>"$tmp/err") || status=$?
	# shellcheck disable=SC2034
	err=$(cat "$tmp/err")
}

# as_user COMMAND...: where this calls vl, that is without root's rights.
as_user() {
	local as=(as_nobody vgpu-lease)
	"$@"
}

# create PARENT TYPE N: somebody else makes the vGPU number N.
create() { uuid "$3" >"$root/sys/class/mdev_bus/$1/mdev_supported_types/$2/create"; }

# orphan PARENT TYPE N: the same, and a guest has had it.
orphan() { create "$@" && for_guest "$(uuid "$3")" "$2" "$1"; }

exists() { [ -e "$root/sys/bus/mdev/devices/$(uuid "$1")" ]; }

# hold N: a process opens the vGPU number N; leave: it closes it.
hold() { exec 7<>"$(node_of "$(uuid "$1")")"; }
leave() { exec 7>&-; }

# runs N: libvirt has a status file of the domain vmN, with its vGPU.
runs() { domain "$1" "$(uuid "$1")" | libvirt_runs "vm$1"; }

# guest N [TYPE]: the domain vmN starts, and runs.
guest() { call prepare begin "$@" && runs "$1"; }

# start_daemon NAME PIDFILE: a process that is called as libvirt's daemon is, in $daemon. What comes before and after it differs in time.
start_daemon() {
	[ -e "$work/$1" ] || cp "$(type -P sleep)" "$work/$1"
	sleep 0.05
	"$work/$1" 600 &
	daemon=$!
	echo $daemon >"$root/run/$2"
	eventually grep -qx "$1" "/proc/$daemon/comm"
	sleep 0.05
}
stop_daemon() { kill "$daemon" && wait "$daemon" 2>/dev/null; }

# age N: the lease of the vGPU number N entered its state when the host was booted, and so is any deadline of it.
age() {
	sed -i -E 's/^since_ms=.*/since_ms=1/;s/^deadline_ms=[1-9].*/deadline_ms=1/' "$root/run/vgpu-lease/leases/$(uuid "$1")"
}

# cut_off N: the lease of the vGPU number N is that of a creation whose writer is dead.
cut_off() {
	sed -i -E 's/^state=.*/state=creating/;s/^writer=.*/writer=4194305/' "$root/run/vgpu-lease/leases/$(uuid "$1")"
}

# ended STATUS KEY [ARG...]: the last vl ended so, and said this.
ended() {
	[ "$status" = "$1" ] || { echo "status $status"; return 1; }
	shift
	says "$@" <<<"$err"
}

# vl_ends SENTENCE STATUS ARGUMENT...: vl ends so; vl_works SENTENCE ARGUMENT...: with 0, and without a word of complaint.
vl_ends() { vl "${@:3}"; is "$status" "$2" "$1"; }
vl_works() { vl "${@:2}"; is "$status|$err" "0|" "$1"; }
# vl_is SENTENCE STATUS|OUTPUT|ERROR ARGUMENT...: it ends so, and prints this on both; vl_like: this is a pattern.
vl_is() { vl "${@:3}"; is "$status|$out|$err" "$2" "$1"; }
vl_like() { vl "${@:3}"; like "$status|$out|$err" "$2" "$1"; }
# vl_words SENTENCE WORDS ARGUMENT...: these are the words that it prints.
vl_words() { vl "${@:3}"; is "$(xargs <<<"$out")" "$2" "$1"; }
# vl_counts SENTENCE "STATUS NUMBER" PATTERN ARGUMENT...: it ends so, and so many lines that it prints match.
vl_counts() { vl "${@:4}"; is "$status $(grep -cE -- "$3" <<<"$out")" "$2" "$1"; }
# vl_json SENTENCE "STATUS RESULT" EXPRESSION ARGUMENT...: it ends so, and jq makes this of its JSON.
vl_json() { vl "${@:4}" --json; is "$status $(jq -rc "$3" <<<"$out")" "$2" "$1"; }
# vl_makes SENTENCE "STATUS RESULT" FILTER ARGUMENT...: it ends so, and the shell command FILTER makes this of its output.
vl_makes() { vl "${@:4}"; is "$status $(eval "$3" <<<"$out")" "$2" "$1"; }
# vl_prints SENTENCE ARGUMENT... -- KEY [ARG...]: its output has this message.
vl_prints() {
	tap_split "$@"
	vl "${tap_before[@]:1}"
	holds "$1" says "${tap_behind[@]}" <<<"$out"
}
# vl_says SENTENCE STATUS ARGUMENT... -- KEY [ARG...]: vl ends so, and says this; vl_fails: and prints nothing else.
vl_says() {
	tap_split "$@"
	vl "${tap_before[@]:2}"
	holds "$1" ended "$2" "${tap_behind[@]}"
}
vl_fails() {
	tap_split "$@"
	vl "${tap_before[@]:2}"
	is "$status|$out|$err" "$2||$(message M_PROGRAM "$(message "${tap_behind[@]}")")" "$1"
}

# check: runs it; $notes is what is not well, one line each: STATUS WHAT WHERE: MESSAGE.
check() {
	vl check "$@"
	# shellcheck disable=SC2034
	notes=$(grep -E '^(WARN|FAIL) ' <<<"$out" | tr -s ' ')
}
# check_says SENTENCE PATTERN KEY [ARG...]: of the lines of check that match, one has this message.
check_says() { vl check; holds "$1" says "${@:3}" < <(grep -E -- "$2" <<<"$out"); }
# check_counts SENTENCE NUMBER PATTERN: so many lines of check match.
check_counts() { vl check; is "$(grep -cE -- "$3" <<<"$out")" "$2" "$1"; }

# on_terminal WIDTH COMMAND...: what it prints on a terminal of so many columns.
on_terminal() {
	SHELL=/bin/bash script -qec "stty cols $1 -opost; exec $(printf '%q ' "${@:2}")" /dev/null </dev/null
}

# For tests that compare what a command prints with what a document shows of it.
# general: without what differs between two calls and two machines; what a page leaves out, with "...", is any text.
general() {
	sed -E 's/ +#( .*)?$//; s/20[0-9]{2}-[0-9T:-]+Z/TIME/g; s/\([0-9]+[smhd]\)/(AGE)/; s/ +[0-9]+[smhd]( +|$)/ AGE /
		s/process [0-9]+/process N/; s/(,| ) TU104GL \[Tesla T4\]//; s/^[0-9]+ create/N create/; s/^[^ ]*: line [0-9]+: /bash: /; s/ +$//'
}
# as_written SENTENCE OUTPUT WRITTEN: the output is that of the page.
as_written() {
	local got written pattern tap_quoted
	got=$(general <<<"$2") written=$(general <<<"$3" | sed -E 's/([0-9a-f]{4,8}-?|\<)\.\.\.(,| |$)/LEFT OUT\2/')
	tap_literal "$written"
	pattern=${tap_quoted//LEFT OUT/*}
	like "$got" "$pattern" "$1"
}
