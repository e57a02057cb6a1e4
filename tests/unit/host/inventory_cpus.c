/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The NUMA nodes of CPUs, as /sys has them. */
#include "host/inventory.h"
#include "lib/tap.h"
#include "lib/tree.h"

static uint64_t nodes_of(const struct host *host, const char *list)
{
	uint64_t cpus[CPU_WORDS] = { 0 };

	return cpuset_parse(list, cpus, CPUS_MAX) ? inventory_cpu_nodes(host, cpus) : 0;
}

static void nodes_of_cpus(void)
{
	TREE(tree, "sys/devices/system/node/node0/cpulist = 0-3,8-11\n"
		   "sys/devices/system/node/node1/cpulist = 4-7,12-15\n"
		   "sys/devices/system/node/node2/cpulist = \n"
		   "sys/devices/system/node/possible = 0-2\n");
	ok(nodes_of(&tree.host, "1,9") == 1, "CPUs of node 0 are on it");
	ok(nodes_of(&tree.host, "3-4") == 3, "CPUs of two nodes are on both");
	ok(nodes_of(&tree.host, "99") == 0, "CPUs that are not there are on none");
}

TESTS(nodes_of_cpus)
