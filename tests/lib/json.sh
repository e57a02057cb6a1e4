# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command whose JSON is kept, and compared with its schemas when the test ends. Sourced by host.sh.
# shellcheck disable=SC2154 # srcdir, builddir and work are host.sh's

# vgpu_lease ARGUMENT...: runs the command. Tests call it with --json in this way only, or with as_nobody of host.sh.
vgpu_lease() { keep_json "$builddir/vgpu-lease" "$@"; }

# keep_json COMMAND...: what it prints as JSON is kept. `check`, which only reads, is asked for JSON in any case, so that
# every finding is compared.
keep_json() {
	local status=0 kept=$work/json/$EPOCHREALTIME.$BASHPID

	if [[ " $* " != *' --json '* ]]; then
		"$@" || status=$?
		if [[ " $* " == *' check '* ]]; then keep_json "$@" --json >/dev/null 2>&1 || :; fi
		return $status
	fi
	"$@" >"$kept" || status=$?
	cat "$kept"
	while [[ $1 != */vgpu-lease ]]; do shift; done
	printf '%s\n' $status "${@:2}" >"$kept.call"
	return $status
}

# A call that was cut off by the test has no file .call.
json_fits() {
	compgen -G "$work/json/*.call" >/dev/null || return 0
	holds "all JSON that was printed has what its schemas say, and no more" \
		python3 "$srcdir/tests/lib/json_fits.py" "$srcdir/schemas" "$work/json"
}
