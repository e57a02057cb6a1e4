/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A start that fails beside another of its domain: libvirtd was killed during the first, whose hook goes on alone.
 * On a simulated host.
 */
#include "device/apply.h"

#include "host/kernel.h"
#include "lib/live.h"

static void taken_over(void)
{
	const struct request request = { .uuid = "dddddddd-0000-4000-8000-000000000001", .name = "vm1", .nvgpus = 1 };
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV("mtty", "mtty-1", A), .numa = UNKNOWN };
	struct apply apply;
	struct lease lease;
	pid_t other;

	text_copy(step.vgpu.pgpu, sizeof(step.vgpu.pgpu), "mtty");
	apply_start(&apply, &store, &config.policy, &request, "prepare");
	ok(apply_lease(&apply, &step, 1, &err) == 0 && apply_step(&apply, &step, 1, 0, "", &err) == 0,
	   "a start makes a vGPU");
	other = fork();
	if (other == 0)
		_exit(lease_get(&store, A, &lease, &err) == 1 && lease_put(&store, &lease, &err) == 0 ? 0 : 1);
	waitpid(other, NULL, 0);
	apply_undo(&apply);
	ok(exists(step.vgpu.id) && lease_get(&store, step.vgpu.id, &lease, &err) == 1 && lease.state == LEASE_ACTIVE,
	   "when it fails later, what another start of the domain has taken over is not undone");
	ok(lease_put(&store, &lease, &err) == 0, "as its own");
	apply_lease(&apply, &step, 1, &err);
	apply_undo(&apply);
	ok(!exists(step.vgpu.id) && !lease_now(A), "it is");
	apply_end(&apply);
}

/* A command that keeps the work locks, until libvirt has attached what it has made, and fails before that. */
static void kept_locks(void)
{
	const struct request request = { .uuid = "dddddddd-0000-4000-8000-000000000001", .name = "vm1", .nvgpus = 1 };
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV("mtty", "mtty-1", A), .numa = UNKNOWN };
	struct work_locks locks = { 0 };
	struct apply apply;

	text_copy(step.vgpu.pgpu, sizeof(step.vgpu.pgpu), "mtty");
	apply_start(&apply, &store, &config.policy, &request, "resume");
	apply.work = &locks;
	ok(apply_lease(&apply, &step, 1, &err) == 0 && apply_step(&apply, &step, 1, 0, "", &err) == 0 &&
		   store_locked_vgpu(&store, A),
	   "a command makes a vGPU, and keeps its work lock");
	must(kernel_remove(store.host, &step.vgpu, 1000, &err));
	ok(apply_lease(&apply, &step, 1, &err) == 0 && apply_step(&apply, &step, 1, 0, "", &err) == 0,
	   "removed by other software, it is made again in the next round: %s", err.text);
	apply_undo(&apply);
	apply_end(&apply);
	ok(!exists(A) && !lease_now(A), "which does not keep it from being undone");
	work_locks_end(&locks, NULL);
}

LIVE_TESTS("mtty", "[policy]\n", taken_over, kept_locks)
