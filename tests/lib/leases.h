/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A store of leases for all functions of a test: HOST_TESTS("run/\nvar/lib/\n", types, voids, requests) */
#pragma once

#include "base/text.h"
#include "lib/names.h"
#include "lib/tree.h"
#include "state/store.h"

static struct tree tree __attribute__((unused));
static struct store store;
static struct err err;

/* Ends the test where what it needs has failed. */
static inline void must(int r)
{
	if (r < 0)
		tree_fail(err.text);
}

static inline struct lease lease_of(const char *id, const char *type, const char *parent, enum lease_state state,
				    const char *domain)
{
	struct lease lease = { .name = "vm",
			       .state = state,
			       .numa = UNKNOWN,
			       .framebuffer_mib = UNKNOWN,
			       .deadline_ms = state == LEASE_RESERVED ? 1 : 0 };

	text_copy(lease.vgpu.id, sizeof(lease.vgpu.id), id);
	text_copy(lease.vgpu.type, sizeof(lease.vgpu.type), type);
	text_copy(lease.vgpu.parent, sizeof(lease.vgpu.parent), parent);
	text_copy(lease.vgpu.pgpu, sizeof(lease.vgpu.pgpu), parent);
	text_copy(lease.domain, sizeof(lease.domain), domain);
	return lease;
}

static inline void put_lease(struct lease lease)
{
	must(lease_put(&store, &lease, &err));
}

/* The lease of this vGPU; NULL: none. Good until the next call. */
static inline const struct lease *lease_now(const char *id)
{
	static struct lease lease;

	return lease_get(&store, id, &lease, &err) == 1 ? &lease : NULL;
}

/* The main() of a test that only calls these functions on such a host. */
#define HOST_TESTS(text, ...)                                                                                          \
	int main(void)                                                                                                 \
	{                                                                                                              \
		tree_begin(&tree, text);                                                                               \
		must(store_open(&store, &tree.host, true, &err));                                                      \
		for (EACH_TEST(__VA_ARGS__))                                                                           \
			(*test)();                                                                                     \
		store_close(&store);                                                                                   \
		tree_end(&tree);                                                                                       \
		return tap_done();                                                                                     \
	}
