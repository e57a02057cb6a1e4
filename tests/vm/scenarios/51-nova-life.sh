# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OpenStack Nova's own driver of libvirt: random lives of a compute node with two cards, with and without the device handler
# shellcheck source=tests/vm/nova/nova.sh
. "${here:?}/nova/nova.sh"

declare -A life=()   # what each instance is: on, off or asleep; none: it is not
declare -A plugged=()   # those whose vGPU Nova has attached to a running guest while there was no handler
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
	unset "plugged[$name]"
	[ "$HANDLER" = yes ] || [ "$1" != resume ] || plugged[$name]=1
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
handler_killed() { systemctl kill -s KILL --kill-whom=main vgpu-leased; }
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
# No device is two domains', and the leases are those of the domains that run. libvirt calls no hook for a vGPU that Nova
# attaches to a guest that it has resumed: that one alone may wait for a handler.
is_sound() {
	local used leased name
	used=$(cd /run/libvirt/qemu && grep -Ho "<address uuid='[^']*'" instance-*.xml 2>/dev/null |
		sed "s/\.xml:.*='/ /; s/'\$/ active/" | sort)
	leased=$(leases | jq -r '.leases[] | "\(.domain.name) \(.id) \(.state)"' | sort)
	same "$(cut -d ' ' -f 2 <<<"$used" | sort | uniq -d)" '' || return
	for name in "${!plugged[@]}"; do
		name=$(name_of "$name")
		grep -q "^$name " <<<"$leased" || used=$(grep -v "^$name " <<<"$used")
	done
	same "$leased" "$used"
}
# Nova counts what is defined and not there as one more.
counts_all() {
	local missing
	within 60 libvirt_follows
	missing=$(comm -13 <(devices | xargs -rn 1 | sort) <(find /etc/mdevctl.d -type f -printf '%f\n' | sort) | wc -l)
	same "$(total)" "$((36 + missing))"
}
# How many have run at once, on both cards: AT_ONCE.
look_at_once() {
	local now
	now=$(leases | jq '[.leases[] | select(.state == "active").pgpu] | if unique == [$ARGS.positional[]] then length
		else 0 end' --args "$GPU1" "$GPU2")
	[ "${now:-0}" -le "$AT_ONCE" ] || AT_ONCE=$now
}

# Each of `what` is drawn once before any is drawn again: so a short life has each kind.
random_life() {
	local n=0 i operation done=() rest=() what=(new_instance destroyed powered powered slept slept rebooted
		nova_killed orphan_left grace_over driver_reloaded_meanwhile host_reboots)
	[ "$HANDLER" = no ] || what+=(handler_killed)
	RANDOM=${NOVA_SEED:=205} AT_ONCE=0
	echo "# a random life: NOVA_SEED=$NOVA_SEED, a handler: $HANDLER"
	start_handler
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
	check "$OPERATIONS operations at random each left all as it should be; a handler: $HANDLER" true
	[ "$OPERATIONS" -lt 20 ] ||
		check "each kind of them was among these" same "$(printf '%s\n' "${done[@]%% *}" | sort -u | xargs)" \
		"$(printf '%s\n' "${what[@]}" | sort -u | xargs)"
	check "up to $AT_ONCE ran at once, on both cards" test "$AT_ONCE" -ge 2
	[ "$HANDLER" = yes ] || handler_comes_back
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
resumed() {
	pick asleep || { pick on && does "$PICKED" asleep suspend "$PICKED"; } || return
	does "$PICKED" on resume "$PICKED"
}
# Its last absence: an instance is deleted, a spawn fails, and Nova attaches a vGPU to a guest that runs.
handler_comes_back() {
	local operation WRONG=''
	for operation in destroyed new_instance orphan_left resumed; do
		"$operation"
		check "without a handler, $operation: no harm is done" same "$WRONG" ''
	done
	check "all is leased but what Nova has attached to ${!plugged[*]}" within 30 is_sound
	HANDLER=yes plugged=()
	start_handler
	check "the handler comes back: each vGPU of a guest that runs is leased, and nothing else" within 90 is_sound
}

prepare_nova
configure_nova pgpu-1
HANDLER=no with_hook
for HANDLER in ${HANDLER:-yes no}; do
	random_life
	systemctl stop vgpu-leased
done
end_nova
