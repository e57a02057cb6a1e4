/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a domain's metadata say that has no effect on this host. */
#include "survey/remark.h"

#include <stdio.h>

#include "host/inventory.h"

void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg)
{
	const struct request *request = domxml_request(doc);
	const struct remark *remarks;
	size_t n = domxml_remarks(doc, &remarks);

	for (size_t i = 0; i < n; i++)
		say(arg, remarks[i].text, remarks[i].fix);
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];
		char text[128];

		if (req->numa != NUMA_NODE || inventory_has_node(host, req->numa_node))
			continue;
		snprintf(text, sizeof(text), "<vgpu:device> of %s: numa='%d': this host has no NUMA node %d", req->id,
			 req->numa_node, req->numa_node);
		say(arg, text, "write auto, none or a node of this host");
	}
}
