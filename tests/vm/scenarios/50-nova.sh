# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OpenStack Nova's own driver of libvirt: each situation with Nova alone and with vgpu-lease, side by side
# shellcheck source=tests/vm/nova/nova.sh
. "${here:?}/nova/nova.sh"

# What becomes of it is one line. `after_grace` is where reclaim_grace would be over.
after_grace() { [ "$mode" = alone ] || vgpu-lease gc --grace 0 >"$WORK/gc" 2>&1 || sed 's/^/# /' "$WORK/gc" >&2; }
left() {
	within 60 libvirt_follows
	echo "$(mdevs) mdevs, $(definitions) definitions, total $(total)"
}

deleted() {
	begin_nova pgpu-1
	nova spawn a
	nova destroy a
	after_grace
	left
}
type_changed() {
	begin_nova pgpu-2
	nova orphans 2
	configure_nova pgpu-1
	nova start
	after_grace
	left
}
# With Nova alone an operator restarts nova-compute, after two attempts.
driver_reloaded() {
	local first second
	begin_nova pgpu-1
	nova spawn a
	nova poweroff a
	reload_driver
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
undefined_too() {
	local once twice
	begin_nova pgpu-1
	nova spawn a
	nova poweroff a
	reload_driver
	rm -rf /etc/mdevctl.d/0000*
	once=$(tried poweron a)
	twice=$(tried poweron a)
	echo "power on $once, then $twice"
}
# A host that boots: nothing runs, /run is empty, no mdev is there.
host_rebooted() {
	local a b sockets=(libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd-tcp.socket)
	begin_nova pgpu-1
	nova spawn a
	nova spawn b
	nova poweroff b
	nova orphans 2
	nova kill
	[ "$mode" = alone ] || systemctl stop vgpu-leased
	systemctl stop "${sockets[@]}" libvirtd
	kill -KILL "$(pid_of "$(name_of a)")"
	within 15 closed
	rm -rf /run/vgpu-lease /run/libvirt/qemu/*.xml
	reload_driver
	systemctl start "${sockets[@]}" libvirtd
	[ "$mode" = alone ] || systemctl start vgpu-leased
	nova start
	a=$(tried hostboot a)
	b=$(tried poweron b)
	after_grace
	echo "boot resume $a $(vgpu_of a), power on $b $(vgpu_of b); $(left)"
}
below_capacity() {
	begin_nova pgpu-1 '' 'max_instances = 10'
	total
}
at_once() {
	begin_nova pgpu-1
	nova spawn a b
	grep -oE '\b[ab] ok\b' <<<"$OUT" | wc -l
	if [[ $OUT == *vgpu-lease* ]]; then echo "the other is refused"; else echo "the other fails in QEMU"; fi
}
spawn_failed() {
	begin_nova pgpu-1
	nova spawn a memory=900000
	after_grace
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
	after_grace
	left
}

# row SITUATION SENTENCE ALONE WITH: what becomes of it, where it is as it should be.
row() { rows+=("$1|$2|$3|$4"); }
row deleted "an instance is deleted" "1 mdevs, 1 definitions, total 24" "0 mdevs, 0 definitions, total 24"
row type_changed "the type is changed, with two orphans of the old one" "2 mdevs, 2 definitions, total 20" \
	"0 mdevs, 0 definitions, total 24"
row driver_reloaded "the driver is reloaded while an instance is off" \
	"power on fails, then fails; resumed with its vGPU nova-compute starts: ok, total 24" \
	"power on works, then works; resumed with its vGPU nova-compute starts: ok, total 24"
row undefined_too "the same, and the definition is gone" "power on fails, then works" "power on works, then works"
row host_rebooted "the host reboots" \
	"boot resume works with its vGPU, power on works with its vGPU; 4 mdevs, 4 definitions, total 24" \
	"boot resume works with its vGPU, power on works with its vGPU; 2 mdevs, 2 definitions, total 24"
row below_capacity "max_instances is below the capacity" none none
row at_once "two are spawned at once" "1 the other fails in QEMU" "1 the other is refused"
row spawn_failed "a spawn fails in QEMU" "1 mdevs, 1 definitions, total 24" "0 mdevs, 0 definitions, total 24"
row claims "a live migration is checked, and rolled back" "1 1 mdevs, 1 definitions, total 24" \
	"1 0 mdevs, 0 definitions, total 24"

prepare_nova
mv /etc/libvirt/hooks/qemu "$WORK/qemu-hook"
systemctl restart libvirtd
declare -A became
for mode in alone with; do
	if [ "$mode" = with ]; then
		mv "$WORK/qemu-hook" /etc/libvirt/hooks/qemu
		printf '[devices]\nnova_conf = %s\n' "$NOVA_CONF" >"$CONF"
		configure_nova pgpu-1
		systemctl restart libvirtd
		systemctl start vgpu-leased
	fi
	for line in "${rows[@]}"; do
		IFS='|' read -r name sentence alone with <<<"$line"
		became[$name:$mode]=$("$name" 2>&1 | xargs)
		check "$mode: $sentence" same "${became[$name:$mode]}" "${!mode}"
	done
done
printf '# %-56s | %-24s\n' situation "Nova alone / with vgpu-lease"
for line in "${rows[@]}"; do
	IFS='|' read -r name sentence _ <<<"$line"
	printf '# %-56s | %s\n# %-56s | %s\n' "$sentence" "${became[$name:alone]}" "" "${became[$name:with]}"
done
end_nova
