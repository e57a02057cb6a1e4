# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirtd is killed while the hook prepares a domain
preparing() { pgrep -f '/hooks/qemu slow prepare' >/dev/null; }
answers() { virsh -q list >/dev/null; }

# interrupt: a start whose hook waits for the lock of the leases while libvirtd is killed; the hook then goes on alone.
interrupt() {
	local holder starter freed=$WORK/freed
	install -d -m 700 /run/vgpu-lease
	rm -f "$freed"
	flock /run/vgpu-lease/lock timeout 25 sh -c "until [ -e $freed ]; do sleep 0.2; done" &
	holder=$!
	virsh start --paused slow >"$WORK/start.log" 2>&1 &
	starter=$!
	check "the hook waits for the lock of the leases ($1)" within 20 preparing
	run systemctl kill -s KILL --kill-whom=main libvirtd
	touch "$freed"
	wait "$holder" "$starter"
	check "the hook ends by itself ($1)" within 20 no preparing
	check "libvirtd is back ($1)" within 20 answers
}

define slow "$U1"
interrupt "before a second start"
run virsh start --paused slow
check "the domain starts as if nothing had been" succeeded
check "with its device" uses slow "$U1"
check "and one lease" held_by "$U1" slow
run virsh destroy slow
check "nothing is left of it" within 15 nothing_left

printf '[policy]\nstart_grace = 1\n' >>"$CONF"
interrupt "before gc"
sleep 2
run vgpu-lease gc --dry-run
check "gc tells what it would do" succeeded
run vgpu-lease gc
check "gc succeeds" succeeded
check "and leaves nothing" within 10 nothing_left
