/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt's guests: the connection, the running domains, and this host's facts in their live metadata. */
#include "daemon/guests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "domain/domxml.h"
#include "live/migration_facts_live.h"
#include "state/store.h"
#include "sys/log.h"
#include "virt/virt.h"

enum { RETRY_FIRST_MS = 500, RETRY_LAST_MS = 60000 };

struct guest {
	struct domxml *doc;     /* its live XML; NULL: none, or invalid */
	struct domxml *taken;   /* the record of a suspend in `doc`; NULL: none, or invalid */
	struct request nothing; /* for a domain without a vGPU */
};

struct guests {
	const char *uri;
	void (*news)(void *arg);
	void *arg;
	struct virt *virt; /* NULL: no connection */
	char state[256];
	int64_t retry_at;
	int retry_ms;
	/* the last look */
	struct virt_domain *domains; /* the running ones */
	struct guest *guests;        /* one for each */
	struct live_domain *live;    /* likewise */
	size_t n;
};

struct guests *guests_new(const char *uri, void (*news)(void *arg), void *arg)
{
	struct guests *g = mem_new(1, sizeof(*g));

	*g = (struct guests){ .uri = uri, .news = news, .arg = arg, .retry_ms = RETRY_FIRST_MS };
	snprintf(g->state, sizeof(g->state), "not connected to libvirt yet");
	return g;
}

static void forget_guests(struct guests *g)
{
	for (size_t i = 0; i < g->n; i++) {
		domxml_free(g->guests[i].doc);
		domxml_free(g->guests[i].taken);
	}
	free(g->guests);
	free(g->live);
	virt_list_free(g->domains, g->n);
	g->guests = NULL;
	g->live = NULL;
	g->domains = NULL;
	g->n = 0;
}

void guests_free(struct guests *g)
{
	if (!g)
		return;
	forget_guests(g);
	virt_close(g->virt);
	free(g);
}

static void on_event(void *arg, const struct virt_event *event)
{
	const struct guests *g = arg;

	/* After a failed removal nothing has changed. */
	if (event->kind != VIRT_EVENT_REMOVAL_FAILED)
		g->news(g->arg);
}

/* Logs a state only when it is new. */
static void set_state(struct guests *g, const char *text)
{
	if (strncmp(g->state, text, sizeof(g->state) - 1) == 0)
		return;
	snprintf(g->state, sizeof(g->state), "%.255s", text);
	log_info("%s", text);
}

static void hang_up(struct guests *g)
{
	forget_guests(g);
	virt_close(g->virt);
	g->virt = NULL;
	g->retry_at = sys_now_ms() + RETRY_FIRST_MS;
	g->retry_ms = RETRY_FIRST_MS;
}

static int dial(struct guests *g, struct err *err)
{
	int r = virt_open(&g->virt, g->uri, err);

	if (r == 0)
		r = virt_watch(g->virt, on_event, g, err);
	if (r < 0) {
		virt_close(g->virt);
		g->virt = NULL;
	}
	return r;
}

int64_t guests_connect(struct guests *g)
{
	char text[300];
	struct err err;

	if (g->virt && !virt_alive(g->virt)) {
		hang_up(g);
		set_state(g, "connection to libvirt lost");
	}
	if (g->virt)
		return 0;
	if (sys_now_ms() < g->retry_at)
		return g->retry_at;
	if (dial(g, &err) == 0) {
		g->retry_ms = RETRY_FIRST_MS;
		set_state(g, "connected to libvirt");
		g->news(g->arg);
		return 0;
	}
	snprintf(text, sizeof(text), "not connected to libvirt: %.200s", err.text);
	set_state(g, text);
	g->retry_at = sys_now_ms() + g->retry_ms;
	g->retry_ms = g->retry_ms * 2 < RETRY_LAST_MS ? g->retry_ms * 2 : RETRY_LAST_MS;
	return g->retry_at;
}

const char *guests_state(const struct guests *g)
{
	return g->state;
}

/* Reads what a running domain asks for, if libvirt returns its XML. */
static void read_guest(struct guests *g, size_t i)
{
	const struct virt_domain *domain = &g->domains[i];
	struct guest *guest = &g->guests[i];
	size_t len = domain->xml ? strlen(domain->xml) : 0;
	struct err err;

	memcpy(g->live[i].uuid, domain->uuid, UUID_SIZE);
	g->live[i].settled = domain->settled;
	/* XML without a vGPU or PCI device is not parsed, and its request is empty, not NULL. Any VF may be a vGPU. */
	if (domain->xml && !domxml_concerns(domain->xml, len) && !domxml_has_pci(domain->xml, len))
		g->live[i].request = &guest->nothing;
	else if (domain->xml && domxml_parse(&guest->doc, domain->xml, len, DOMXML_ALL_PCI, &err) == 0)
		g->live[i].request = domxml_request(guest->doc);
	if (domain->xml && strstr(domain->xml, DOMXML_SUSPENDED_NS) &&
	    domxml_parse(&guest->taken, domain->xml, len, DOMXML_SUSPENDED, &err) == 0)
		g->live[i].taken = domxml_request(guest->taken);
	memcpy(guest->nothing.uuid, domain->uuid, UUID_SIZE);
}

/* xml NULL: libvirt does not return it now, so it may name any of the IDs. */
static void mark_named(const char *xml, const char *const *ids, bool *named, size_t n)
{
	for (size_t i = 0; i < n; i++)
		named[i] |= !xml || strcasestr(xml, ids[i]);
}

static void ask_of(struct guests *g, const struct virt_domain *domain, const char *const *ids, bool *named, size_t n)
{
	autofree char *config = NULL;
	struct err ignored;

	mark_named(domain->xml, ids, named, n);
	if (!domain->running || !domain->persistent)
		return;
	if (virt_xml(g->virt, domain->uuid, VIRT_CONFIG, &config, &ignored) < 0)
		config = NULL;
	mark_named(config, ids, named, n);
}

void guests_named(void *guests, const char *const *ids, bool *named, size_t n)
{
	struct guests *g = guests;
	struct virt_domain *all;
	struct err ignored;
	size_t found;

	if (!g->virt || !virt_alive(g->virt) || virt_list(g->virt, false, &all, &found, &ignored) < 0) {
		mark_named(NULL, ids, named, n);
		return;
	}
	for (size_t i = 0; i < found; i++)
		ask_of(g, &all[i], ids, named, n);
	virt_list_free(all, found);
}

int guests_look(struct guests *g, const struct live_domain **domains, size_t *n)
{
	struct err err;
	int r;

	*domains = NULL;
	*n = 0;
	forget_guests(g);
	if (!g->virt || !virt_alive(g->virt))
		return -ENOTCONN;
	r = virt_list(g->virt, true, &g->domains, &g->n, &err);
	if (r < 0) {
		log_warn("cannot list the running domains: %s", err.text);
		return r;
	}
	g->guests = mem_new(g->n + 1, sizeof(*g->guests));
	g->live = mem_new(g->n + 1, sizeof(*g->live));
	for (size_t i = 0; i < g->n; i++)
		read_guest(g, i);
	*domains = g->live;
	*n = g->n;
	return 0;
}

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

void guests_tell(void *guests, const struct store *store, const struct inventory *inv)
{
	struct guests *g = guests;
	struct host_facts facts = { .inv = *inv };
	struct err err;
	size_t first = 0;

	while (first < g->n && !has_facts(g, first))
		first++;
	if (first == g->n || !g->virt || !virt_alive(g->virt))
		return;
	/* Read the leases again, because the pass has changed some. */
	if (lease_list(store, &facts.leases, &err) < 0)
		log_warn("cannot read migration facts: %s", err.text);
	else
		for (size_t i = first; i < g->n && virt_alive(g->virt); i++)
			if (has_facts(g, i))
				write_facts(g, i, &facts);
	lease_list_free(&facts.leases);
}
