# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# six domains at once into four places
names=(m1 m2 m3 m4 m5 m6)
device_of() { echo "bbbbbbbb-0000-4000-8000-00000000000${1#m}"; }
there room 4
starting=()
for name in "${names[@]}"; do
	MIGRATABLE=1 define "$name" "$(device_of "$name")"
	virsh start --paused "$name" >/dev/null &
	starting+=($!)
done
wait "${starting[@]}"
check "six domains have six devices and six leases on host1" in_order

migrating=() arrived=0 refused=0
for name in "${names[@]}"; do
	timeout 200 virsh migrate --live "$name" qemu+tcp://host2/system >"$WORK/$name.log" 2>&1 &
	migrating+=($!)
done
for i in "${!names[@]}"; do
	if wait "${migrating[i]}"; then
		arrived=$((arrived + 1))
	elif grep -q "vgpu-lease: domain ${names[i]}: vGPU .* max_instances" "$WORK/${names[i]}.log"; then
		refused=$((refused + 1))
	fi
done
# shellcheck disable=SC2034 # for who reads of a failure
OUT=$(cat "$WORK"/m?.log)
check "four arrive, and two read that there is no room" same "$arrived $refused" "4 2"
check "on host2 each domain has one device and one lease, and there are no others" there within 10 in_order
check "on host1 likewise" within 10 in_order
check "there are four on host2" same "$(there states)" "active active active active"
check "and two on host1" same "$(states)" "active active"
for name in "${names[@]}"; do
	virsh -q destroy "$name" 2>/dev/null || there virsh -q destroy "$name" >/dev/null
done
check "at last nothing is left on host1" within 10 nothing_left
check "nor on host2" there within 10 nothing_left
