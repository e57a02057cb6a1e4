# shellcheck shell=bash
# A simulated host for tests in bash: sourced. Without root and /dev/fuse the test is skipped, or fails with MUST_WORK=1.
#
#     start_host MODEL    starts it in $root; it ends with the script, or with end_host
#     $work               a directory of the test's own, gone with the script
: "${srcdir:?}" "${builddir:?}"
# shellcheck source=tests/lib/tap.sh
. "$srcdir/tests/lib/tap.sh"
# shellcheck source=tests/lib/json.sh
. "$srcdir/tests/lib/json.sh"
sim=$builddir/vgpu-lease-sim

if [ "$(id -u)" != 0 ] || ! [ -w /dev/fuse ]; then
	skip_all "root and /dev/fuse are needed"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-lease-test.XXXXXX")
root=$work/host
mkdir "$work/json"

start_host() { # MODEL
	"$sim" "$root" "$1" || { echo "Bail out! the simulated host does not start"; exit 1; }
}
end_host() { "$sim" --stop "$root" 2>/dev/null || :; }

# Each host that runs in $work ends. A child of the hook may be at it still: it finishes releases.
clean_up() {
	local at
	while read -r at; do
		"$sim" --stop "$(printf '%b' "${at%/.kernel}")"
	done < <(awk -v "work=$work/" 'index($2, work) == 1 && $2 ~ /\/\.kernel$/ { print $2 }' /proc/mounts) 2>/dev/null
	for _ in {1..100}; do
		rm -rf "$work" 2>/dev/null && return
		sleep 0.1
	done
}
trap clean_up EXIT

# as_nobody COMMAND...: without root's rights.
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# control FILE LINE: one of the simulator's knobs.
control() {
	echo "$2" >"$root/.kernel/control/$1"
}

# within SECONDS COMMAND...: the command succeeds before that time is over.
within() {
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}
eventually() { within 20 "$@"; }
