#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Does the simulation bite? Each of these edits breaks the program in one place, in a copy of the tree; the simulation has
# to find it. Prints TAP, with the seed of the history that did. Not part of `make check`: it takes minutes.
#
#     mutations.sh [--steps N] [NAME...]      ten million steps for each mutation, unless it is found before
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)
steps=10000000
[ "${1-}" = --steps ] && steps=$2 && shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# NAME | FILE | SED: what is broken, and how.
mutations() {
	cat <<'END'
no store lock where a release marks|src/act/release.c|/^int release_mark/,/^}/s/int r = store_lock(store, wait_ms, err);/int r = 0; (void)wait_ms;/
a lease is written after its device is made|src/act/apply.c|/^static int lease_step/,/^}/s/return lease_put(apply->store, &done->now, err);/return step->kind == STEP_CREATE ? 0 : lease_put(apply->store, \&done->now, err);/
a removal takes no lock|src/act/release.c|/^static int begin_removal/,/^}/s/removal->lock = store_lock_vgpu(.*/removal->lock = dup(store->run);/
a removal does not look who has the device open|src/act/release.c|/^static int is_closed/,/^}/s/if (r != 1)/return 0;\n\tif (r != 1)/
a removal does not read its lease again|src/act/release.c|/^static int begin_removal/,/^}/s/r = lock_releasing(/r = lock_lease(/
a lease that has changed is claimed|src/act/release.c|/^int release_claim/,/^}/s/!lease_same(&now, lease)/0/
an arrival is not refused to a domain that runs here|src/act/lifecycle_special.c|s/return runs ? err_set/return 0 \&\& runs ? err_set/
a lease without its device uses no capacity|src/decide/capacity.c|s/load->pending++;/continue;/
an orphan need not be idle|src/decide/fate.c|s/if (idle_ms < grace_ms) {/if (0) {/
a lease is dropped before its device is removed|src/act/release.c|/^static int try_finish/,/^}/s/r = removal_write(/drop_if_releasing(store, id, 1000, true, err);\n\t\tr = removal_write(/
a device that somebody else made counts as created|src/act/apply_create.c|s/return err_set(err, EAGAIN, "created by another process in the meantime");/return 0;/
capacity is not read again where a vGPU is created|src/act/apply_create.c|/^static int create_device/,/^}/s/int r = framework_of(.*/int r = 1;/
a claim does not wait for start_grace|src/decide/fate.c|s/else if (!f->had && age_ms < /else if (0 \&\& age_ms < /
a lease goes although its domain runs|src/decide/fate.c|s/else if (f->has)/else if (0)/
a lease that was written after the look is judged|src/decide/fate.c|s/else if (lease->since_ms >= f->looked_ms)/else if (0)/
the store is unlocked between the plan and its leases|src/act/lifecycle.c|/^static int rounds_run/,/^}/s/n = (arrives ? apply_reserve : apply_lease)(/store_unlock(\&r->store);\n\t\tn = store_lock(\&r->store, 5000, err);\n\t\tif (n < 0)\n\t\t\treturn n;\n\t\tn = (arrives ? apply_reserve : apply_lease)(/
a release takes what a later start has leased|src/act/release.c|/^int release_mark/,/^}/s/lease->since_ms > asked_ms/!asked_ms/
the child of a creation keeps no lock|src/act/apply_create.c|/^static int run_child/,/^}/s/{ creation->apply->lock, creation->work }/{ -1, -1 }/
a work lock ends before its lease says the end|src/act/apply.c|/^int apply_step/,/^}/s/stays = r == -ETIMEDOUT;/stays = r == -ETIMEDOUT, end_work(done);/
a start does not wait for whoever is at work on its vGPU|src/act/apply.c|/^static int begin_work/,/^}/s/work = store_lock_vgpu(.*/work = dup(apply->store->run);/
an unanswered read counts as a removal|src/act/release.c|s/REMOVE_SLACK_MS, 0, err);/REMOVE_SLACK_MS, BOUNDED_ANSWER_MS, err);\n\tif (r == -EHOSTDOWN)\n\t\treturn 1;/
a VF goes to a start although another domain has leased it|src/decide/plan.c|/^bool plan_start/,/^}/s/if (lease \&\& strcmp/if (lease \&\& !pci \&\& strcmp/
a removal that is refused counts as done|src/act/kernel_write.c|/^int kernel_remove/,/^}/s/^\t\tthere = kernel_exists(.*/\t\tif (r == -EPERM)\n\t\t\treturn 0;\n&/
a plain VF without a guest counts as gone|src/look/inventory.c|/^enum presence inventory_presence/,/^}/s/int r = /int r = vgpu->framework == FW_VF ? 0 : /
a lease is believed of an mdev that was made again|src/state/store_lease.c|s/return node \&\& node != lease->node;/return 0 \&\& node;/
a VF with a new type keeps the origin of its lease|src/act/apply.c|s/ \&\& strcmp(there.vgpu.type, step->vgpu.type) == 0) {/) {/
an arrival reserves a VF before another domain's release has ended|src/decide/plan.c|s/ || is_reserved_late(p)//
END
}

cp -r "$source" "$work/tree" 2>/dev/null && rm -rf "$work/tree/build" && mkdir "$work/build" && cd "$work/build" || exit 1
program=tests/model/simulation/simulation
build() { make -s -j"$(nproc)" $program >"$work/log" 2>&1; }
if ! ../tree/configure -q CFLAGS=-O1 >"$work/log" 2>&1 || ! build; then
	tail "$work/log"
	exit 1
fi

n=0 failed=0
while IFS='|' read -r name file edit; do
	[ $# -eq 0 ] || [[ " $* " == *"$name"* ]] || continue
	n=$((n + 1))
	cp "$work/tree/$file" "$work/whole"
	sed -i "$edit" "$work/tree/$file"
	if cmp -s "$work/whole" "$work/tree/$file"; then
		found='the edit does not apply'
	elif ! build; then
		found="it does not compile: $(grep -m1 error: "$work/log")"
	else
		found=$($program --steps "$steps" --seed 1 | sed -n 's/^# broken at [0-9.]*, step [0-9]*, by //p;s/^# \([0-9]*\)$/seed \1/p' | tail -2 | paste -sd'|')
	fi
	cp "$work/whole" "$work/tree/$file"
	case $found in
	*'|seed '*) echo "ok $n - $name: ${found##*|}: ${found%|*}" ;;
	'the edit'* | 'it does not compile'* | '') echo "not ok $n - $name${found:+: $found}" && failed=1 ;;
	*) echo "ok $n - $name: a seed that is kept: $found" ;;
	esac
done < <(mutations)
echo "1..$n"
exit $failed
