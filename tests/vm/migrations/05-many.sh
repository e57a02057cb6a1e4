# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# many domains migrate at once into three quarters of the places that they need
MANY=${MANY:-8} # a multiple of 4; 20 take seven minutes
fit=$((MANY * 3 / 4))
mapfile -t names < <(seq -f 'm%02g' "$MANY")
device_of() { echo "bbbbbbbb-0000-4000-8000-0000000000${1#m}"; }
places "$((MANY + 4))"
there places "$fit"
# all COMMAND: for each domain, four at a time.
all() {
	local i pids=()
	for ((i = 0; i < MANY; i += 4)); do
		timeout 300 virsh -q "$(printf "$1 %s; " "${names[@]:i:4}")" &
		pids+=($!)
	done
	wait "${pids[@]}"
}
begin=$SECONDS
for name in "${names[@]}"; do
	GUEST=halt MIGRATABLE=1 domain "$name" "$name" "$(device_of "$name")"
done
files=("${names[@]/#/$WORK/}")
of_each define "${files[@]/%/.xml}" >/dev/null
all start
check "$MANY domains have $MANY devices and $MANY leases on host1" in_order
check "and there are no more of them" same "$(leases | jq '.leases | length')" "$MANY"
echo "# after $((SECONDS - begin)) s"

migrating=() arrived=0 refused=0 begin=$SECONDS
for name in "${names[@]}"; do
	timeout 900 virsh migrate --live "$name" qemu+tcp://host2/system >"$WORK/$name.log" 2>&1 &
	migrating+=($!)
done
for i in "${!names[@]}"; do
	if wait "${migrating[i]}"; then
		arrived=$((arrived + 1))
	elif grep -q "vgpu-lease: domain ${names[i]}: target host .*: vGPU .* max_instances = $fit is reached" "$WORK/${names[i]}.log"; then
		refused=$((refused + 1))
	fi
done
echo "# $MANY at once: $((SECONDS - begin)) s"
# shellcheck disable=SC2034 # for who reads of a failure
OUT=$(cat "$WORK"/m??.log)
check "$fit arrive, and $((MANY - fit)) read that there is no capacity" same "$arrived $refused" "$fit $((MANY - fit))"
check "on host2 each domain has one device and one lease, and there are no others" there within 30 in_order
check "on host1 likewise" within 30 in_order
check "$fit run on host2" same "$(there running)" "$fit"
check "and $((MANY - fit)) on host1" same "$(running)" "$((MANY - fit))"

all destroy 2>/dev/null
there eval "virsh list --name | grep . | xargs -P 5 -n 1 virsh -q destroy"
check "at last nothing is left on host1" within 60 collected nothing_left
check "nor on host2" there within 60 collected nothing_left
