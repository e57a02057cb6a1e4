/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which UUIDs of a domain are placeholders. */
#include "survey/placeholder.h"

#include "host/kernel.h"
#include "host/mdevctl_files.h"
#include "state/lease_store.h"
#include "state/store.h"

static bool is_leased(const struct host *host, const char *id)
{
	struct store store;
	struct lease lease;
	struct err ignored;
	/* True also if that cannot be read. */
	bool found = store_open(&store, host, false, &ignored) < 0 || lease_get(&store, id, &lease, &ignored) != 0;

	store_close(&store);
	return found;
}

void placeholder_settle(struct domxml *doc, const struct host *host)
{
	const struct request *request = domxml_request(doc);

	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_ref vgpu = kernel_vgpu(request->vgpus[i].id);

		if (request->vgpus[i].any &&
		    (kernel_exists(host, &vgpu) || mdevctl_defines(host, vgpu.id) || is_leased(host, vgpu.id)))
			domxml_is_itself(doc, i);
	}
}
