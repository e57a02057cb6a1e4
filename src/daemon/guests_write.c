/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing this host's facts into live metadata. */
#include <errno.h>

#include "sys/log.h"
#include "internal.h"
#include "live/migration_facts_live.h"
#include "state/store.h"

static void write_facts(struct guests *g, size_t i, const struct host_facts *facts)
{
	const struct virt_domain *domain = &g->domains[i];
	struct err err;
	int r = migration_facts_write(g->virt, facts, g->guests[i].doc, domain->uuid, VIRT_LIVE, &err);

	if (r == 1)
		log_info("domain %s: migration facts of its vGPUs written to its metadata", domain->name);
	/* If the domain is busy or gone, a later pass tries again. */
	if (r < 0 && r != -ENOENT && r != -EBUSY && r != -EPERM)
		log_warn("cannot write migration facts: %s", err.text);
}

static bool has_facts(const struct guests *g, size_t i)
{
	return g->live[i].settled && g->guests[i].doc;
}

static void write_all_facts(struct guests *g, struct store *store)
{
	struct host_facts facts;
	struct err err;
	size_t first = 0;

	while (first < g->n && !has_facts(g, first))
		first++;
	if (first == g->n)
		return;
	if (host_facts_read(&facts, store, &err) < 0)
		log_warn("cannot read migration facts: %s", err.text);
	else
		for (size_t i = first; i < g->n && virt_alive(g->virt); i++)
			if (has_facts(g, i))
				write_facts(g, i, &facts);
	host_facts_free(&facts);
}

void guests_write(struct guests *g, const struct host *host)
{
	struct store store;
	struct err err;

	if (!g->virt || !virt_alive(g->virt))
		return;
	if (store_open(&store, host, false, &err) < 0) {
		log_warn("%s", err.text);
		return;
	}
	write_all_facts(g, &store);
	store_close(&store);
}
