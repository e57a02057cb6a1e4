# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests of vgpu-leased on a simulated host: sourced. start runs it; it ends with the script.
. "${BASH_SOURCE[0]%/*}/hook.sh"

lock=$root/run/vgpu-lease/handler.lock

# start [OPTION...]: runs the handler, and waits until the hook would see it; stop [SIGNAL]: ends it.
start() {
	: >"$log"
	start_handler "$@"
	eventually runs
}
stop() { stop_handler "$@"; }
runs() { is_locked "$lock"; }
stops() { stop TERM; is "$status" 0 "$1"; } # SENTENCE
# When the handler last made a pass: the time of its lock file is that.
passes() { stat -c %.9Y "$lock" 2>/dev/null; }
# looks: the handler makes another pass, and all that it would remove is gone. One that is under way may have seen less.
passed() { [ "$(passes)" != "$1" ]; }
looks() {
	local before
	for _ in 1 2; do
		before=$(passes)
		kill -HUP "$handler"
		eventually passed "$before"
	done
}
# said KEY [ARG...]: the log has this message.
said() { says "$@" <"$log"; }
said_times() { says_times "$@" <"$log"; }

state() { sed -n 's/^state=//p' "$root/run/vgpu-lease/leases/$1" 2>/dev/null; }
is_state() { [ "$(state "$1")" = "$2" ]; }
gone() { [ "$(devices)" = '' ] && [ "$(leases)" = 0 ]; }

# left N...: the mdevs and the definitions of mdevctl that are left, by number.
left() {
	local n
	for n; do
		[ ! -e "$root/sys/bus/mdev/devices/$(numbered "$n")" ] || printf '%s ' "$n"
		! compgen -G "$root/etc/mdevctl.d/*/$(numbered "$n")" >/dev/null || printf 'd%s ' "$n"
	done
}
is_left() { [ "$(left 1 2 3 4 5)" = "$1" ]; }
# gc_leaves LEFT SENTENCE [OPTION...]: after gc these are left of the first five.
gc_leaves() { lease gc "${@:3}" >"$work/gc"; is "$(left 1 2 3 4 5)" "$1" "$2"; }

# write_node FILE DOMAINS RUNNING EACH: a host for libvirt's test driver; each that runs has so many vGPUs, by their number, and a
# status file.
write_node() {
	local n m state
	{
		echo '<node>'
		for ((n = 0; n < $2; n++)); do
			state=$((n < $3 ? 1 : 5))
			printf "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>vm%d</name>" $n
			printf "<uuid>%08x-0000-4000-8000-00000000000d</uuid><memory>8192</memory><os><type>hvm</type></os><devices>" $n
			for ((m = 1; m <= $4; m++)); do mdev_hostdev "$(uuid $((n * $4 + m)))"; done
			echo "</devices><test:runstate>$state</test:runstate></domain>"
		done
		echo '</node>'
	} >"$1"
	for ((n = 0; n < $3; n++)); do
		sed -n "s,.*\(<domain .*<name>vm$n</name>.*\),\1,p" "$1" | libvirt_runs "vm$n"
	done
}
