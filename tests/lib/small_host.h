/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One host for all functions of a test, with a store of leases:
 *
 *     HOST_TESTS("run/\nvar/lib/\n", types, voids, requests)
 */
#pragma once

#include "base/text.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "state/lease_store.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define B "c6f1a2b3-0000-4000-8000-00000000000b"
#define C "c6f1a2b3-0000-4000-8000-00000000000c"
#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OTHER "67a42c8b-1111-4000-8000-000000000002"

static struct tree tree;
static struct store store;
static struct err err;

static inline void host_begin(const char *text)
{
	tree_begin(&tree, text);
	if (store_open(&store, &tree.host, true, &err) < 0)
		tree_fail(err.text);
}

static inline void host_end(void)
{
	store_close(&store);
	tree_end(&tree);
}

/* A lease of this domain, which is called vm. */
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
	if (lease_put(&store, &lease, &err) < 0)
		tree_fail(err.text);
}

/* The main() of a test that only calls these functions on such a host. */
#define HOST_TESTS(text, ...)                                                                                          \
	int main(void)                                                                                                 \
	{                                                                                                              \
		static void (*const tests[])(void) = { __VA_ARGS__ };                                                  \
                                                                                                                       \
		host_begin(text);                                                                                      \
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)                                          \
			tests[i]();                                                                                    \
		host_end();                                                                                            \
		return tap_done();                                                                                     \
	}
