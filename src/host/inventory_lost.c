/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lost VFs: VFs that carry no mdev and cannot create one, although other VFs of the card can. A VF is lost for good if
 * its vGPU was removed before the driver had finished with the vGPU, and for a moment if vgpu-mgr releases the vGPU
 * late. If the VF that is asked for the card's offers is lost, the card seems to offer nothing.
 *
 * Only then are other VFs asked, one after another, if the vGPUs on the card leave capacity, and for at most the time
 * that a driver has for one answer. That is enough for a start. A read of all types is shown to people, so it asks
 * every free VF.
 */
#include <errno.h>

#include "base/auto.h"
#include "internal.h"
#include "sys/timed_child.h"

/* The share of a card that one vGPU takes; 0 if not known. */
static double share_of(const struct inv_type *type)
{
	return type && type->max_instance > 0 ? 1.0 / type->max_instance : 0;
}

static double share_in_use(const struct inventory *inv, const struct inv_pgpu *pgpu)
{
	double share = 0;

	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, pgpu, d));) {
		const struct inv_offer *offer = inventory_offer(pgpu, d->vgpu.type);

		share += offer ? share_of(offer->type) : 0;
	}
	return share;
}

static bool offers_any(const struct inv_pgpu *pgpu)
{
	for (size_t i = 0; i < pgpu->noffers; i++)
		if (pgpu->offers[i].available > 0)
			return true;
	return false;
}

static bool has_capacity(const struct inv_pgpu *pgpu, double left)
{
	for (size_t i = 0; i < pgpu->noffers; i++)
		if (share_of(pgpu->offers[i].type) <= left)
			return true;
	return false;
}

/* How many instances of the type the VF with the directory `dir` offers now; negative: not known. */
static int ask(struct inv_pgpu *pgpu, int dir, const char *type)
{
	int n = inv_read_available(pgpu->address, dir, type);

	if (n == -ETIMEDOUT)
		inv_silent(pgpu);
	return n;
}

/* Takes over the VF's offers as the card's; leaves out types that do not fit into the share `left` of the card. */
static void ask_vf(struct inv_reader *reader, struct inv_pgpu *pgpu, const struct inv_parent *vf, double left)
{
	autoclose int dir = inv_open_parent(reader->host, vf->name);

	for (size_t i = 0; i < pgpu->noffers && dir >= 0 && pgpu->ready; i++) {
		const struct inv_type *type = pgpu->offers[i].type;
		int n = share_of(type) <= left ? ask(pgpu, dir, type->id) : 0;

		if (n > 0)
			pgpu->offers[i].available = n;
	}
}

/* Asks the VFs after the first free one, which was asked already. */
static void ask_others(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	struct inv_parent **parents = pgpu->parents;
	/* The margin allows for the rounding of shares such as thirds. */
	double left = 1.000001 - share_in_use(reader->inv, pgpu);
	int64_t end_ms = sys_now_ms() + BOUNDED_ANSWER_MS;
	int vf = 0;

	if (!has_capacity(pgpu, left))
		return;
	while (vf < pgpu->nparents && !inv_is_free_vf(parents[vf]))
		vf++;
	while (++vf < pgpu->nparents && pgpu->ready && !offers_any(pgpu) && sys_now_ms() < end_ms)
		if (inv_is_free_vf(parents[vf]))
			ask_vf(reader, pgpu, parents[vf], left);
	/* `vf` is one past the VF that offers something. */
	for (int i = 0; i < vf - 1 && offers_any(pgpu); i++)
		parents[i]->lost = inv_is_free_vf(parents[i]);
}

/* If one free VF can create a type, a free VF that cannot create it is lost. */
static void ask_all(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	struct inv_parent **parents = pgpu->parents;
	int64_t end_ms = sys_now_ms() + BOUNDED_ANSWER_MS;
	const char *type = NULL;

	for (size_t i = 0; i < pgpu->noffers && !type; i++)
		if (pgpu->offers[i].available > 0)
			type = pgpu->offers[i].type->id;
	for (int i = 0; type && i < pgpu->nparents && pgpu->ready && sys_now_ms() < end_ms; i++) {
		if (!inv_is_free_vf(parents[i]) || parents[i]->lost)
			continue;
		autoclose int dir = inv_open_parent(reader->host, parents[i]->name);
		parents[i]->lost = dir >= 0 && ask(pgpu, dir, type) == 0;
	}
}

void inv_find_lost(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	if (!pgpu->sriov)
		return;
	if (pgpu->ready && pgpu->noffers && !offers_any(pgpu))
		ask_others(reader, pgpu);
	if (!reader->query->types)
		ask_all(reader, pgpu);
}
