# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what is attached, detached, suspended and resumed by command, while the device handler looks on
printf '[policy]\nstart_grace = 1\n' >>"$CONF"
systemctl start vgpu-leased
check "the handler runs" within 60 connected
define guest
virsh -q start guest
succeeds "a vGPU is attached" vgpu-lease attach guest
id=$(leases | jq -r '.leases[0].id')
sleep 3
check "the handler leaves it as it is" held_by "$id" guest
check "the guest has it" uses_open guest "$id"
succeeds "it is detached" vgpu-lease detach guest "$id"
check "and gone, once" nothing_left
released() {
	local log
	log=$(journal | grep -F "$id")
	echo $(($(says_times M_RELEASED '*' "$id" <<<"$log") + $(says_times M_HOTPLUG_RELEASED '*' "$id" <<<"$log")))
}
check "one of the two released it" same "$(released)" 1

MIGRATABLE=1 define sleeper "$U1"
virsh -q destroy guest
virsh -q start sleeper
check "a domain has its vGPU" held_by "$U1" sleeper
succeeds "it is suspended" vgpu-lease suspend sleeper
check "nothing of it is left" within 15 nothing_left
sleep 3
succeeds "it is resumed" vgpu-lease resume sleeper
device=$(device_in sleeper)
sleep 3
check "with a vGPU of its own" held_by "$device" sleeper
check "that QEMU has open" uses_open sleeper "$device"
check "the handler is still there" connected

# libvirtd stands still between the lease of a resume and the start of its domain, for longer than start_grace.
succeeds "it is suspended once more" vgpu-lease suspend sleeper
check "nothing of it is left again" within 15 nothing_left
has_lease() { [ "$(leases | jq '[.leases[] | select(.state == "active")] | length')" = 1 ]; }
vgpu-lease resume sleeper >/dev/null 2>&1 </dev/null &
resuming=$!
check "a resume has leased" within 20 has_lease
libvirtd=$(pidof libvirtd)
kill -STOP "$libvirtd"
sleep 4
kill -CONT "$libvirtd"
resumed=0
wait "$resuming" || resumed=$?
check "it carries on when libvirtd does" same "$resumed" 0
check "and the guest has its vGPU" uses_open sleeper "$(device_in sleeper)"

# The handler stands still, but not in the middle of what it does: a lock that it held would be held from everybody.
handler_stops() {
	local lock try
	for try in {1..50}; do
		systemctl kill -s STOP vgpu-leased
		for lock in /run/vgpu-lease/lock /run/vgpu-lease/work /run/vgpu-lease/pgpu/*.lock; do
			flock -n "$lock" true && ! grep -q "OFDLCK.*:$(stat -c %i "$lock") " /proc/locks && continue
			systemctl kill -s CONT vgpu-leased
			sleep 0.2
			continue 2
		done
		return
	done
	echo "held after $try tries: $lock"
	return 1
}

# handler_late COMMAND...: they are done while the handler stands still: it learns of each step when all of them are over, and long past
# start_grace.
handler_late() {
	local step said=
	handler_stops || return
	for step; do
		# shellcheck disable=SC2086 # a command is words
		run $step
		[ "$STATUS" = 0 ] || said+="$step: $OUT;"
	done
	sleep 2
	systemctl kill -s CONT vgpu-leased
	sleep 3
	same "$said" ''
}
check "ended and started again before the handler learns of the end" handler_late "virsh destroy sleeper" \
	"virsh start sleeper"
check "the new lease is not released" held_by "$(device_in sleeper)" sleeper
check "and QEMU has its device" uses_open sleeper "$(device_in sleeper)"
check "suspended and resumed before it learns of that" handler_late "vgpu-lease suspend sleeper" \
	"vgpu-lease resume sleeper"
check "the resumed domain keeps its vGPU" held_by "$(device_in sleeper)" sleeper
check "which QEMU has open" uses_open sleeper "$(device_in sleeper)"
virsh -q destroy sleeper
virsh -q start guest
run vgpu-lease attach guest
first=$(leases | jq -r '.leases[0].id')
check "detached and attached before it learns of the unplug" handler_late "vgpu-lease detach guest $first" \
	"vgpu-lease attach guest"
id=$(leases | jq -r '.leases[0].id')
check "the attached vGPU stays" held_by "$id" guest
check "and the guest has it" uses_open guest "$id"
check "the handler is still connected" connected
virsh -q destroy guest
check "at last nothing is left" within 15 nothing_left
