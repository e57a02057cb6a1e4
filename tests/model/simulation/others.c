/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device handler; the operator's gc; a manager of vGPUs, as Nova, that knows of no leases but its guests'. */
#include "handler/handler.h"
#include "model/simulation/world.h"
#include "act/gc.h"
#include "lib/vgpu.h"

static void open_store(struct store *store)
{
	struct err err;

	if (store_open(store, &world_now.tree.host, true, &err) < 0)
		broken("no store: %s", err.text);
}

/* What gc does, or with what is plugged in a pass of the handler. */
static void pass(struct store *store, struct leases *plugged)
{
	autogc struct gc gc = { .world = { .store = store, .config = &world_now.config }, .seen = plugged };
	struct err err;

	if (gc_judge(&gc, &err) < 0)
		say("the pass fails: %s", err.text);
	else
		gc_finish(&gc);
	for (size_t i = 0; i < gc.nnotes; i++)
		say("%s", gc.notes[i]);
	for (size_t i = 0; i < gc.n; i++)
		say("%s: %s %s", gc.items[i].vgpu.id, gc.items[i].fate.why, gc.items[i].trouble);
}

/* How many releases are left; negative: not known. */
static int finish(struct store *store, struct leases *unfinished)
{
	struct err err;
	int r = finisher_finish(store, &world_now.config.policy, unfinished, &err);

	if (r < 0)
		say("releases are not finished: %s", err.text);
	return r;
}

/* One pass, and its releases, for which a driver may need its clean-up time. */
void pass_of_handler(void *unused)
{
	enum { TRIES = 50, STEP_MS = 100 };
	struct leases plugged = { 0 }, unfinished = { 0 };
	autostore struct store store;

	open_store(&store);
	pass(&store, &plugged);
	for (int i = 0; i < TRIES && finish(&store, &unfinished) > 0; i++)
		nap_ms(STEP_MS);
}

/* The loop and the finisher; the loop's lock says that a handler runs. */
static void handler_loop(void *unused)
{
	struct leases plugged = { 0 };
	struct store store;
	struct err err;

	open_store(&store);
	if (store_lock_handler(&store, -1, 1000, &err) < 0)
		return;
	while (!world_now.over) {
		pass(&store, &plugged);
		nap_ms(pick(20 * profile.pace));
	}
}

static void finisher_loop(void *unused)
{
	struct leases unfinished = { 0 };
	struct store store;

	while (!world_now.over) {
		open_store(&store);
		finish(&store, &unfinished);
		store_close(&store);
		nap_some(5000);
	}
}

void handler_service(void *unused)
{
	while (!world_now.over) {
		struct process *loop = process_start("handler", handler_loop, NULL);
		struct process *finisher = process_start("finisher", finisher_loop, NULL);

		loop->mortal = finisher->mortal = true;
		await(loop);
		process_kill(finisher);
		nap_some(60000);
	}
}

void gc_pass(void *unused)
{
	autostore struct store store;

	open_store(&store);
	pass(&store, NULL);
}

void gc_now_and_then(void *unused)
{
	while (!world_now.over) {
		struct process *p = process_start("gc", gc_pass, NULL);

		p->mortal = true;
		await(p);
		nap_ms(pick(40 * profile.pace));
	}
}

static void remember(const char *parent, const char *type, const char *id)
{
	const struct lease had = { .vgpu = *MDEV(parent, type, id), .origin = LEASE_ADOPTED };
	autostore struct store store;

	open_store(&store);
	affinity_put(&store, &had, true, "");
}

/*
 * In a lease of more than a promise, where nobody can tell later who made the device: of a VF whose lease has the type,
 * or of an mdev that the lease has not seen yet, as the hook was killed before.
 */
static bool is_leased(const char *uuid)
{
	const struct lease *lease = ledger_find(uuid);

	if (!lease || lease->state == LEASE_RESERVED)
		return false;
	return is_vf(uuid) || device_find(uuid) || (!lease->node && (profile.kill || profile.fails));
}

/* Often where a start is about to make one, if that driver makes more than it offers. */
static int pick_card(void)
{
	for (size_t i = 0; i < ledger.n; i++) {
		int card = card_find(ledger.list[i].vgpu.pgpu);

		if (ledger.list[i].state == LEASE_CREATING && card >= 0 && cards[card].careless && once_in(2))
			return card;
	}
	return pick(2) ? pick(CARDS) : CARDS - 1 - pick(2);
}

/* It makes a vGPU, of a domain's UUID or of its own; and may forget it, so that it is an orphan. */
static void nova_makes(const struct domain *d)
{
	char uuid[UUID_SIZE], parent[PARENT_SIZE];
	int card = pick_card(), type = pick(4) ? 0 : 1;
	bool orphan = !d->needs && once_in(3);
	bool variant = cards[card].framework == FW_VARIANT;
	const char *id = cards[card].types[type].id;

	snprintf(uuid, sizeof(uuid), "f0000000-0000-4000-8000-%012d", pick(50));
	if (orphan || once_in(2))
		memcpy(uuid, d->req[0], UUID_SIZE);
	for (size_t i = 0; i < ledger.n && !orphan; i++)
		if (ledger.list[i].state != LEASE_RESERVED && !device_find(ledger.list[i].vgpu.id) && once_in(4))
			memcpy(uuid, ledger.list[i].vgpu.id, UUID_SIZE);
	card_parent(parent, card, cards[card].nvfs ? pick(cards[card].nvfs) : 0);
	if (variant && card_find(uuid) == card)
		text_copy(parent, sizeof(parent), uuid);
	else if (variant)
		text_copy(uuid, sizeof(uuid), parent);
	if (!id || disabled[card] || is_vf(uuid) != variant || (is_leased(uuid) && !(variant && type)) ||
	    device_find(uuid))
		return;
	quiet++;
	say("makes %s on %s: %d", uuid, parent, driver_make(parent, id, uuid));
	if (orphan && device_find(uuid))
		remember(parent, id, uuid);
	quiet--;
}

void nova(void *unused)
{
	while (!world_now.over) {
		struct device *d = &devices[pick(DEVICES)];

		nap_some(5000);
		if (once_in(2)) {
			nova_makes(&world_now.domains[pick(DOMAINS)]);
		} else if (*d->uuid && d->opener == STRANGER) {
			say("closes %s", d->uuid);
			device_close(d);
			d->since_ms = now_ms();
		} else if (*d->uuid && !d->ours && !d->opener && !is_leased(d->uuid)) {
			bool opens = pick(2);

			say("%s %s", opens ? "opens" : "removes", d->uuid);
			if (opens)
				device_open(d, STRANGER);
			else
				driver_unmake(d->uuid);
		}
	}
	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && devices[i].opener == STRANGER)
			device_close(&devices[i]);
}

static bool has_vf_of(char (*ids)[UUID_SIZE], int n, int card)
{
	for (int w = 0; w < n; w++)
		if (card_find(ids[w]) == card)
			return true;
	return false;
}

/* No guest has a VF of the card, or starts with one: of these VFs nobody would take the types away. */
static bool is_idle(int card)
{
	struct call *call;

	for (int i = 0; i < DOMAINS; i++)
		if (world_now.domains[i].needs &&
		    has_vf_of(world_now.domains[i].req, world_now.domains[i].nvgpus, card))
			return false;
	for (int i = 0; (call = hook_running(i)); i++)
		if (!call->process->ended && call->op == PREPARE && has_vf_of(call->ids, call->domain->nvgpus, card))
			return false;
	return true;
}

/* The driver of the VFs is loaded anew, or they are disabled and enabled again. */
void sriov_manage(void *unused)
{
	while (!world_now.over) {
		int card = card_find(pick(2) ? "0000:c1:00.0" : "0000:c2:00.0");

		nap_ms(pick(400 * profile.pace));
		if (!is_idle(card) || !driver_disable(card))
			continue;
		say("disables the VFs of %s", cards[card].address);
		nap_some(3000);
		driver_enable(card);
		say("enables the VFs of %s", cards[card].address);
	}
}
