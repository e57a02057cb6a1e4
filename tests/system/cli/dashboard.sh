#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The dashboard of contrib/ with the handler's metrics: a real Prometheus has a value for each of its expressions.
. "$(dirname "$0")/../../lib/cli.sh"

needs prometheus python3

host t4:2+mtty
configure nvidia-222 mtty-1@mtty policy 'reclaim_grace = 0' 'release_wait = 0' 'metrics = yes'
dashboard=$srcdir/contrib/vgpu-lease.dashboard.json file=$root/run/vgpu-lease/metrics.prom

# A host with a guest, a refusal, an orphan and a vGPU whose release waits; and one guest that comes and goes.
call prepare begin 1 nvidia-222
call prepare begin 2 nvidia-222
call prepare begin 3 nvidia-99 2>/dev/null
create mtty mtty-1 9
sed -i 's/^state=active/state=releasing/' "$root/run/vgpu-lease/leases/$(uuid 2)"
"$builddir/vgpu-leased" --root "$root" --foreground 2>"$tmp/handler.log" &
handler=$!
while :; do
	call prepare begin 4 nvidia-222
	call release end 4 nvidia-222
	sleep 0.5
done >/dev/null 2>&1 &
guests=$!
stop() {
	kill $guests $handler 2>/dev/null
	wait
	clean_up
}
trap stop EXIT
holds "the handler writes metrics" eventually grep -q handler_last_pass "$file"

# unanswered DASHBOARD: its expressions without a value.
unanswered() {
	local dir
	dir=$(mktemp -d "$work/prometheus.XXXXXX")
	python3 "$srcdir/tests/lib/prometheus.py" "$dir" "$1" cat "$file" 2>&1
}
nothing "each expression of the dashboard has a value" "$(unanswered "$dashboard")"
jq '.panels = [{targets: [{expr: "vgpu_lease_bogus{instance=~\"$instance\"}"}, {expr: "0 * vgpu_lease_orphans / 0"}]}]' "$dashboard" >"$work/broken.json"
is "$(ANSWER_S=10 unanswered "$work/broken.json")" "no value: vgpu_lease_bogus{instance=~\".+\"}
not a number: 0 * vgpu_lease_orphans / 0" "one that has none is found"
tap_done
