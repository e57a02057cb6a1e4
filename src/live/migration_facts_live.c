/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts of a domain's vGPUs, put into the metadata that libvirt holds of it. */
#include "live/migration_facts_live.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "survey/migration_facts.h"

int migration_facts_live(struct virt *virt, const struct store *store, const char *domain, unsigned int side,
			 struct err *err)
{
	/* Types of what exists are read in any case. */
	static const char *const no_types[] = { NULL };
	static const struct inv_query query = { .frameworks = INV_MDEV | INV_VARIANT, .types = no_types };
	struct inventory inv = { 0 };
	struct leases leases = { 0 };
	struct domxml *doc = NULL;
	autofree char *xml = NULL, *element = NULL;
	int r = virt_xml(virt, domain, side, &xml, err);

	if (r == 0)
		r = domxml_parse(&doc, xml, strlen(xml), DOMXML_ALL_PCI, err);
	if (r == 0)
		r = inventory_read(&inv, store->host, &query, err);
	if (r == 0)
		r = lease_list(store, &leases, err);
	if (r == 0)
		r = migration_facts_element(doc, &inv, &leases, &element, err);
	if (r == 0 && element)
		r = virt_set_metadata(virt, domain, DOMXML_NS_KEY, DOMXML_NS, element, side, err);
	lease_list_free(&leases);
	inventory_free(&inv);
	domxml_free(doc);
	return r;
}
