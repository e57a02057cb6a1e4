/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt, as a pass of the device handler uses it. */
#include "handler/handler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/migration_facts.h"
#include "sys/log.h"

void guests_set_state(struct guests *g, bool connected, const char *text)
{
	char was[sizeof(g->state)];

	memcpy(was, g->state, sizeof(was));
	text_safe(g->state, sizeof(g->state), text);
	if (strcmp(g->state, was) != 0)
		log_info("%s", text);
	g->connected = connected;
}

static void set_asking(const struct guests *g, bool asking)
{
	if (g->asking_ms)
		*g->asking_ms = asking ? sys_now_ms() : 0;
}

bool guests_connect(struct guests *g)
{
	char text[sizeof(g->state)] = "connected to libvirt";
	struct err err;
	int r;

	if (g->tried || !g->asks)
		return g->virt;
	g->tried = true;
	set_asking(g, true);
	r = virt_open(&g->virt, g->uri, &err);
	set_asking(g, false);
	if (r < 0)
		snprintf(text, sizeof(text), "not connected to libvirt: %.200s", err.text);
	guests_set_state(g, r == 0, text);
	return r == 0;
}

void guests_hang_up(struct guests *g)
{
	virt_close(g->virt);
	g->virt = NULL;
	g->tried = false;
}

void guests_keep_named(struct guests *g, struct gc *pass)
{
	autofree char *xml = NULL;
	struct err ignored;
	bool known = guests_connect(g);

	set_asking(g, true);
	known = known && virt_all_xml(g->virt, &xml, &ignored) == 0;
	set_asking(g, false);
	for (EACH(struct gc_item *, item, pass->items, pass->n))
		if (orphan_is_due(item) && (!known || strcasestr(xml, item->vgpu.id)))
			item->outcome = GC_STAYS;
}

static int write_facts(struct guests *g, const struct running_domain *domain, const struct inventory *inv,
		       const struct leases *leases, struct err *err)
{
	autofree char *missing = migration_facts_element(domain->doc, inv, leases);
	int r;

	if (!missing || !guests_connect(g))
		return 0;
	set_asking(g, true);
	r = virt_set_metadata(g->virt, domain->uuid, DOMXML_NS, DOMXML_NS_KEY, missing, VIRT_LIVE, err);
	set_asking(g, false);
	if (r == 0)
		log_info("domain %s: migration facts of its vGPUs written to its metadata", domain->request->name);
	/* A busy or missing domain is not a fault: a later pass tries again. */
	return r == -ENOENT || r == -EBUSY || r == -EPERM ? 0 : r;
}

void guests_tell(struct guests *g, const struct gc *pass)
{
	autoleases struct leases leases = { 0 };
	struct err err, first = { 0 };

	/* Read the leases again, because the pass has changed some. */
	if (lease_list(pass->world.store, &leases, &err) < 0)
		first = err;
	else
		for (size_t i = 0; i < pass->running.n; i++)
			if (pass->running.list[i].settled && pass->running.list[i].doc &&
			    write_facts(g, &pass->running.list[i], &pass->world.inv, &leases, &err) < 0 && !first.code)
				first = err;
	/* Without a connection the fault may last. */
	if (first.code || g->virt)
		fault_say(g->untold, "cannot write migration facts: ", first.text);
}
