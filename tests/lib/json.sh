# shellcheck shell=bash
# The command whose JSON is kept, and compared with its schemas when the test ends. Sourced by host.sh.
# shellcheck disable=SC2154 # srcdir, builddir and work are host.sh's

# vgpu_lease ARGUMENT...: runs the command. No test calls it with --json by another way.
vgpu_lease() {
	local status=0 kept=$work/json/$EPOCHREALTIME.$BASHPID

	if [[ " $* " != *' --json '* ]]; then
		"$builddir/vgpu-lease" "$@"
		return
	fi
	"$builddir/vgpu-lease" "$@" >"$kept" || status=$?
	cat "$kept"
	printf '%s\n' $status "$@" >"$kept.call"
	return $status
}

# A call that was cut off by the test has no file .call.
json_fits() {
	compgen -G "$work/json/*.call" >/dev/null || return 0
	holds "all JSON that was printed has what its schemas say, and no more" \
		python3 "$srcdir/tests/lib/json_fits.py" "$srcdir/schemas" "$work/json"
}
