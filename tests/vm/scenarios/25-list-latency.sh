# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# how long virsh list takes beside starts and destroys: without a hook, with /bin/true as the hook, with ours
hook=/etc/libvirt/hooks/qemu
GUEST=halt define guest "$U1"
# In one virsh, which goes on after a failure, and says nothing of a success.
ten_times() { virsh -q "$(printf 'start --paused guest; destroy guest; %.0s' {1..10})"; }
# Until WORK/listing is gone, once a second: a line for each answer, in milliseconds, or why there was none.
list_each_second() {
	local start said
	while [ -e "$WORK/listing" ]; do
		sleep 1 &
		start=${EPOCHREALTIME/./}
		if said=$(virsh -q list --all 2>&1); then
			said=$(((${EPOCHREALTIME/./} - start) / 1000))
		fi
		echo "$said"
		wait
	done >"$WORK/answers"
}
answered() { [ -s "$WORK/answers" ] && ! grep -v '^[0-9]*$' "$WORK/answers"; }
row() { printf '# %-14s %8s %8s %8s\n' "$@"; }
# measure WHICH: a row of the table. Times are for people to look at: what is checked is that all is answered.
measure() {
	local lister
	touch "$WORK/listing"
	list_each_second &
	lister=$!
	run ten_times
	rm "$WORK/listing"
	wait "$lister"
	check "$1: ten starts and destroys work" same "$OUT" ''
	check "$1: each list beside them is answered" answered || return
	mapfile -t answers < <(sort -n "$WORK/answers")
	row "$1" "${#answers[@]}" "${answers[${#answers[@]} / 2]}" "${answers[-1]}"
}

row "virsh list" answers "median" "slowest (ms)"
mv "$hook" "$WORK/hook"
systemctl reload libvirtd
# Without our hook the device is there beforehand.
make_device "$U1"
measure none
install -m 755 /bin/true "$hook"
systemctl reload libvirtd
measure /bin/true
echo 1 >"/sys/bus/mdev/devices/$U1/remove"
# One that is there is called, whichever it is: no reload is needed.
mv "$WORK/hook" "$hook"
measure vgpu-lease
check "the hook made the vGPU each time, and removed it" within 20 nothing_left
check "as the journal says" same "$(journal | grep -cF "$(message M_MADE guest)")" 10
