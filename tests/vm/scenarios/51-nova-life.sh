# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OpenStack Nova's own driver of libvirt: a random life of a compute node that has two cards of different types
# shellcheck source=tests/vm/nova/nova.sh
. "${here:?}/nova/nova.sh"

declare -A life=()   # what each instance is: on, off or asleep; none: it is not
OPERATIONS=${OPERATIONS:-20}

# Of those instances, one at random; fails if there is none. pick STATE...
pick() {
	local name found=()
	for name in {a..f}; do
		[[ " $* " != *" ${life[$name]:-none} "* ]] || found+=("$name")
	done
	[ "${#found[@]}" -gt 0 ] && PICKED=${found[RANDOM % ${#found[@]}]}
}
# does NAME STATE COMMAND...: of Nova, after which the instance is that.
does() {
	local name=$1 state=$2
	shift 2
	nova "$@" || { WRONG="$*: $OUT"; return 1; }
	life[$name]=$state
	[ "$state" != on ] || has_vgpu "$name" || { WRONG="$*: $name has no vGPU"; return 1; }
}
new_instance() {
	local cards=("$GPU1" "$GPU2")
	pick none && does "$PICKED" on spawn "$PICKED" "card=${cards[RANDOM % 2]}"
}
destroyed() { pick on off asleep && does "$PICKED" none destroy "$PICKED"; }
powered() {
	pick on off || return
	case ${life[$PICKED]} in
	on) does "$PICKED" off poweroff "$PICKED" ;;
	*) does "$PICKED" on poweron "$PICKED" ;;
	esac
}
slept() {
	pick on asleep || return
	case ${life[$PICKED]} in
	on) does "$PICKED" asleep suspend "$PICKED" ;;
	*) does "$PICKED" on resume "$PICKED" ;;
	esac
}
rebooted() { pick on && does "$PICKED" on reboot "$PICKED"; }
nova_killed() { nova kill && { nova start || WRONG="nova-compute does not start: $OUT"; }; }
handler_killed() { [ "${HANDLER:-yes}" = yes ] && systemctl kill -s KILL --kill-whom=main vgpu-leased; }
orphan_left() {
	pick none || return
	nova spawn "$PICKED" memory=900000 && WRONG="a spawn without memory succeeds"
	[[ $OUT == *memory* ]] || WRONG="a spawn fails for another reason than memory: $OUT"
	nova destroy "$PICKED"
}
grace_over() { vgpu-lease gc --grace 0 >"$WORK/gc" 2>&1 || WRONG="gc: $(xargs <"$WORK/gc")"; }
# With its devices closed: those that run are off meanwhile. What sleeps gets its vGPU again when nova-compute starts.
driver_reloaded_meanwhile() {
	local name were=()
	while pick on; do
		were+=("$PICKED")
		does "$PICKED" off poweroff "$PICKED" || return
	done
	within 15 closed
	reload_driver
	! pick asleep || nova_killed
	for name in "${were[@]}"; do does "$name" on poweron "$name" || return; done
}
host_reboots() {
	local name
	reboot_host
	nova start || { WRONG="nova-compute does not start: $OUT"; return; }
	for name in {a..f}; do
		[ "${life[$name]:-}" != on ] || does "$name" on hostboot "$name" || return
	done
}
# No device is two domains', and the leases are those of the domains that run.
is_sound() {
	local used
	used=$(sed -nE "s/.*<address uuid='([^']*)'.*/\1/p" /run/libvirt/qemu/instance-*.xml 2>/dev/null | sort)
	same "$(uniq -d <<<"$used")" '' &&
		same "$(leases | jq -r '.leases[] | select(.state == "active") | .id' | sort)" "$used" &&
		same "$(leases | jq '.leases | length')" "$(grep -c . <<<"$used")"
}
# Nova counts what is defined and not there as one more.
counts_all() {
	local missing
	within 60 libvirt_follows
	missing=$(comm -13 <(devices | xargs -rn 1 | sort) <(find /etc/mdevctl.d -type f -printf '%f\n' | sort) | wc -l)
	same "$(total)" "$((36 + missing))"
}
# How many have run at once, on both cards.
AT_ONCE=0
look_at_once() {
	local now
	now=$(leases | jq '[.leases[] | select(.state == "active").pgpu] | if unique == [$ARGS.positional[]] then length
		else 0 end' --args "$GPU1" "$GPU2")
	[ "${now:-0}" -le "$AT_ONCE" ] || AT_ONCE=$now
}

# Each of `what` is drawn once before any is drawn again: so a short life has each kind.
random_life() {
	local n=0 i operation done=() rest=() what=(new_instance destroyed powered powered slept slept rebooted
		nova_killed handler_killed orphan_left grace_over driver_reloaded_meanwhile host_reboots)
	RANDOM=${NOVA_SEED:=204}
	echo "# a random life: NOVA_SEED=$NOVA_SEED"
	begin_nova pgpu-1 pgpu-2
	does a on spawn a "card=$GPU1"
	does b on spawn b "card=$GPU2"
	look_at_once
	while [ "$n" -lt "$OPERATIONS" ]; do
		[ "${#rest[@]}" -gt 0 ] || rest=("${what[@]}")
		i=$((RANDOM % ${#rest[@]}))
		operation=${rest[i]} WRONG='' PICKED=
		rest=("${rest[@]:0:i}" "${rest[@]:i+1}")
		# Not every one can be done at any time.
		"$operation" || [ -n "$WRONG" ] || continue
		n=$((n + 1))
		done+=("$operation${PICKED:+ $PICKED}")
		[ -z "$WRONG" ] && SAID=$(within 30 is_sound 2>&1 && counts_all 2>&1) && look_at_once && continue
		check "operation $n of a random life, $operation" false
		echo "# ${WRONG:-$SAID}"
		printf '# %s\n' "${done[@]}"
		return
	done
	check "$OPERATIONS operations at random each left all as it should be" true
	[ "$OPERATIONS" -lt 20 ] || [ "${HANDLER:-yes}" = no ] || check "each kind of them was among these" same "$(printf '%s\n' "${done[@]%% *}" | sort -u | xargs)" \
		"$(printf '%s\n' "${what[@]}" | sort -u | xargs)"
	check "up to $AT_ONCE ran at once, on both cards" test "$AT_ONCE" -ge 2
	HANDLER=yes start_handler
	# It makes what is defined and not there.
	nova start
	after_grace --unused
	check "when the grace is over, each device is an instance's" \
		same "$(mdevs)" "$(printf '%s\n' "${life[@]}" | grep -cxE 'on|off|asleep')"
	while pick on off asleep; do does "$PICKED" none destroy "$PICKED"; done
	after_grace --unused
	check "and none is left when the last instance is deleted" same "$(left)" "0 mdevs, 0 definitions, total 36"
	succeeds "check is content" vgpu-lease check
}

prepare_nova
configure_nova pgpu-1
with_hook
random_life
end_nova
