/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NUMA nodes: which ones exist, and which ones a list of CPUs belongs to. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "host/inventory.h"
#include "base/cpuset.h"
#include "base/text.h"
#include "sys/sys.h"

static bool overlap(const uint64_t *a, const uint64_t *b)
{
	for (size_t i = 0; i < CPU_WORDS; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

uint64_t inventory_cpu_nodes(const struct host *host, const uint64_t cpus[CPU_WORDS])
{
	autoclosedir DIR *d = sys_list(host->root, "sys/devices/system/node");
	const struct dirent *e;
	uint64_t nodes = 0;

	while ((e = sys_next(d))) {
		uint64_t there[CPU_WORDS] = { 0 };
		char path[64], list[4096];
		long node;

		if (strncmp(e->d_name, "node", 4) != 0 || !text_number(e->d_name + 4, 0, 63, &node))
			continue;
		snprintf(path, sizeof(path), "node%ld/cpulist", node);
		if (sys_read(sys_list_fd(d), path, list, sizeof(list)) > 0 && cpuset_parse(list, there, CPUS_MAX) &&
		    overlap(cpus, there))
			nodes |= UINT64_C(1) << node;
	}
	return nodes;
}

bool inventory_has_node(const struct host *host, int node)
{
	int fd = sys_dir(host->root, "sys/devices/system/node");
	autoclose int nodes = fd < 0 ? -1 : fd;
	char name[24];

	snprintf(name, sizeof(name), "node%d", node);
	return nodes < 0 ? node == 0 : sys_exists(nodes, name);
}
