/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of the random test: what must hold, whatever was done before. */
#include <dirent.h>
#include <errno.h>

#include "state/lease_store.h"
#include "model/random/world.h"

/* Does it need its vGPUs: does it run, or is a command about to have libvirt start it? */
static bool needs(const struct domain *d)
{
	return d->runs || d->command;
}

static const struct domain *runner_of(const char *id, const struct domain *but)
{
	for (int i = 0; i < DOMAINS; i++) {
		const struct domain *d = &world.domains[i];

		for (int w = 0; needs(d) && d != but && w < d->nvgpus; w++)
			if (!d->unplugged[w] && strcmp(d->req[w], id) == 0)
				return d;
	}
	return NULL;
}

const char *rules_may_remove(const struct fake_device *device)
{
	int64_t idle_ms = fake->now_ms - device->since_ms;

	if (runner_of(device->uuid, NULL))
		return "a domain runs with it";
	if (device->ours)
		return NULL;
	if (idle_ms < (int64_t)world.config.policy.reclaim_grace_s * 1000)
		return "somebody else made it, or used it, within reclaim_grace";
	return NULL;
}

int rules_cap(int card, int type)
{
	const struct section *s = config_section(&world.config, fake_cards[card].types[type].id);

	return s && s->max_instances != NO_LIMIT ? s->max_instances : INT_MAX;
}

static void read_leases(struct leases *leases)
{
	struct store store;
	struct err err;

	if (store_open(&store, &world.tree.host, false, &err) < 0 || lease_list(&store, leases, &err) < 0)
		fake_broken("the leases cannot be read: %s", err.text);
	else if (leases->garbage)
		fake_broken("%d leases cannot be understood", leases->garbage);
	store_close(&store);
}

static void check_runner(const struct domain *d, const struct leases *leases)
{
	for (int w = 0; w < d->nvgpus; w++) {
		const struct lease *lease = lease_find(leases, d->req[w]);

		if (d->unplugged[w])
			continue;
		if (!fake_device(d->req[w]))
			fake_broken("%s runs, but its vGPU %s is not there", d->name, d->req[w]);
		else if (!lease)
			fake_broken("%s runs, but its vGPU %s is not leased", d->name, d->req[w]);
		else if (strcmp(lease->domain, d->uuid) != 0)
			fake_broken("%s runs, but its vGPU %s is leased to %s", d->name, d->req[w], lease->name);
		else if (lease->state != LEASE_ACTIVE)
			fake_broken("%s runs, but the lease of %s is %s", d->name, d->req[w],
				    lease_state_word(lease->state));
	}
}

/* What we made has a lease that says so, and says where it is. */
static void check_ours(const struct fake_device *device, const struct leases *leases)
{
	const struct lease *lease = lease_find(leases, device->uuid);

	if (!lease)
		fake_broken("%s is ours, and not leased", device->uuid);
	else if (lease->state != LEASE_RESERVED && lease->origin != LEASE_CREATED)
		fake_broken("%s is ours, and its lease says that somebody else made it", device->uuid);
	else if (strcmp(lease->vgpu.parent, device->parent) != 0)
		fake_broken("%s is on %s, and its lease says %s", device->uuid, device->parent, lease->vgpu.parent);
}

void rules_always(void)
{
	struct leases leases = { 0 };

	read_leases(&leases);
	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*fake->devices[i].uuid && fake->devices[i].ours)
			check_ours(&fake->devices[i], &leases);
	for (int i = 0; i < DOMAINS; i++)
		if (needs(&world.domains[i]))
			check_runner(&world.domains[i], &leases);
	lease_list_free(&leases);
}

/* Is there a card with capacity for one more of this type, whichever way one counts? Nothing is in flight. */
static bool has_room(const char *type, const struct leases *leases)
{
	for (int c = 0; c < FAKE_CARDS; c++) {
		const struct fake_card *card = &fake_cards[c];
		int space, count;

		/* The first type of each card is the one that it serves. */
		if (strcmp(card->types[0].id, type) != 0)
			continue;
		space = fake_free(c, 0);
		count = fake_count(c, 0);
		for (size_t i = 0; i < leases->n; i++) {
			const struct lease *l = &leases->list[i];

			if (strcmp(l->vgpu.pgpu, card->address) == 0 && !fake_device(l->vgpu.id)) {
				space--;
				count++;
			}
		}
		if (space > 0 && count < rules_cap(c, 0))
			return true;
	}
	return false;
}

static void check_refusal(const struct domain *d, const struct err *err)
{
	struct leases leases = { 0 };
	bool named = false;

	for (int w = 0; w < d->nvgpus; w++)
		named |= strstr(err->text, d->req[w]) != NULL;
	if (!named || strlen(err->text) < 40)
		fake_broken("the refusal does not name the device and the cause: %s", err->text);
	read_leases(&leases);
	if (err->code == ENOSPC && d->nvgpus == 1 && !fake->met && fake->nlate == 0 && has_room(d->type[0], &leases))
		fake_broken("refused although there is capacity: %s", err->text);
	lease_list_free(&leases);
}

void rules_prepare(const struct domain *d, int r, const struct err *err)
{
	struct leases leases = { 0 };

	if (r < 0) {
		check_refusal(d, err);
		return;
	}
	for (int w = 0; w < d->nvgpus; w++) {
		const struct domain *other = runner_of(d->req[w], d);
		const struct fake_device *device = fake_device(d->req[w]);

		if (other)
			fake_broken("%s was given to %s while %s runs with it", d->req[w], d->name, other->name);
		/* That one opened it after all was done. */
		if (device && device->opener && device->opener != FAKE_GRABBER)
			fake_broken("%s was given to %s while process %d has it open", d->req[w], d->name,
				    device->opener);
	}
	read_leases(&leases);
	check_runner(d, &leases);
	lease_list_free(&leases);
}

void rules_reserve(const struct domain *d, int r, const struct err *err)
{
	struct leases leases = { 0 };

	if (r < 0) {
		check_refusal(d, err);
		return;
	}
	read_leases(&leases);
	for (int w = 0; w < d->nvgpus; w++) {
		const struct lease *lease = lease_find(&leases, d->req[w]);

		if (!lease || strcmp(lease->domain, d->uuid) != 0)
			fake_broken("%s arrives, but %s is %s", d->name, d->req[w],
				    lease ? "another's" : "not reserved");
	}
	lease_list_free(&leases);
}

void rules_finish(void)
{
	char path[128];
	const struct dirent *entry;
	DIR *dir;

	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*fake->devices[i].uuid && fake->devices[i].ours)
			fake_broken("in the end %s of ours is left", fake->devices[i].uuid);
	snprintf(path, sizeof(path), "%s/run/vgpu-lease/leases", world.tree.path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			fake_broken("in the end the file leases/%s is left", entry->d_name);
	if (dir)
		closedir(dir);
}
