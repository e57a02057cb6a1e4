/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases without a device in the inventory: is the device absent? For a VF its driver must be asked, which may take its
 * time or hang. It is asked before the store's lock is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "device/kernel.h"
#include "internal.h"
#include "state/lease_store.h"
#include "survey/reclaim.h"

/* A VF that was asked for, by the lease as it was then. */
struct asked_vf {
	struct lease lease;
	bool at_work; /* somebody was at work on it, before it was asked for */
	enum presence exists;
};

void survey_drop_asked(struct survey *s)
{
	free(s->asked_vfs);
	s->asked_vfs = NULL;
	s->nasked_vfs = 0;
}

/* Its device would be in the inventory, and is not. */
static bool is_unlisted(const struct survey *s, const struct lease *lease)
{
	return s->inv.frameworks & 1U << lease->vgpu.framework && !inventory_device(&s->inv, lease->vgpu.id);
}

bool survey_counts(const struct survey *s, const struct lease *lease)
{
	/* Of a card that was left out on purpose, as no other than those of the request can serve, nothing is asked. */
	return is_unlisted(s, lease) &&
	       (!s->some_cards || lease->vgpu.framework == FW_MDEV || inventory_pgpu(&s->inv, lease->vgpu.pgpu));
}

bool survey_writes(const struct survey *s, const struct lease *lease)
{
	/* The handler, which marks releases, lives on when it has done what it could: only the lock tells. */
	return lease->state == LEASE_RELEASING
		       ? store_locked(s->store, lease->vgpu.pgpu) || store_removes(s->store, lease->vgpu.id)
		       : reclaim_at_work(s->store, lease);
}

static void ask(struct survey *s, const struct leases *leases)
{
	for (size_t i = 0; i < leases->n; i++) {
		const struct lease *lease = &leases->list[i];
		struct asked_vf *vf;

		if (lease->vgpu.framework != FW_VARIANT || !is_unlisted(s, lease) ||
		    (lease->state == LEASE_ACTIVE && !survey_counts(s, lease)))
			continue;
		vf = mem_add(&s->asked_vfs, &s->nasked_vfs, sizeof(*vf));
		vf->lease = *lease;
		vf->at_work = survey_writes(s, lease);
		vf->exists = kernel_presence(s->host, &lease->vgpu);
	}
}

int survey_ask(struct survey *s, struct err *err)
{
	autoleases struct leases leases = { 0 };

	survey_drop_asked(s);
	if (s->depth != SURVEY_START) {
		ask(s, &s->before);
		return 0;
	}
	/* Read after the host: a lease that is written from now on is written before its device is created. */
	if (s->inv.frameworks & INV_VARIANT && lease_list(s->store, &leases, err) < 0)
		return -err->code;
	ask(s, &leases);
	return 0;
}

static const struct asked_vf *find_asked(const struct survey *s, const char *id)
{
	for (size_t i = 0; i < s->nasked_vfs; i++)
		if (strcmp(s->asked_vfs[i].lease.vgpu.id, id) == 0)
			return &s->asked_vfs[i];
	return NULL;
}

enum presence survey_presence(const struct survey *s, const struct lease *lease)
{
	const struct asked_vf *vf;

	if (inventory_device(&s->inv, lease->vgpu.id))
		return PRESENT;
	if (!is_unlisted(s, lease))
		return PRESENCE_UNKNOWN;
	/* The inventory may be older than the lock, and the device made since: it is looked for once more. */
	if (lease->vgpu.framework != FW_VARIANT)
		return kernel_presence(s->host, &lease->vgpu);
	vf = find_asked(s, lease->vgpu.id);
	return vf && !vf->at_work && lease_same(&vf->lease, lease) ? vf->exists : PRESENCE_UNKNOWN;
}

bool survey_overtaken(const struct survey *s, const struct lease *lease)
{
	const struct asked_vf *vf;
	const struct inv_pgpu *card;

	if (lease->vgpu.framework != FW_VARIANT)
		return kernel_presence(s->host, &lease->vgpu) != ABSENT;
	/* Of a card that is not ready nothing is given out, and another read would find out no more. */
	card = inventory_pgpu(&s->inv, lease->vgpu.pgpu);
	vf = find_asked(s, lease->vgpu.id);
	return vf && vf->exists != ABSENT && (!card || card->ready);
}
