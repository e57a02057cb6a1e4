/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A start that waits for the removal of its own vGPU, which ends while the host is read. */
#include <errno.h>

#include "unit/ops/start.h"

#define BUS "sys/bus/mdev/devices/"

enum { READS = 5 }; /* that a look at this host takes */

/*
 * After the first look has seen the vGPU, and after the second has read that its card is full: then it lets go of the
 * work lock.
 */
static void removal_goes_on(void)
{
	if (asked.reads == READS)
		tree_remove(&tree, BUS B);
	if (asked.reads != 2 * READS)
		return;
	tree_add(&tree, AVAILABLE(CARD, TYPE, "1"));
	tree_remove(&tree, "run/vgpu-lease/lock");
}

int __wrap_kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);
int __wrap_kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *e)
{
	(void)host;
	return err_set(e, ECANCELED, "created on %s", vgpu->parent);
}

static void waits(void)
{
	configure(30);
	put_lease(lease_of(B, TYPE, CARD, LEASE_RELEASING, VM));
	must(store_lock_vgpu(&store, B, &err));
	asked.then = removal_goes_on;
	ok(call(TYPE, lifecycle_prepare) == -ECANCELED, "the start comes to the creation: %s", err.text);
	is(err.text + err.cause, "created on " CARD, "of a vGPU where it was, not where one was free all the time");
}

HOST_TESTS(DIRECTORIES T4(CARD, "0", "16") T4("0000:85:00.0", "1", "16")
		   ON_CARD(CARD) "/" B "/\n" BUS B " -> ../../../devices/" CARD "/" B "\n",
	   waits)
