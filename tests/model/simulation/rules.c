/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must hold whatever happened, at each change of a device or lease, each answer of the hook, and the end. */

#include "model/simulation/world.h"

enum { REFUSAL_LEAST = 40 };

static bool has(const struct domain *d, const char *id)
{
	for (int w = 0; w < d->nvgpus; w++)
		if (!d->unplugged[w] && strcmp(d->req[w], id) == 0)
			return true;
	return false;
}

static const struct domain *user_of(const char *id, const struct domain *but)
{
	for (int i = 0; i < DOMAINS; i++) {
		const struct domain *d = &world_now.domains[i];

		if (d != but && d->needs && has(d, id))
			return d;
	}
	return NULL;
}

static bool is_of(const struct lease *lease, const struct domain *d)
{
	return strcmp(lease->domain, d->uuid) == 0;
}

static int cap(int card, int type)
{
	const struct section *s = config_section(&world_now.config, cards[card].types[type].id);

	return s && s->max_instances != NO_LIMIT ? s->max_instances : INT_MAX;
}

/* A plain VF is always there. */
static bool has_device(const char *id)
{
	const struct device *device = device_find(id);

	return device && cards[device->card].framework != FW_VF;
}

/* Nothing stands behind it: an expired reservation, or a creation whose process and its child have ended. */
static bool is_void(const struct lease *l)
{
	const struct process *writer = process_find(l->writer);

	if (l->state == LEASE_RESERVED)
		return l->deadline_ms < now_ms();
	return l->state == LEASE_CREATING && writer && writer->ended && !writer->children && !has_device(l->vgpu.id);
}

static bool is_vf_free(const char *id)
{
	const struct lease *lease = ledger_find(id);
	const struct device *device = device_find(id);

	return card_find(id) >= 0 && (!lease || is_void(lease)) && !has_device(id) && !(device && device->opener);
}

/* Is there a card with capacity for the domain's first vGPU, whichever way one counts? */
static bool has_room(const struct domain *d)
{
	if (is_vf(d->req[0]) && !is_vf_free(d->req[0]))
		return false;
	for (int c = 0; c < CARDS; c++) {
		int space = card_free(c, 0), count = card_count(c, 0);

		/* The first type of each card is the one that it serves. */
		if (strcmp(cards[c].types[0].id, d->type[0]) != 0 || troubled[c])
			continue;
		for (size_t i = 0; i < ledger.n; i++) {
			const struct lease *l = &ledger.list[i];

			if (strcmp(l->vgpu.pgpu, cards[c].address) != 0 || has_device(l->vgpu.id) || is_void(l))
				continue;
			/* A promise of another framebuffer size holds the whole card. */
			space = cards[c].nvidia && strcmp(l->vgpu.type, d->type[0]) != 0 ? 0 : space - 1;
			count++;
		}
		if (space > 0 && count < cap(c, 0))
			return true;
	}
	return false;
}

/* What the hook has to see through when it begins. */
void rules_called(struct call *call)
{
	for (int w = 0; w < call->domain->nvgpus; w++) {
		const struct lease *l = ledger_find(call->ids[w]);

		call->void_ms[w] = l && is_void(l) ? l->since_ms : -1;
	}
	rules_room();
}

/* Which starts have no capacity at this instant? */
void rules_room(void)
{
	struct call *call;

	for (int i = 0; (call = hook_running(i)); i++)
		if (call->op == PREPARE && !call->no_room && !call->process->ended)
			call->no_room = !has_room(call->domain);
}

static void check_origin(const struct lease *lease)
{
	const struct device *device = device_find(lease->vgpu.id);

	if (!device || !device->ours || lease->state == LEASE_RESERVED)
		return;
	if (lease->origin != LEASE_CREATED)
		broken("%s is ours, and its lease says that somebody else made it", device->uuid);
	if (strcmp(lease->vgpu.parent, device->parent) != 0)
		broken("%s is on %s, and its lease says %s", device->uuid, device->parent, lease->vgpu.parent);
}

/* How many of this card (of one type, or -1) somebody else has made since then: nobody could know of them. */
static int made_since(const struct device *device, int type, int64_t ms)
{
	int n = 0;

	for (int i = 0; i < DEVICES; i++)
		n += *devices[i].uuid && devices[i].card == device->card && !devices[i].ours &&
		     (type < 0 || devices[i].type == type) && devices[i].made_ms >= ms;
	return n;
}

void rules_made(const struct device *device)
{
	const struct lease *lease = ledger_find(device->uuid);
	int card = device->card, type = device->type, most = cap(card, type);

	if (!lease)
		broken("%s is made without a lease", device->uuid);
	check_origin(lease);
	/* The child that writes has asked for the capacity itself; what the configuration allows was found before. */
	if (card_free(card, type) < 0 && !made_since(device, -1, self->began_ms))
		broken("%s is made on %s beyond its capacity", device->uuid, device->parent);
	if (card_count(card, type) - made_since(device, type, self->parent->began_ms) > most)
		broken("%s is made on %s beyond the cap of %d", device->uuid, device->parent, most);
	rules_room();
}

/* Has somebody else the device of a start that was told of it, that goes on, and that libvirt waits for? */
static void check_maker(const struct device *device)
{
	const struct lease *lease = ledger_find(device->uuid);
	const struct call *call;

	if (!device->maker || device->maker->ended || self->parent == device->maker ||
	    (lease && lease->state == LEASE_RELEASING && lease->writer == device->maker->pid))
		return;
	for (int i = 0; (call = hook_running(i)); i++)
		if (call->process == device->maker && hook_is_last(call))
			broken("%s is taken from %s, which has made it", device->uuid, call->process->what);
}

/* A VF that somebody has given another type is not what the lease is about. */
static bool has_other_type(const struct device *device, const struct lease *lease)
{
	const struct card *card = &cards[device->card];

	return card->framework == FW_VARIANT && strcmp(card->types[device->type].id, lease->vgpu.type) != 0;
}

void rules_removing(const struct device *device)
{
	const struct lease *lease = ledger_find(device->uuid);
	const struct domain *user = user_of(device->uuid, NULL);
	int64_t idle_ms = now_ms() - device->since_ms;

	if (user)
		broken("%s is removed, which %s needs", device->uuid, user->name);
	if (device->opener >= QEMU_FIRST)
		broken("%s is removed, which QEMU %d has open", device->uuid, device->opener);
	if (!device->ours && !device->doubtful && idle_ms < (int64_t)world_now.config.policy.reclaim_grace_s * 1000)
		broken("%s is removed, which somebody else made, or used, %lld s ago", device->uuid,
		       (long long)idle_ms / 1000);
	if (lease && has_other_type(device, lease))
		broken("%s is removed, whose lease is of another type", device->uuid);
	check_maker(device);
}

static void check_refusal(const struct call *call)
{
	const struct domain *d = call->domain;
	const struct err *err = &call->err;
	bool named = false;

	for (int w = 0; w < d->nvgpus; w++)
		named |= strstr(err->text, call->ids[w]) != NULL;
	/* A look that was killed, and a lock that is not free in time, concern no one vGPU. */
	named |= err->code == EINTR || err->code == ETIMEDOUT;
	if (!named || strlen(err->text) < REFUSAL_LEAST)
		broken("the refusal does not name the device and the cause: %s", err->text);
	/* Time was up, as a driver or others took it. */
	if (self->bereft || strstr(err->text, "held by process") || strstr(err->text, "no-time-is-left"))
		return;
	/* Somebody has opened the new vGPU before it had its parameters. */
	if (strstr(err->text, "parameters can be set only before it starts"))
		return;
	if (err->code == ESTALE && hook_is_last(call))
		broken("nobody has released it: %s", err->text);
	for (int w = 0; w < d->nvgpus; w++) {
		const struct lease *l = ledger_find(call->ids[w]);
		int card = l ? card_find(l->vgpu.pgpu) : -1;

		if (card >= 0 && l->since_ms == call->void_ms[w] && !is_of(l, d) && !troubled[card])
			broken("refused for a lease that was void all the time: %s", err->text);
	}
	if (strstr(err->text, "no capacity") && d->nvgpus == 1 && !call->no_room && has_room(d))
		broken("refused although there was capacity all the time: %s", err->text);
}

static void check_given(const struct call *call, int w)
{
	const struct domain *d = call->domain, *other = user_of(d->req[w], d);
	const struct lease *lease = ledger_find(d->req[w]);
	const struct device *device = device_find(d->req[w]);

	if (other)
		broken("%s is given to %s, and %s needs it", d->req[w], d->name, other->name);
	if (!device)
		broken("%s is given to %s, and is not there", d->req[w], d->name);
	if (device->opener && device->opener != d->pid && device->opened_ms < call->process->began_ms)
		broken("%s is given to %s, and process %d has had it open all the time", d->req[w], d->name,
		       device->opener);
	if (!lease || !is_of(lease, d) || lease->state != LEASE_ACTIVE)
		broken("%s is given to %s, and its lease is %s", d->req[w], d->name,
		       !lease             ? "missing"
		       : !is_of(lease, d) ? "another's"
					  : lease_state_words[lease->state]);
}

void rules_prepared(struct call *call, int r)
{
	struct domain *d = call->domain;

	if (r < 0)
		check_refusal(call);
	if (r < 0 || !hook_is_last(call))
		return;
	for (int w = 0; w < d->nvgpus; w++)
		if (call->only < 0 || call->only == w) {
			check_given(call, w);
			d->unplugged[w] = false;
		}
	d->needs = true;
	d->lost = false;
}

void rules_reserved(const struct call *call)
{
	for (int w = 0; w < call->domain->nvgpus && hook_is_last(call); w++) {
		const struct lease *lease = ledger_find(call->ids[w]);

		if (!lease || !is_of(lease, call->domain))
			broken("%s arrives, but %s is %s", call->domain->name, call->ids[w],
			       lease ? "another's" : "not reserved");
	}
}

static void put(const struct lease *lease)
{
	size_t i = 0;

	while (i < ledger.n && strcmp(ledger.list[i].vgpu.id, lease->vgpu.id) != 0)
		i++;
	if (i == ledger.n) {
		struct lease *list = reallocarray(ledger.list, ++ledger.n, sizeof(*list));

		if (!list)
			abort();
		ledger.list = list;
	}
	ledger.list[i] = *lease;
}

/* Whoever has marked a lease may take that back, but not of a domain that has ended meanwhile. */
static void check_revived(const struct lease *was, const struct lease *lease)
{
	const struct call *call;

	if (was->state != LEASE_RELEASING || lease->state != LEASE_ACTIVE)
		return;
	for (int i = 0; i < DOMAINS; i++)
		if (is_of(lease, &world_now.domains[i]) && (world_now.domains[i].needs || world_now.domains[i].runs))
			return;
	for (int i = 0; (call = hook_running(i)); i++)
		if (!call->process->ended && is_of(lease, call->domain) && call->op == PREPARE)
			return;
	broken("the lease of %s is active again, of %s, which has ended", lease->vgpu.id, lease->name);
}

/* A lease that a domain has, as it needs the vGPU, changes for nobody. */
static void check_change(const struct lease *was, const struct lease *lease)
{
	const struct domain *user = user_of(was->vgpu.id, NULL);

	if (!user || !is_of(was, user) || was->state != LEASE_ACTIVE || user->lost)
		return;
	if (!lease)
		broken("the lease of %s is dropped, which %s needs", was->vgpu.id, user->name);
	if (!is_of(lease, user) || lease->state == LEASE_RELEASING)
		broken("the lease of %s becomes %s of %s, and %s needs it", was->vgpu.id,
		       lease_state_words[lease->state], lease->name, user->name);
}

void ledger_written(int dir, const char *name)
{
	const struct lease *was = ledger_find(name);
	struct device *device = device_find(name);
	struct lease lease;
	char text[8192];
	ssize_t n;

	if (!ledger_is(dir, name))
		return;
	quiet++;
	n = sys_read(dir, name, text, sizeof(text));
	quiet--;
	if (n < 0 || lease_parse(&lease, text) < 0)
		broken("the lease of %s cannot be read: %s", name, text);
	say("lease of %s: %s of %s, %s", name, lease_state_words[lease.state], lease.name,
	    lease_origin_words[lease.origin]);
	if (was)
		check_change(was, &lease);
	if (was)
		check_revived(was, &lease);
	if (was && was->state == LEASE_CREATING && lease.state == LEASE_RESERVED &&
	    (strcmp(was->vgpu.pgpu, lease.vgpu.pgpu) != 0 || strcmp(was->vgpu.type, lease.vgpu.type) != 0))
		broken("%s is reserved again on %s, where others may have taken its place", name, lease.vgpu.pgpu);
	check_origin(&lease);
	/* Whoever finds a creation that was broken off cannot tell who made the device. */
	if (device && !device->ours && !has_other_type(device, &lease) &&
	    (lease.state == LEASE_CREATING || (was && was->state == LEASE_CREATING)))
		device->doubtful |= profile.kill || profile.fails || world_now.alone || lease.state == LEASE_RELEASING;
	put(&lease);
	rules_room();
}

void ledger_forget(const char *id)
{
	const struct lease *lease = ledger_find(id);

	if (!lease)
		return;
	ledger.list[lease - ledger.list] = ledger.list[ledger.n - 1];
	ledger.n--;
	rules_room();
}

void ledger_dropped(int dir, const char *name)
{
	const struct lease *lease = ledger_is(dir, name) ? ledger_find(name) : NULL;
	const struct device *device = device_find(name);

	if (!lease)
		return;
	say("lease of %s: dropped", name);
	check_change(lease, NULL);
	if (device && device->ours)
		broken("the lease of %s is dropped, and its device is ours and there", name);
	ledger_forget(name);
}

void rules_restored(struct domain *d)
{
	d->lost = false;
	for (int w = 0; w < d->nvgpus; w++)
		if (!ledger_find(d->req[w])) {
			d->lost = true;
			if (!profile.fails)
				broken("the lost lease of %s is not restored", d->req[w]);
		}
}

void rules_always(void)
{
	for (int i = 0; i < DOMAINS; i++) {
		const struct domain *d = &world_now.domains[i];

		for (int w = 0; d->needs && w < d->nvgpus; w++) {
			const struct lease *lease = ledger_find(d->req[w]);

			if (d->unplugged[w])
				continue;
			if (!device_find(d->req[w]))
				broken("%s needs %s, which is not there", d->name, d->req[w]);
			if (!d->lost && (!lease || !is_of(lease, d)))
				broken("%s needs %s, which is not leased to it", d->name, d->req[w]);
		}
	}
}

void rules_finish(void)
{
	char path[128];
	const struct dirent *entry;
	DIR *dir;

	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && devices[i].ours)
			broken("in the end %s of ours is left", devices[i].uuid);
	snprintf(path, sizeof(path), "%s/run/vgpu-lease/leases", world_now.tree.path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			broken("in the end the file leases/%s is left", entry->d_name);
	if (dir)
		closedir(dir);
}
