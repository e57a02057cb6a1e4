/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One host for all functions of a test, with a store of leases:
 *
 *     HOST_TESTS("run/\nvar/lib/\n", types, voids, requests)
 */
#pragma once

#include "lib/leases.h"
#include "lib/names.h"

static struct tree tree;

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
