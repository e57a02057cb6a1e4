# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OpenStack Nova's own driver of libvirt: each situation with vgpu-lease, beside the outcome of Nova alone
# shellcheck source=tests/vm/nova/nova.sh
. "${here:?}/nova/nova.sh"

# begin_with_a TYPE: Nova has spawned the instance `a`. reloaded_while_off TYPE: which is off while the driver is reloaded.
begin_with_a() {
	begin_nova "$1"
	nova spawn a
}
reloaded_while_off() {
	begin_with_a "$1"
	nova poweroff a
	reload_driver
}
left_after_grace() {
	after_grace "$@"
	left
}

# What becomes of it is one line.
deleted() {
	begin_with_a pgpu-1
	nova destroy a
	left_after_grace
	echo "spawn $(tried spawn b), total $(total)"
}
# Nova does not always set autostart: the device is created before it is defined.
deleted_manual() {
	begin_with_a pgpu-1
	sed -i 's/"auto"/"manual"/' /etc/mdevctl.d/*/*
	nova destroy a
	left_after_grace
}
# By the handler, while Nova may ask libvirt at any moment: what is listed as defined and absent a spawn would be given.
removed_late() {
	local end=$((SECONDS + 60)) absent=never
	begin_with_a pgpu-1
	nova destroy a
	find /etc/mdevctl.d -type f -exec touch -d '2 minutes ago' {} +
	if [ "$mode" = with ]; then
		printf '[policy]\nreclaim_grace = 1\n' >>"$CONF"
		systemctl reload vgpu-leased
		while [ "$(mdevs)" != 0 ] || [ -n "$(virsh -q nodedev-list --all --cap mdev)" ]; do
			[ -z "$(virsh -q nodedev-list --cap mdev --inactive)" ] || absent=once
			[ "$SECONDS" -lt "$end" ] || break
		done
		sed -i '/^\[policy\]$/,$d' "$CONF"
		systemctl reload vgpu-leased
	fi
	left
	echo "$absent listed as absent"
}
# An orphan is removed by sysfs alone: its definition stays, and Nova gives it to the next instance.
removed_alone() {
	local first second id
	begin_nova pgpu-1
	nova orphans 1
	id=$(devices)
	echo 1 >"/sys/bus/mdev/devices/$id/remove"
	within 60 libvirt_follows >&2
	first=$(tried spawn a)
	second=$(tried spawn b)
	echo "spawn $first, then $second, total $(total)"
}
type_changed() {
	begin_nova pgpu-2
	nova orphans 2
	configure_nova pgpu-1
	nova start
	left_after_grace --unused
}
# An instance keeps its device of the old type.
type_kept() {
	begin_with_a pgpu-2
	nova poweroff a
	configure_nova pgpu-1
	nova start
	echo "power on $(tried poweron a) $(vgpu_of a), total $(total);"
	nova destroy a
	left_after_grace
}
# With Nova alone an operator restarts nova-compute, after two attempts.
driver_reloaded() {
	local first second
	reloaded_while_off pgpu-1
	first=$(tried poweron a)
	second=$(tried poweron a)
	[ "$mode" = alone ] && nova start && nova reboot a
	nova suspend a
	nova resume a
	echo "power on $first, then $second; resumed $(vgpu_of a)"
	nova poweroff a
	nova start
	echo "nova-compute starts: ${OUT%% *}, total $(total)"
}
suspended_reload() {
	begin_with_a pgpu-1
	nova suspend a
	reload_driver
	echo "resume $(tried resume a) $(vgpu_of a)"
}
# nova-compute keeps what it read at its start.
config_broken() {
	begin_with_a pgpu-1
	nova poweroff a
	sed -i 's/^enabled_.*/& # a comment/' "$NOVA_CONF"
	echo "power on $(tried poweron a) $(vgpu_of a), reboot $(tried reboot a) $(vgpu_of a)"
}
undefined_too() {
	local once twice
	reloaded_while_off pgpu-1
	undefine_mdevs
	once=$(tried poweron a)
	twice=$(tried poweron a)
	echo "power on $once, then $twice"
}
# The same, and nova-compute was restarted before.
undefined_boot() {
	reloaded_while_off pgpu-1
	undefine_mdevs
	nova start
	echo "boot resume $(tried hostboot a) $(vgpu_of a)"
}
undefined_two() {
	local name power=()
	begin_with_a pgpu-1
	nova spawn b
	nova poweroff a
	nova poweroff b
	reload_driver
	undefine_mdevs
	for name in a b a b; do power+=("$name $(tried poweron "$name")"); done
	echo "${power[*]}, a $(vgpu_of a), b $(vgpu_of b)"
}
host_rebooted() {
	local a b
	begin_with_a pgpu-1
	nova spawn b
	nova poweroff b
	nova orphans 2
	reboot_host
	nova start
	a=$(tried hostboot a)
	b=$(tried poweron b)
	after_grace --unused
	echo "boot resume $a $(vgpu_of a), power on $b $(vgpu_of b); $(left)"
}
# make_mdevs N TYPE: as somebody else does, without a definition.
make_mdevs() {
	local n
	for ((n = 0; n < $1; n++)); do
		cat /proc/sys/kernel/random/uuid >"/sys/class/mdev_bus/$GPU1/mdev_supported_types/$2/create"
	done
}
below_capacity() {
	local none
	begin_nova pgpu-1 '' 'max_instances = 10'
	none=$(total)
	make_mdevs 4 pgpu-1
	within 60 libvirt_follows >&2
	echo "$none, with mdevs $(total)"
}
above_capacity() {
	begin_nova pgpu-1 '' 'max_instances = 30'
	total
}
# What became of two that were spawned at once.
who_runs() {
	case $(grep -oE '\b[ab] ok\b' <<<"$OUT" | wc -l):$OUT in
	2:*) echo "both run" ;;
	1:*vgpu-lease*) echo "one runs, the other is refused" ;;
	1:*'in use by driver QEMU'*) echo "one runs, the other fails in libvirt" ;;
	*) echo "$OUT" ;;
	esac
}
at_once() {
	begin_nova pgpu-1
	nova spawn a b
	who_runs
}
spawn_failed() {
	begin_nova pgpu-1
	nova spawn a memory=900000
	left_after_grace
}
# Nova itself fails, after it has made the mdev.
xml_failed() {
	begin_nova pgpu-1
	nova spawn a broken=1
	left_after_grace --unused
}
# A hook refuses: another one, or by a quota.
hook_refuses() {
	begin_nova pgpu-1
	cp "$HOOK" "$WORK/hook"
	if [ "$mode" = alone ]; then
		printf '#!/bin/sh\nexit 1\n' >"$HOOK"
	else
		printf '[quota]\nproject:project = 0\n' >>"$CONF"
	fi
	echo "spawn $(tried spawn a)"
	if [ "$mode" = alone ]; then cat "$WORK/hook" >"$HOOK"; else sed -i '/^\[quota\]/,$d' "$CONF"; fi
	left_after_grace --unused
}
# 5a, but the devices are there already.
at_once_free() {
	begin_nova pgpu-1
	nova orphans 3
	nova spawn a b
	who_runs
}
# Why: Nova forgets what it has given until the domain is defined.
given() {
	begin_nova pgpu-1
	nova allocate a 3
	echo "$(xargs -n 1 <<<"${OUT#ok }" | sort -u | wc -l) of 3"
	left_after_grace --unused
}
overtaken() {
	begin_with_a pgpu-1
	nova race a b
	grep -oE '\b[ab] (ok|error)\b' <<<"$OUT"
	case $OUT in
	*vgpu-lease*) echo "by a message of its own" ;;
	*'in use by driver QEMU'*) echo "in libvirt" ;;
	*) echo "$OUT" ;;
	esac
	echo "b $(vgpu_of b), then a again: $(tried poweron a)"
}
counted_inactive() {
	reloaded_while_off pgpu-1
	within 60 libvirt_follows >&2
	total
	checked
}
# What `vgpu-lease check` says that Nova counts, and whether `vgpu-lease export` has the driver's own providers.
checked() {
	[ "$mode" = alone ] && return
	echo "check: $(vgpu-lease check 2>&1 | sed -n 's/.*Nova counts \([0-9]*\).*/\1/p' | xargs)"
	nova providers
	same "$(vgpu-lease export placement --no-headings -o PROVIDER,TOTAL | awk '$2 { print $1 "=" $2 }' | xargs)" \
		"$(xargs <<<"${OUT#ok}")" >&2 && echo "as exported"
}
counted_other_type() {
	begin_nova pgpu-2
	nova orphans 1
	configure_nova pgpu-1
	nova start
	total
	checked
}
counted_limited() {
	begin_nova pgpu-1 '' 'max_instances = 23'
	total
	checked
}
# An instance is deleted while its device is not there: its definition stays.
definition_left() {
	reloaded_while_off pgpu-1
	nova destroy a
	left_after_grace
	echo "nova-compute $(tried start)"
}
# Instances of others take what Nova still has to give; one is left for `a`.
others_fill() { make_mdevs "$(($(total) - 1))" pgpu-2; }
# After the driver was reloaded the instance is on and off.
filled() {
	reloaded_while_off pgpu-2
	nova poweron a
	[ "$mode" = alone ] && nova start && nova reboot a
	nova poweroff a
	others_fill
	echo "$(mdevs) mdevs, power on $(tried poweron a) $(vgpu_of a), nova-compute $(tried start), total $(total)"
}
# Meanwhile it is off: of its device there is the definition alone, which Nova counts beside all that the card can hold.
overfilled() {
	reloaded_while_off pgpu-2
	within 60 libvirt_follows >&2
	others_fill
	echo "$(mdevs) mdevs, power on $(tried poweron a), nova-compute $(tried start)"
}
not_enabled() {
	begin_nova pgpu-1
	tried precheck a pgpu-2
	left
}
claims() {
	begin_nova pgpu-1
	nova precheck a pgpu-1,pgpu-1
	nova precheck b pgpu-1
	# A claim is in Nova's memory only.
	[ "$mode" = alone ] || vgpu-lease gc >/dev/null
	mdevs
	nova rollback b
	left_after_grace --unused
}
# Idle for longer than the grace before that: a claim leaves no sign on the host.
claimed_late() {
	begin_nova pgpu-1
	nova orphans 1
	if [ "$mode" = with ]; then
		vgpu-lease gc >/dev/null
		sleep 3
	fi
	nova precheck a pgpu-1
	[ "$mode" = alone ] || vgpu-lease gc --grace 2 --unused >&2
	within 60 libvirt_follows >&2
	echo "$(mdevs) claimed, spawn $(tried spawn b) $(vgpu_of b)"
	nova rollback a
	left_after_grace --unused
}
forgotten() {
	begin_nova pgpu-1
	nova precheck a pgpu-1
	nova spawn b
	nova start
	left_after_grace --unused
}
lingers() {
	begin_nova pgpu-1
	nova precheck a pgpu-1
	nova lingering a
	left_after_grace --unused
}

# row SITUATION SENTENCE ALONE WITH: what becomes of it: with Nova alone as it was seen, with vgpu-lease as it should be.
row() { rows+=("$1|$2|$3|$4"); }
row deleted "an instance is deleted" "1 mdevs, 1 definitions, total 24 spawn works, total 24" \
	"0 mdevs, 0 definitions, total 24 spawn works, total 24"
row deleted_manual "the same, and its mdev is not started at boot" "1 mdevs, 1 definitions, total 24" \
	"0 mdevs, 0 definitions, total 24"
row removed_late "the handler removes an orphan" "1 mdevs, 1 definitions, total 24 never listed as absent" \
	"0 mdevs, 0 definitions, total 24 never listed as absent"
row removed_alone "an orphan is removed, its definition stays" "spawn fails, then fails, total 25" \
	"spawn works, then works, total 24"
row type_changed "the type is changed, with two orphans of the old one" "2 mdevs, 2 definitions, total 20" \
	"0 mdevs, 0 definitions, total 24"
row type_kept "the type is changed while an instance is off" \
	"power on works with its vGPU, total 22; 1 mdevs, 1 definitions, total 22" \
	"power on works with its vGPU, total 22; 0 mdevs, 0 definitions, total 24"
row driver_reloaded "the driver is reloaded while an instance is off" \
	"power on fails, then fails; resumed with its vGPU nova-compute starts: ok, total 24" \
	"power on works, then works; resumed with its vGPU nova-compute starts: ok, total 24"
row suspended_reload "the driver is reloaded while an instance is suspended" "resume works without a vGPU" \
	"resume works with its vGPU"
row config_broken "a mistake is made in nova.conf" "power on works with its vGPU, reboot works with its vGPU" \
	"power on works with its vGPU, reboot works with its vGPU"
row undefined_too "the driver is reloaded while an instance is off, and the definition is gone" "power on fails, then works" "power on works, then works"
row undefined_boot "the same, and nova-compute is restarted" "boot resume fails without a vGPU" \
	"boot resume works with its vGPU"
row undefined_two "the same with two instances" \
	"a fails b fails a works b works, a with its vGPU, b with its vGPU" \
	"a works b works a works b works, a with its vGPU, b with its vGPU"
row host_rebooted "the host reboots" \
	"boot resume works with its vGPU, power on works with its vGPU; 4 mdevs, 4 definitions, total 24" \
	"boot resume works with its vGPU, power on works with its vGPU; 2 mdevs, 2 definitions, total 24"
row below_capacity "max_instances is below the capacity" "none, with mdevs none" "none, with mdevs none"
row above_capacity "max_instances is above the capacity" 24 24
row at_once "two are spawned at once" \
	"one runs, the other fails in libvirt" "one runs, the other is refused"
row at_once_free "the same, with three free mdevs" \
	"one runs, the other fails in libvirt" "one runs, the other is refused"
row given "what three spawns at once are given" "1 of 3 1 mdevs, 1 definitions, total 24" \
	"1 of 3 0 mdevs, 0 definitions, total 24"
row overtaken "a spawn while another one is rebooted" \
	"a error b ok in libvirt b with its vGPU, then a again: works" \
	"a error b ok by a message of its own b with its vGPU, then a again: works"
row counted_inactive "the driver is reloaded: what Nova counts" 25 "25 check: 25 as exported"
row counted_other_type "an orphan of another type: what Nova counts" 22 "22 check: 22 as exported"
row counted_limited "max_instances is one too low: what Nova counts" none "none check: 0 as exported"
row definition_left "deleted while its device is not there" \
	"0 mdevs, 1 definitions, total 25 nova-compute works" "0 mdevs, 0 definitions, total 24 nova-compute works"
row filled "the driver is reloaded, on and off, others fill the card" \
	"12 mdevs, power on works with its vGPU, nova-compute works, total 12" \
	"12 mdevs, power on works with its vGPU, nova-compute works, total 12"
row overfilled "the same, but it stays off meanwhile" \
	"12 mdevs, power on fails, nova-compute fails" "12 mdevs, power on fails, nova-compute fails"
row spawn_failed "a spawn fails in QEMU" "1 mdevs, 1 definitions, total 24" "0 mdevs, 0 definitions, total 24"
row xml_failed "a spawn fails in Nova" "1 mdevs, 1 definitions, total 24" "0 mdevs, 0 definitions, total 24"
row hook_refuses "a hook refuses a spawn" "spawn fails 1 mdevs, 1 definitions, total 24" \
	"spawn fails 0 mdevs, 0 definitions, total 24"
row claims "a live migration is checked, and rolled back" "1 1 mdevs, 1 definitions, total 24" \
	"1 0 mdevs, 0 definitions, total 24"
row claimed_late "an orphan is claimed after its grace" \
	"1 claimed, spawn works with its vGPU 2 mdevs, 2 definitions, total 24" \
	"0 claimed, spawn works with its vGPU 1 mdevs, 1 definitions, total 24"
row not_enabled "a live migration of a type that is not enabled" "fails 0 mdevs, 0 definitions, total 24" \
	"fails 0 mdevs, 0 definitions, total 24"
row forgotten "one is checked, and nova-compute restarts" "2 mdevs, 2 definitions, total 24" \
	"1 mdevs, 1 definitions, total 24"
row lingers "one is checked, and its rest is cleaned up" "1 mdevs, 1 definitions, total 24" \
	"0 mdevs, 0 definitions, total 24"

# Nova's own outcomes depend on Nova and libvirt only: recorded with these versions, and run again with others. A security
# update of Debian's is the same version: to run both takes twice as long.
recorded_with='nova 31.0.0, libvirt 11.3.0'
versions() {
	printf 'nova %s, libvirt %s' \
		"$(zcat /srv/nova/usr/share/doc/python3-nova/changelog.Debian.gz | sed -nE '1s/.*\(([0-9]+:)?(.*)-.*\).*/\2/p')" \
		"$(dpkg-query -W -f '${source:Upstream-Version}' libvirt-daemon-driver-qemu)"
}

prepare_nova
declare -A became
modes=${MODES:-alone with}
[ -n "${MODES:-}" ] || [ "$(versions)" != "$recorded_with" ] || modes=with
if [ "$modes" = with ]; then
	for line in "${rows[@]}"; do
		IFS='|' read -r name _ alone _ <<<"$line"
		became[$name:alone]=$alone
	done
else
	echo "# Nova alone was recorded with $recorded_with; this machine has $(versions)"
fi
for mode in $modes; do
	if [ "$mode" = with ]; then
		nova kill
		configure_nova pgpu-1
		with_hook
	fi
	for line in "${rows[@]}"; do
		IFS='|' read -r name sentence alone with <<<"$line"
		[[ " ${SITUATIONS:-$name} " == *" $name "* ]] || continue
		became[$name:$mode]=$("$name" 2>"$WORK/said" | xargs)
		cat "$WORK/said"
		if [ "$mode" = with ]; then
			check "$sentence" same "${became[$name:with]}" "$with"
		elif [ "${became[$name:alone]}" != "$alone" ]; then
			# What Nova does by itself is no claim of ours: it is told.
			echo "# $sentence: Nova alone did otherwise this time; it was seen to: $alone"
		fi
	done
done
# badness OUTCOME: what failed, what is left behind, what Nova counts too much or too little; a total of its own counts.
badness() {
	local word last='' sum=0
	for word in $1; do
		word=${word%[,;]}
		case $word in
		fails | error | without | both) sum=$((sum + 100)) ;;
		mdevs | definitions) [[ $last != [0-9]* ]] || sum=$((sum + last)) ;;
		*[!0-9]* | '') ;;
		*) [ "$last" != total ] || sum=$((sum + (word > 24 ? word - 24 : 24 - word))) ;;
		esac
		last=$word
	done
	echo "$sum"
}
# Each situation with both outcomes.
none_is_worse() {
	local line name sentence worse=0
	for line in "${rows[@]}"; do
		IFS='|' read -r name sentence _ <<<"$line"
		[ -n "${became[$name:alone]:-}" ] || continue
		[ -n "${became[$name:with]:-}" ] || continue
		[ "$(badness "${became[$name:with]}")" -gt "$(badness "${became[$name:alone]}")" ] || continue
		echo "$sentence: alone ${became[$name:alone]}, with vgpu-lease ${became[$name:with]}"
		worse=1
	done
	[ "$worse" = 0 ]
}
[ "$modes" = alone ] || check "no situation is worse with vgpu-lease" none_is_worse
printf '# %-56s | %-24s\n' situation "Nova alone / with vgpu-lease"
for line in "${rows[@]}"; do
	IFS='|' read -r name sentence _ <<<"$line"
	printf '# %-56s | %s\n# %-56s | %s\n' "$sentence" "${became[$name:alone]:-}" "" \
		"${became[$name:with]:-}"
done
end_nova
