/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One host for all functions of a test, with a store of leases:
 *
 *     HOST_TESTS("run/\nvar/lib/\n", types, voids, requests)
 */
#pragma once

#include "lib/leases.h"
#include "lib/tap.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define B "c6f1a2b3-0000-4000-8000-00000000000b"
#define C "c6f1a2b3-0000-4000-8000-00000000000c"
#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OTHER "67a42c8b-1111-4000-8000-000000000002"

static struct tree tree;

static inline void host_begin(const char *text)
{
	tree_begin(&tree, text);
	must(store_open(&store, &tree.host, true, &err));
}

static inline void host_end(void)
{
	store_close(&store);
	tree_end(&tree);
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
