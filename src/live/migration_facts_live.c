/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Migration facts in the metadata that libvirt keeps for a domain. */
#include "live/migration_facts_live.h"

#include "base/auto.h"
#include "survey/migration_facts.h"

int host_facts_read(struct host_facts *facts, const struct store *store, struct err *err)
{
	static const struct inv_query query = { .frameworks = INV_MDEV | INV_VARIANT, .types = inv_no_types };
	int r;

	*facts = (struct host_facts){ 0 };
	r = inventory_read(&facts->inv, store->host, &query, err);
	return r < 0 ? r : lease_list(store, &facts->leases, err);
}

void host_facts_free(struct host_facts *facts)
{
	lease_list_free(&facts->leases);
	inventory_free(&facts->inv);
}

int migration_facts_write(struct virt *virt, const struct host_facts *facts, const struct domxml *doc,
			  const char *domain, unsigned int side, struct err *err)
{
	static const struct virt_element element = { DOMXML_NS, DOMXML_NS_KEY };
	autofree char *xml = migration_facts_element(doc, &facts->inv, &facts->leases);
	int r;

	if (!xml)
		return 0;
	r = virt_set_metadata(virt, domain, &element, xml, side, err);
	return r < 0 ? r : 1;
}
