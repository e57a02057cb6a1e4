#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Metrics for Prometheus: what is in them, that promtool takes them, and the alerts and the dashboard that go with them.
. "$(dirname "$0")/../../lib/cli.sh"
needs promtool python3

host t4:2+mtty nvidia-222 mtty-1@mtty

value() { metric=$1 awk '{ at = "vgpu_lease_" ENVIRON["metric"] " " } index($0, at) == 1 { print substr($0, length(at) + 1) }' <<<"$out"; }

vl_works "a host on which nothing has happened yet has metrics" metrics
holds "promtool has nothing against them" promtool check metrics <<<"$out"
is "$(value 'refusals_total{reason="capacity"}')|$(value 'hook_duration_seconds_count{op="prepare"}')" "0|0" "counters begin at zero"
is "$(value oldest_releasing_timestamp_seconds)$(value handler_last_pass_timestamp_seconds)" "" "what has not happened has no time"

for n in 1 2; do call prepare begin $n nvidia-222; done
call prepare begin 3 nvidia-99 2>/dev/null
name='a"b\c'
domain 4 "$(uuid 4)" mtty-1 | sed "s|<name>.*</name>|<name>${name//\\/\\\\}\&#10;d</name>|" | hook x prepare begin -
orphan mtty mtty-1 9
sed -i 's/^state=active/state=releasing/' "$root/run/vgpu-lease/leases/$(uuid 2)"

vl metrics
holds "promtool has nothing against these either" promtool check metrics <<<"$out"
all=$out
is "$(value 'capacity{pgpu="0000:84:00.0",type="nvidia-222"}')|$(value 'in_use{pgpu="0000:84:00.0",type="nvidia-222"}')|$(
	value 'available{pgpu="0000:84:00.0",type="nvidia-222"}')" "16|2|14" "a pGPU's capacity, by type"
is "$(value 'framebuffer_used_bytes{pgpu="0000:84:00.0"}')" $((2 * 1024 * 1024 * 1024)) "its framebuffer, in bytes"
is "$(value 'framebuffer_used_bytes{pgpu="mtty"}')" "" "of one whose driver does not say, none is printed"
is "$(value 'leases{state="active"}')|$(value 'leases{state="releasing"}')|$(value 'leases{state="creating"}')" "2|1|0" "leases by state"
since=$(value oldest_releasing_timestamp_seconds)
now=$(date +%s)
holds "since when one is releasing, on the wall clock" test $((now - ${since%.*})) -ge 0 -a $((now - ${since%.*})) -lt 600
is "$(value 'refusals_total{reason="request"}')|$(value 'refusals_total{reason="capacity"}')" "1|0" "refusals by reason"
is "$(value 'hook_duration_seconds_count{op="prepare"}')|$(value 'hook_duration_seconds_bucket{op="prepare",le="+Inf"}')" "4|4" \
	"all of the hook's calls"
info="info{id=\"$(uuid 1)\",type=\"nvidia-222\",pgpu=\"0000:84:00.0\",domain=\"vm1\",uuid=\"$(domain_uuid 1)\",project=\"\",instance_name=\"\"}"
is "$(value "$info")" 1 "a vGPU and its domain"
holds "a name is escaped, and one line" grep -qF 'domain="a\"b\\c\\x0ad",' <<<"$out"
holds "an orphan is counted once it has been one for long enough" test "$(value orphans)" = 0
printf '[policy]\nreclaim_grace = 0\n' >>"$root/etc/vgpu-lease.conf"
vl metrics
is "$(value orphans)" 1 "which [policy] says"

"$builddir/hooks/qemu" --root "$root" -- vm9 prepare begin - <<<'<domain><name>x</name></domain>'
vl metrics
is "$(value 'hook_duration_seconds_count{op="prepare"}')" 4 "a domain without a vGPU is not counted"

### The handler's file.
file=$root/run/vgpu-lease/metrics.prom
start_handler
holds "the handler makes a pass" eventually test -e "$root/run/vgpu-lease/seen/$(uuid 9)"
fails "without metrics = yes it writes no file" test -e "$file"
stop_handler
echo 'metrics = yes' >>"$root/etc/vgpu-lease.conf"
start_handler
holds "with it, it does" eventually test -s "$file"
holds "promtool has nothing against the file" promtool check metrics <"$file"
is "$(stat -c %a "$file")" 644 "which everybody may read"
out=$(cat "$file")
all+=$'\n'$out
holds "the handler's last pass is in it" test "$(value handler_last_pass_timestamp_seconds)" -ge "$now"
is "$(value config_valid)" 1 "and that the configuration is valid"
echo '[nonsense]' >>"$root/etc/vgpu-lease.conf"
kill -HUP "$handler"
holds "a reload that finds it broken is in the file" eventually grep -q '^vgpu_lease_config_valid 0' "$file"
sed -i '/nonsense/d; /metrics = yes/d' "$root/etc/vgpu-lease.conf"
kill -HUP "$handler"
holds "where the configuration asks for none any more it goes" eventually test ! -e "$file"
echo 'metrics = yes' >>"$root/etc/vgpu-lease.conf"
kill -HUP "$handler"
eventually test -e "$file"
stop_handler
fails "when the handler ends, the file goes: what is old would pass for now" test -e "$file"
echo broken >"$root/etc/vgpu-lease.conf"
vl_makes "an invalid configuration is one of the metrics" "0 0" 'value config_valid' metrics

was=$out
configure 'mtty-1@mtty, 0000:99:00.0' nvidia-222@0000:99:00.0 policy 'pgpu_types = several'
vl metrics
is "$(value 'pgpu_ready{pgpu="0000:99:00.0"}')|$(value 'pgpu_ready{pgpu="mtty"}')" "0|1" "a configured pGPU that is missing is not ready, and there once, though two types name it"
holds "and that is a metric as others are" promtool check metrics <<<"$out"
ready() { vl metrics && sed -n 's/^vgpu_lease_pgpu_ready.*} //p' <<<"$out" | xargs; }
configure nvidia-222@0000:84:00.0 'device_match = 10de:1eb8' nvidia-223@10de:1eb8
is "$(ready)" "1 0" "one that two types claim is not ready"
configure nvidia-222@0000:84:00.0 vf_t4@0000:85:00.0
is "$(ready)" "1 0" "nor is one with mdevs that is configured for plain VFs"
out=$was

### What goes with them.
rules=$srcdir/contrib/vgpu-lease.rules.yml dashboard=$srcdir/contrib/vgpu-lease.dashboard.json
holds "promtool takes the alerts" promtool check rules "$rules"
cp "$rules" "$srcdir/tests/system/cli/metrics/rules_test.yml" "$work"
holds "which fire when they should" promtool test rules "$work/rules_test.yml"
nothing "each has a test" "$(comm -23 <(sed -n 's/.*- alert: //p' "$rules" | sort) <(grep -o 'alertname: [A-Za-z]*' "$work/rules_test.yml" | sed 's/.* //' | sort))"
holds "the dashboard is JSON" jq -e '.panels | length > 0' "$dashboard"
complaints() { python3 "$srcdir/tests/lib/dashboard.py" "$srcdir/tests/system/cli/metrics/dashboard.schema.json" "$1" 2>&1; }
nothing "as Grafana demands it" "$(complaints "$dashboard")"
# Mistakes are found: a change of the dashboard, for jq, and the complaint about it.
while IFS='@' read -r change complaint; do
	jq "$change" "$dashboard" >"$work/changed.json"
	like "$(complaints "$work/changed.json")" "*$complaint*" "a dashboard is refused: $complaint"
done <<'EOF'
del(.title)@$: 'title' is a required property
.panels[0].colour = 1@('colour' was unexpected)
.panels[1].id = 1@panel ids: 1 is there twice
.panels[1].gridPos.x = 2@panel vGPUs available: lies upon panel vGPUs in use
.panels[1].gridPos.w = 24@panel vGPUs available: wider than the grid
.panels[12].gridPos.y = 40@panel Leased vGPUs: has nothing above it
.panels[5].fieldConfig.defaults.unit = "seconds"@panel Last pass of the handler: the unit is not s
.panels[0].targets += .panels[0].targets@panel vGPUs in use: A is there twice
.panels[0].targets[0].refId = "a"@.refId: 'a' does not match
.panels[0].datasource.uid = "prometheus"@.datasource: {*} was expected
.panels[0].targets[0].expr = "sum(vgpu_lease_in_use)"@a metric without its hosts
.panels[1].targets[0].expr = "sum(vgpu_lease_available{instance=~\"$instance\"})"@adds what types of a pGPU share
.panels[10].targets[0].expr |= sub("increase"; "sum")@a counter without its rate
.panels[10].targets[0].expr |= sub("[$]__rate_interval"; "5m")@a counter without its rate in $__rate_interval
.panels[10].targets[0].legendFormat = "{{instance}}"@a legend without reason
.panels[12].targets[0].instant = false@.instant: True was expected
.panels[0].type = "singlestat"@'singlestat' is not one of
.templating.list |= reverse@.name: 'datasource' was expected
.templating.list[1].refresh = 1@.refresh: 2 was expected
.templating.list += [{"name": "job", "type": "datasource", "label": "", "query": ""}]@variable job: no panel uses it
.panels[0].targets[0].expr |= sub("instance\""; "host\"")@there is no host
EOF
jq '{groups: [{name: "dashboard", rules: [[.. | .expr? // empty | gsub("[$]__rate_interval"; "5m")] | to_entries[] |
	{record: "dashboard:\(.key)", expr: .value}]}]}' "$dashboard" >"$work/dashboard.yml"
holds "promtool takes each of its expressions" promtool check rules "$work/dashboard.yml"
nothing "and all names in them are those of metrics" "$(grep -ohE 'vgpu_lease_[a-z_]+' "$rules" "$dashboard" | sort -u |
	comm -23 - <(grep -oE '^vgpu_lease_[a-z_]+' <<<"$all" | sort -u))"

# An alert, or an expression of the dashboard with what is written beside it, a line.
queries() {
	jq -r '.. | objects | select(.expr) | "\(.expr) \(.legendFormat)"' "$dashboard"
	awk '/- alert:/ && NR > 1 { print "" } { printf "%s ", $0 } END { print "" }' "$rules" | grep alert:
}
# Labels of queries that none of their metrics has; Prometheus adds instance.
without_labels() {
	local query metrics label
	while IFS= read -r query; do
		metrics=$(grep -oE 'vgpu_lease_[a-z_]+' <<<"$query" | sort -u | paste -sd'|')
		for label in $({ grep -oE '\<by \([^)]*\)' <<<"$query" | sed 's/^by//; s/[(),]/ /g'
			grep -oE '[a-z_]+(=|!=|=~|!~)"' <<<"$query" | sed 's/[=!~"]//g'
			grep -oE '(\{\{|[$]labels\.)[a-z_]+' <<<"$query" | sed 's/.*[{.]//'; } | sort -u); do
			[ "$label" = instance ] || grep -qE "^($metrics)\{(.*,)?$label=" <<<"$all" || echo "$label: $query"
		done
	done < <(queries)
}
is "$(queries | wc -l)" $(($(jq '[.. | .expr? // empty] | length' "$dashboard") + $(grep -c 'alert:' "$rules"))) "each query is looked at"
nothing "and all labels are those of their metrics" "$(without_labels)"

### Prometheus has a value for each expression of the dashboard
new_host t4:2+mtty nvidia-222 mtty-1@mtty policy 'reclaim_grace = 0' 'release_wait = 0' 'metrics = yes'

for n in 1 2; do call prepare begin $n nvidia-222; done
call prepare begin 3 nvidia-99 2>/dev/null
create mtty mtty-1 9
sed -i 's/^state=active/state=releasing/' "$root/run/vgpu-lease/leases/$(uuid 2)"
start_handler
holds "the handler writes metrics" eventually grep -q handler_last_pass "$file"
cp "$file" "$work/before"
call prepare begin 4 nvidia-222
call release end 4 nvidia-222
kill -HUP "$handler"
holds "and once more, when a guest has come and gone" eventually grep -q '_count{op="release"} 1$' "$file"

# series: each metric on standard input, as of a host, and its value, between tabs.
series() { sed -nE 's/^(vgpu_lease_[a-z_]+)(\{(.*)\})? ([^ ]+)$/\1{instance="host1",\3}\t\4/p'; }
# unanswered DASHBOARD: what promtool says of its expressions that have no number, in a Prometheus that has read both, half a minute apart.
unanswered() {
	awk -F'\t' 'NR == FNR { was[$1] = $2; next } { print $1 FS ($1 in was ? was[$1] : "_") " " $2 }' <(series <"$work/before") <(series <"$file") |
		jq -Rs --slurpfile dashboard "$1" '{tests: [{interval: "30s",
			input_series: [split("\n")[] | select(. != "") / "\t" | {series: .[0], values: .[1]}],
			promql_expr_test: [$dashboard[].panels[].targets[]?.expr | gsub("[$]__rate_interval"; "2m") | gsub("[$]instance"; ".+") |
				{expr: "count((\(.)) > -Inf) > bool 0", eval_time: "1m", exp_samples: [{labels: "{}", value: 1}]}]}]}' >"$work/asked.yml"
	promtool test rules "$work/asked.yml" 2>&1 | grep -E '^ *expr:|error|cannot'
}
nothing "each expression of the dashboard has a value" "$(unanswered "$dashboard")"
jq '.panels = [{targets: [{expr: "vgpu_lease_bogus{instance=~\"$instance\"}"}, {expr: "0 * vgpu_lease_orphans / 0"}]}]' "$dashboard" >"$work/broken.json"
is "$(unanswered "$work/broken.json" | grep -oE 'vgpu_lease_[a-z]+' | xargs)" "vgpu_lease_bogus vgpu_lease_orphans" "one that has none, or no number, is found"
tap_done
