/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operator's gc, also beside the start of a domain whose vGPU it removes. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/random/world.h"
#include "ops/gc.h"
#include "state/history.h"

static void collect(void)
{
	struct store store;
	struct gc pass = { .store = &store, .config = &world.config, .policy = &world.config.policy };
	struct err err;

	if (store_open(&store, &world.tree.host, true, &err) < 0 || gc_run(&pass, &err) < 0)
		fake_broken("gc fails: %s", err.text);
	gc_free(&pass);
	store_close(&store);
}

static void remember(const char *parent, const struct domain *d)
{
	struct lease had = { .origin = LEASE_ADOPTED };
	struct store store;
	struct err err;

	text_copy(had.vgpu.id, sizeof(had.vgpu.id), d->req[0]);
	text_copy(had.vgpu.type, sizeof(had.vgpu.type), d->type[0]);
	text_copy(had.vgpu.parent, sizeof(had.vgpu.parent), parent);
	if (store_open(&store, &world.tree.host, true, &err) == 0)
		affinity_put(&store, &had, true);
	store_close(&store);
}

/* Somebody made the domain's vGPU for a guest, and forgets it: an orphan of this UUID. */
static bool make_orphan(const struct domain *d)
{
	char parent[PARENT_SIZE];

	if (d->runs || d->command || fake_device(d->req[0]) || is_leased(d->req[0]))
		return false;
	for (int card = 0; card < FAKE_CARDS; card++) {
		snprintf(parent, sizeof(parent), "%s", fake_cards[card].address);
		if (fake_cards[card].nvfs)
			parent[strlen(parent) - 1] = (char)('4' + pick(fake_cards[card].nvfs));
		if (strcmp(fake_cards[card].types[0].id, d->type[0]) == 0 &&
		    fake_create(parent, d->type[0], d->req[0]) == 0) {
			remember(parent, d);
			return true;
		}
	}
	return false;
}

static struct domain *starter;

static void start_meanwhile(void)
{
	say(" [meanwhile: ");
	fake_process();
	/* It can be refused as the pass holds a lock: that goes on when this has ended. */
	fake->met = true;
	op_prepare(starter);
	say("]");
}

/* A pass; or, of a domain, one beside its start, where that pass removes its vGPU as an orphan. */
void op_collect(struct domain *d)
{
	say("gc");
	if (d && pick(2) && make_orphan(d)) {
		say(" of %s", d->req[0]);
		collect();
		fake->now_ms += (world.config.policy.reclaim_grace_s + 1) * 1000;
		fake_process();
		starter = d;
		fake_meanwhile = start_meanwhile;
		fake->meanwhile_at = 1 + pick(80);
	}
	collect();
	fake->meanwhile_at = 0;
}
