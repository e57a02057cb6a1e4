# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Nova migrates an instance, with its own driver at both ends: with Nova alone and with vgpu-lease, side by side
# shellcheck source=tests/vm/nova/nova.sh
. "${here:?}/nova/nova.sh"
there . "$here/nova/nova.sh"

# step SIDE COMMAND [WORD...]: of Nova there; its answer in DATA.
step() {
	local side=$1
	shift
	$side nova "$@"
	local status=$?
	DATA=$($side eval "printf %s \"\${OUT#ok }\"")
	return "$status"
}
# goes FROM TO HOST: what ComputeManager has the two drivers do, and what becomes of it. CLAIMED is what the target's
# claims; `between` is carried out after that.
between=:
goes() {
	local from=$1 to=$2 sent
	if ! { step "$to" destination a && step "$from" source a "$DATA" && step "$to" claim a "$DATA"; }; then
		END="is refused: $DATA"
		return
	fi
	sent=$DATA
	step "$to" claims a
	CLAIMED=$DATA
	$between "$to"
	step "$to" arriving a "$sent" || END="does not begin: $DATA"
	sent=$DATA
	step "$from" migrate a "$sent" "$3"
	END=$DATA
	case $END in
	arrives) step "$to" arrived a ;;
	*) step "$to" rollback a "$sent" || END+=", and not on the target: $DATA" ;;
	esac
}
# What became of it on both sides, when reclaim_grace would be over. goes_to_end FROM TO
goes_to_end() {
	local side there
	for side in "$1" "$2"; do
		[ "$mode" = alone ] || $side vgpu-lease gc --grace 0 --unused >"$WORK/gc" 2>&1
	done
	if [ "$END" = arrives ]; then there=$2; else there=$1; fi
	became[$row:$mode]="$END, runs $($there vgpu_of a)$([ "$END" != arrives ] || $2 is_claimed "$CLAIMED");"
	became[$row:$mode]+=" source: $($1 left_here), target: $($2 left_here)"
}
# On the target: the claimed device and its definition are gone, as at the end of the grace; with Nova alone by hand.
reclaimed() {
	if [ "$mode" = with ]; then
		$1 vgpu-lease gc --grace 0 --unused >"$WORK/gc" 2>&1
		# shellcheck disable=SC2086 # this host is no word
		check "the claimed vGPU is reclaimed on the target" $1 eval "! exists $CLAIMED"
	else
		$1 eval "echo 1 >/sys/bus/mdev/devices/$CLAIMED/remove; rm -f /etc/mdevctl.d/*/$CLAIMED"
	fi
	$1 within 60 libvirt_follows
}
# lies SIDE ATTRIBUTES: the source's handler has written this of the device, and something else is left of an earlier one:
# only the address in the guest says which of them is that of the UUID on the target.
# shellcheck disable=SC2016 # that side's shell expands it
lies() {
	local device='$(device_in "$(name_of a)")' guest='$(guest_of_a)'
	$1 eval "virsh -q metadata \"\$(name_of a)\" $FACTS --key vgpu --live --set \"<lease>\
		<device uuid='$U3' type='pgpu-1' guest='0000:00:1f.0'/><device uuid='$device' guest='$guest' $2/></lease>\""
}
# Why Nova's last migration from this host failed.
nova_says() { grep 'Live Migration failure' /var/lib/nova/nova.log | tail -n 1; }

there eval 'MIGRATABLE=1 prepare_nova'
MIGRATABLE=1 prepare_nova
declare -A became
for mode in alone with; do
	if [ "$mode" = with ]; then
		there with_hook
		with_hook
	fi
	there begin_nova pgpu-1
	begin_nova pgpu-1
	nova spawn a
	check "$mode: an instance is spawned on host1" has_vgpu a
	if [ "$mode" = with ]; then
		check "the handler has written into its metadata what device it has" within 30 is_marked
		check "and where the guest has it" has_guest
		nova reboot a
		check "Nova writes the metadata anew, and the handler does after it" within 30 is_marked
	fi

	row=arrives
	goes '' there host2
	check "$mode: it arrives on host2" same "$END" arrives
	goes_to_end '' there
	[ "$mode" = alone ] || check "its metadata names the device that it has now" there within 30 is_marked

	row=fails
	other_hook prepare 'echo "not today" >&2; exit 1'
	goes there '' host1
	no_other_hook
	check "$mode: what fails on host1 is rolled back" same "$END" "is rolled back"
	goes_to_end there ''

	row=reclaimed
	between=reclaimed
	goes there '' host1
	goes_to_end there ''
	between=:

	# The last row has left it on host2 where Nova is alone.
	row=other_type from=there to='' host=host1
	[ "$mode" = alone ] || from='' to=there host=host2
	[ "$mode" = alone ] || systemctl stop vgpu-leased
	lies "$from" "type='nvidia-7' name='GRID T4-1B' model='10de:1eb8'"
	goes "$from" "$to" "$host"
	if [ "$mode" = with ]; then
		check "a device of another type than the claimed one is refused" same "$END" "is rolled back"
		OUT=$(nova_says)
		check "and Nova's log says why" tells M_UNKNOWN_TYPE nvidia-7 -- M_ON_THE_SOURCE "GRID T4-1B" 10de:1eb8
		systemctl start vgpu-leased
	fi
	goes_to_end "$from" "$to"
	for side in '' there; do $side nova destroy a; done
done
# expect ROW SENTENCE ALONE WITH: with Nova alone as it was seen, which is no claim of ours; with vgpu-lease as it should be.
expect() {
	check "$2" same "${became[$1:with]}" "$4"
	[ "${became[$1:alone]}" = "$3" ] || echo "# Nova alone did otherwise this time; it was seen to: $3"
	printf '# %-40s | %s\n# %-40s | %s\n' "$2" "${became[$1:alone]}" "" "${became[$1:with]}"
}
none="0 mdevs, 0 definitions, 0 leases" orphan="1 mdevs, 1 definitions, 0 leases"
leased="1 mdevs, 1 definitions, 1 leases" arrives="arrives, runs with its vGPU, the one claimed"
back="is rolled back, runs with its vGPU"
expect arrives "the instance arrives" \
	"$arrives; source: $orphan, target: $orphan" "$arrives; source: $none, target: $leased"
expect fails "it fails on the target" \
	"$back; source: $orphan, target: $orphan" "$back; source: $leased, target: $none"
expect reclaimed "the claimed vGPU is removed before it arrives" \
	"$back; source: $orphan, target: $none" "$arrives; source: $none, target: 1 mdevs, 0 definitions, 1 leases"
expect other_type "the source's type is another one" \
	"$arrives; source: $orphan, target: $orphan" \
	"$back; source: 1 mdevs, 0 definitions, 1 leases, target: $none"
there end_nova
end_nova
