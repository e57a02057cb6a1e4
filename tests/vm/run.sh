#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh [--keep] [NAME...]   installs vgpu-lease in test machines, and lets the libvirtd there call the hook
# run.sh --prepare            builds the packages, the trees that packages.sh runs tests in, and the machines' images; then it does
#                             what takes no machine, so that the next run of all need not
#
# Runs what is named (all: migrations/*.sh, scenarios/*.sh) and prints one TAP stream. A migration is commanded from the
# machine `a`, and takes `b`, too; a scenario takes one machine: `d` beside the migrations, which wait for each other most
# of the time, then `a`, and `b` once `c` is done; without migrations `a` or `b`. SCENARIO@bookworm runs on `c`, a machine of
# Debian 12. What one prints is in vm/NAME.log while it runs. What a machine runs was built on its release (packages.sh).
# With --keep the machines stay, and those that run already are used: for work on a scenario. Root is needed, and the
# packages that `image.sh --needs` names. Where they are missing, all is skipped; with MUST_WORK=1 in the environment that
# is a failure.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
# What may differ between the releases.
on_bookworm=(24-package 28-facts)
number=0 failures=0 keep='' settings=()
# What a scenario is told by the environment of the run.
for name in DURATION HANDLER MODES NOVA_SEED OPERATIONS SITUATIONS; do
	[ -z "${!name:-}" ] || settings+=("$name=${!name}")
done

bail_out() {
	echo "Bail out! $*"
	exit 1
}

skip_all() {
	[ "${MUST_WORK:-0}" != 1 ] || bail_out "$*"
	echo "1..0 # SKIP $*"
	exit 0
}

# Gives each check on standard input its number in the whole.
tally() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*)
			number=$((number + 1))
			echo "ok $number - ${line#ok * - }"
			;;
		'not ok '*)
			number=$((number + 1))
			failures=$((failures + 1))
			echo "not ok $number - ${line#not ok * - }"
			;;
		1..[0-9]*) ;;
		"end of ${1%@*}") ;;
		'#json'*) ;;
		'#'*) echo "$line" ;;
		*) echo "# $line" ;;
		esac
	done
}

# What a run needs is there, and no other run is under way.
begin_run() {
	local tool
	[ "$(id -u)" = 0 ] || skip_all "root is needed"
	for tool in debootstrap mke2fs cpio xz zstd ssh ssh-keygen unshare qemu-system-x86_64 qemu-img; do
		command -v "$tool" >/dev/null || skip_all "$tool is missing; image.sh --needs names the packages"
	done
	mkdir -p "$vm"
	exec 9>"$vm/run.lock"
	flock -n 9 || die "another run is under way in $vm"
}

# The kernel patches its own code when the first cpuset is made and the last one goes, which is with each domain, and
# without KVM it can die of that while the other processor runs there: so one stays.
# shellcheck disable=SC2016 # the machine's shell expands it
keep_cpusets='systemctl set-property --runtime system.slice AllowedCPUs=0-$(($(nproc) - 1))'

# install_in NAME: copies what `make install` installs, built on the machine's release, and the scenarios into the machine.
install_in() {
	local staged
	staged=$vm/packages/$(release_of "$1")/staged
	(cd "$staged" && find . ! -type d) >"$machines/$1/staged.files" &&
		"$here/vm.sh" push "$1" "$staged"/* / &&
		"$here/vm.sh" run "$1" rm -rf /srv/vm /run/vm-fresh &&
		"$here/vm.sh" push "$1" "$srcdir"/tests/lib/{tap.sh,messages.sh,messages,configure.sh,nvidia_vf.sh,nvidia_mdev.sh,mdevs.sh} "$here"/{inside,pair,nvidia,openstack}.sh "$here"/{nova,scenarios,migrations} \
			"$srcdir/doc" "$machines/$1/staged.files" /srv/vm &&
		"$here/vm.sh" run "$1" sh -c "$keep_cpusets" &&
		# libvirtd looks for hooks when it starts.
		"$here/vm.sh" run "$1" systemctl restart libvirtd
}

alive() { "$here/vm.sh" run "$1" true >/dev/null 2>&1; }
all_alive() {
	local name
	for name; do alive "$name" || return; done
}

index_of() { case $1 in a) echo 1 ;; b) echo 2 ;; c) echo 3 ;; d) echo 4 ;; esac; }
release_of() { if [ "$1" = c ]; then echo bookworm; else echo trixie; fi; }
# A second processor costs a fifth of all the time that a machine takes, since QEMU then emulates what they share: one
# machine has it, for what only happens on two.
cpus_of() { [ "$1" = a ] && echo 2 || echo 1; }

# ready NAME...: machines with vgpu-lease in them, new ones where none run. They start together.
ready() {
	local name status starting=()
	for name; do
		begin_machine "$name" &
		starting+=($!)
	done
	for name; do
		status=0
		wait "${starting[0]}" || status=$?
		starting=("${starting[@]:1}")
		[ "$status" != 0 ] || continue
		[ "$status" = 2 ] || bail_out "a machine does not start"
		tail -n 20 "$vm/install-$name.log" | sed 's/^/# /'
		bail_out "vgpu-lease cannot be installed in the machine $name; see $vm/install-$name.log"
	done
}
# begin_machine NAME: 2, if it is there and nothing can be installed in it.
begin_machine() {
	if ! alive "$1"; then
		VM_CPUS=${VM_CPUS:-$(cpus_of "$1")} \
			"$here/vm.sh" boot "$1" "$(index_of "$1")" "$(release_of "$1")" | sed 's/^/# /' || return 1
	fi
	install_in "$1" >"$vm/install-$1.log" 2>&1 || return 2
}

# What needs the package: it is about it, or runs with it (runs_packaged of inside.sh).
is_package() { [[ $1 == *package* || $1 == 4[0-3]-* ]]; }

# The builds of a Debian, and its package.
make_package() { nice -n "${2:-10}" "$here/packages.sh" build "$1" >"$vm/packages-$1.log" 2>&1; }
try_packages() { nice -n 10 "$here/packages.sh" try "$@" >"$vm/packages.log" 2>&1; }
report_packages() {
	[ ${#suites[@]} != 0 ] || return 0
	echo "# packages: built for each Debian, and tried in a tree of it"
	tally packages <"$vm/packages.log"
	grep -q '^1\.\.' "$vm/packages.log" || tally packages <<<"not ok 0 - the packages are tried"
}

# Nova of the machines' Debian reads the files of tests/model/nova, in the tree that the image was made of: there it takes
# a thirtieth of the time, and needs no machine.
is_of_nova() { [[ " ${scenarios[*]}" == *" 5"[01]"-nova"* ]]; }
ask_nova() {
	local model=$srcdir/tests/model/nova
	make -C "$builddir" all tests/model/nova/pools &&
		NOVA_TREE=$vm/rootfs srcdir=$srcdir builddir=$builddir nice -n 10 bash "$model/compare.sh" >"$vm/nova-files.log" 2>&1
	NOVA_TREE=$vm/rootfs srcdir=$srcdir builddir=$builddir nice -n 10 bash "$model/exports.sh" >"$vm/nova-exports.log" 2>&1
}
report_nova() {
	local log
	is_of_nova || return 0
	for log in nova-files nova-exports; do
		echo "# $log: read by Nova of the machines' Debian"
		[ ! -f "$vm/$log.log" ] || tally "$log" <"$vm/$log.log"
		grep -qs '^1\.\.[1-9]' "$vm/$log.log" || tally "$log" <<<"not ok 0 - $log comes to its end"
	done
}

# What --prepare has done without machines counts for one run, of the same tree and image: the tarball has every file of the
# tree.
what_is_tried() { cat "$vm/packages/vgpu-lease.tar.xz" "$vm"/{built-trixie,built-bookworm,image,nova}.done | sha256sum; }
forget_tries() { rm -f "$vm"/{tried.done,packages.log,nova-files.log,nova-exports.log}; }
# tried_before: then the logs are there to be told.
tried_before() {
	is_of_nova && [ "${suites[*]}" = 'bookworm trixie' ] && [ "$(cat "$vm/tried.done" 2>/dev/null)" = "$(what_is_tried)" ] &&
		rm "$vm/tried.done"
}
try_beforehand() {
	local end=$((SECONDS + 600))
	forget_tries
	# Others may be building in the build directory: what they have not built in this time is for the run to build.
	until make -C "$builddir" -q all tests/model/nova/pools >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 0
		sleep 5
	done
	sleep 5
	ask_nova || :
	# What could not be built, as no mirror answered for one, is for the run to build once more, and to try.
	[ -f "$vm/packages/bookworm/next.deb" ] && [ -f "$vm/packages/trixie/next.deb" ] || return 0
	try_packages bookworm trixie || :
	what_is_tried >"$vm/tried.done"
}

directory_of() { if [ -f "$here/scenarios/${1%@*}.sh" ]; then echo scenarios; else echo migrations; fi; }

# run_on MACHINE NAME: runs it there, and keeps what it prints in vm/NAME.log.
run_on() {
	local program=inside.sh
	[ "$(directory_of "$2")" = scenarios ] || program=pair.sh
	SECONDS=0
	! is_package "$2" || "$here/vm.sh" push "$1" "$vm/packages/$(release_of "$1")"/*.deb /srv/vm/packages \
		>>"$vm/install-$1.log" 2>&1 || :
	"$here/vm.sh" run "$1" env "${settings[@]}" timeout $((1800 + ${DURATION:-0})) bash "/srv/vm/$program" "${2%@*}" \
		</dev/null >"$vm/$2.log" 2>&1 || :
	echo "# $2: $SECONDS s" >>"$vm/$2.log"
	judge_json "$2"
}
ended() { grep -qsxF "end of ${1%@*}" "$vm/$1.log"; }

# run_scenarios MACHINE NAME...: those of them that no other machine has taken yet, the first ones first. None in a machine
# that died.
run_scenarios() {
	local machine=$1 name
	shift
	for name; do
		mkdir "$vm/taken/$name" 2>/dev/null || continue
		run_on "$machine" "$name"
		ended "$name" || alive "$machine" || return 0
	done
}

# judge_json NAME: what it printed as JSON has what its schemas say (inside.sh, tell_json), or what has not: in vm/NAME.fits. It
# kept none: nothing is said.
judge_json() {
	local kept=$vm/$1.json said sentence="ok 0 - the JSON that $1 was given fits its schemas"
	rm -f "$vm/$1.fits"
	grep -q '^#json-call' "$vm/$1.log" || return 0
	rm -rf "$kept"
	mkdir "$kept"
	awk -F '\t' -v to="$kept/" '
		/^#json-call\t/ { close(file); close(file ".call"); file = to (++n)
			for (i = 2; i <= NF; i++) print $i >(file ".call") }
		/^#json / { print substr($0, 7) >file }' "$vm/$1.log"
	said=$(python3 "$srcdir/tests/lib/json_fits.py" "$srcdir/schemas" "$kept" 2>&1) ||
		sentence="not $sentence"$'\n'"$(head -n 30 <<<"$said")"
	echo "$sentence" >"$vm/$1.fits"
}

# Two machines with scenarios leave a fifth of two processors and more idle, since scenarios wait, too: once nothing else runs
# beside them a third one, which had the migrations before, takes scenarios as well, where enough are left for its start.
help_out() {
	local name left=0
	[ ${#migrations[@]} != 0 ] || return 0
	until [ -d "$vm/taken/migrations" ]; do kill -0 $$ && sleep 1 || return; done
	for name in "${scenarios[@]}"; do [ -d "$vm/taken/$name" ] || left=$((left + 1)); done
	[ "$left" -ge 8 ] || return 0
	ready b
	kill -0 $$ || {
		"$here/vm.sh" stop b
		return
	}
	run_scenarios b "${longest_first[@]}"
	# One that died is left for run_again.
	[ -n "$keep" ] || ! alive b || "$here/vm.sh" stop b
}

# Beside the machines: Nova reads its files, the packages are made and tried, and when the migrations are over the machine
# of Debian 12 has its scenarios, and then the third machine of Debian 13.
run_beside() {
	local name trying=
	[ -n "$tried" ] || ! is_of_nova || ask_nova || :
	[ ${#bookworm[@]} = 0 ] || make_package bookworm || :
	if [ -z "$tried" ] && [ ${#suites[@]} != 0 ]; then
		try_packages "${suites[@]}" &
		trying=$!
	fi
	if [ ${#bookworm[@]} != 0 ]; then
		nice -n 10 "$here/image.sh" bookworm | sed 's/^/# image of Debian 12: /' || return
		until [ -d "$vm/taken/migrations" ]; do kill -0 $$ && sleep 1 || return; done
		ready c
		# What ends the run meanwhile has stopped all machines that there were.
		kill -0 $$ || {
			"$here/vm.sh" stop c
			return
		}
		for name in "${bookworm[@]}"; do
			run_on c "$name"
			ended "$name" || break
		done
		[ -n "$keep" ] || "$here/vm.sh" stop c
	fi
	help_out
	[ -z "$trying" ] || wait "$trying" || :
}

# report NAME: tells how it went. Of a mistake bash gives up the command that it is in, a loop for one, and goes on with the next:
# what it says then is a failure.
report() {
	local said
	echo "# $1: $(sed -n '3s/^# //p' "$here/$(directory_of "$1")/${1%@*}.sh")"
	if [ -f "$vm/$1.log" ]; then
		tally "$1" <"$vm/$1.log"
		# One that was stopped was not judged.
		[ -f "$vm/$1.fits" ] || judge_json "$1"
		[ ! -f "$vm/$1.fits" ] || tally "$1" <"$vm/$1.fits"
	fi
	said=$(grep -sE '^/srv/vm/[^ :]+: line [0-9]+: .*(syntax error|command not found|division by 0|bad |unbound|invalid)' "$vm/$1.log") &&
		tally "$1" <<<"not ok 0 - all of $1 is carried out"$'\n'"$said"
	ended "$1" || tally "$1" <<<"not ok 0 - $1 comes to its end"
}

# run_again NAME MACHINE...: a machine's kernel can die of its emulation (see vm.sh): twice in a run nobody is blamed for it.
run_again() {
	local name scenario=$1
	shift
	all_alive "$@" && return
	[ "$retries" -gt 0 ] || return 0
	retries=$((retries - 1))
	for name; do
		alive "$name" && continue
		[ -d "$machines/$name" ] || return 0
		echo "# the machine $name has died during $scenario; the end of its console, and then once more in a new one:"
		tail -n 30 "$machines/$name/console.log" | tr -d '\r' | sed 's/^/# /'
		"$here/vm.sh" stop "$name"
	done
	ready "$@"
	run_on "$1" "$scenario"
}

if [ "${1:-}" = --prepare ]; then
	begin_run
	"$here/packages.sh" tarball
	for name in trixie bookworm; do
		make_package "$name" 0 || :
		! "$here/packages.sh" others | grep -qx "$name" || "$here/packages.sh" trees "$name"
	done
	"$here/image.sh"
	"$here/image.sh" bookworm &
	try_beforehand
	wait
	exit
fi
if [ "${1:-}" = --keep ]; then
	keep=1
	shift
fi
if [ $# = 0 ]; then
	mapfile -t names < <(cd "$here" && printf '%s\n' scenarios/*.sh migrations/*.sh)
	names=("${names[@]##*/}")
	set -- "${names[@]%.sh}" "${on_bookworm[@]/%/@bookworm}"
fi
scenarios=() migrations=() bookworm=()
for name; do
	case $(directory_of "$name"):$name in
	scenarios:*@bookworm) bookworm+=("$name") ;;
	*@*) die "on Debian 12 there are scenarios only: SCENARIO@bookworm" ;;
	scenarios:*) scenarios+=("$name") ;;
	*) migrations+=("$name") ;;
	esac
	[ -f "$here/$(directory_of "$name")/${name%@*}.sh" ] || die "there is no scenario and no migration $name"
done
# The machines that are needed, those of the scenarios, and which of these have no migration before.
needed=() hosts=() at_once=()
if [ ${#migrations[@]} != 0 ]; then
	needed=(a b) hosts=(a)
	[ ${#scenarios[@]} -lt 2 ] || needed=(a b d) hosts=(a d) at_once=(d)
elif [ ${#scenarios[@]} != 0 ]; then
	hosts=(a)
	[ ${#scenarios[@]} -lt 2 ] || hosts=(a b)
	needed=("${hosts[@]}") at_once=("${hosts[@]}")
fi
begin_run
for name; do rm -f "$vm/$name".{log,fits}; done
if [ -z "$keep" ]; then
	trap '"$here/vm.sh" stop a b c d' EXIT
	"$here/vm.sh" stop a b c d
fi

"$here/packages.sh" tarball || bail_out "there is no tarball to build"
if [ ${#needed[@]} != 0 ]; then
	make_package trixie 0 9>&- &
	building=$!
	"$here/image.sh" 9>&- | sed 's/^/# image: /' || bail_out "the image cannot be built"
	wait "$building" || {
		sed 's/^/# /' "$vm/packages-trixie.log"
		bail_out "it cannot be built on the machines' Debian; see $vm/package-trixie.log"
	}
fi
rm -rf "$vm/taken"
mkdir "$vm/taken"
suites=()
[ ${#bookworm[@]} = 0 ] || suites+=(bookworm)
[[ ${scenarios[*]} != *package* ]] || suites+=(trixie)
tried=
if tried_before; then tried=1; else forget_tries; fi
ready "${needed[@]}"
[ ${#needed[@]} = 0 ] || echo "# ready after $SECONDS s"
retries=2
# A long one that began last would keep one machine waiting for the other. Most take longer the longer they are.
longer_than_they_look=(30-nvidia-sentences 35-nvidia-boot 43-vf-boot)
mapfile -t longest_first < <([ ${#scenarios[@]} = 0 ] || (cd "$here/scenarios" && wc -l "${scenarios[@]/%/.sh}") |
	awk -v longer=" ${longer_than_they_look[*]} " '$2 != "total" {
		sub(/\.sh$/, "", $2); print $1 + (index(longer, " " $2 " ") ? 40 : 0), $2 }' | sort -rn | cut -d ' ' -f 2)
running=()
begin_scenarios() {
	local name
	for name; do
		run_scenarios "$name" "${longest_first[@]}" &
		running+=($!)
		# The longest is for the first machine.
		sleep 0.5
	done
}
begin_scenarios "${at_once[@]}"
run_beside >"$vm/beside.log" 2>&1 9>&- &
beside=$!
for name in "${migrations[@]}"; do
	run_on a "$name"
	ended "$name" || run_again "$name" a b
	report "$name"
done
if [ ${#migrations[@]} != 0 ]; then
	# The machine of Debian 12 comes in its place.
	[ -n "$keep" ] || [ ${#bookworm[@]} = 0 ] || "$here/vm.sh" stop b
	begin_scenarios a
fi
mkdir "$vm/taken/migrations"
[ ${#running[@]} = 0 ] || wait "${running[@]}"
wait "$beside" || :
[ ${#migrations[@]} = 0 ] || [ ! -d "$machines/b" ] || hosts+=(b)
for name in "${scenarios[@]}"; do
	[ -d "$vm/taken/$name" ] || run_on a "$name"
	ended "$name" || run_again "$name" "${hosts[@]}"
	report "$name"
done
sed 's/^#* */# /' "$vm/beside.log"
report_packages
report_nova
for name in "${bookworm[@]}"; do
	[ -f "$vm/$name.log" ] || ! alive c || run_on c "$name"
	ended "$name" || run_again "$name" c
	report "$name"
done
echo "1..$number"
[ "$failures" = 0 ]
