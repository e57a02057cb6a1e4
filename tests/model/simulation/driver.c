/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cards, their devices, and their files; how long their drivers take. */

#include "model/simulation/world.h"

#define T4_TYPES { { "nvidia-222", 1024, 1 }, { "nvidia-223", 2048, 2 } }
#define L40S_TYPES { { "nvidia-1145", 1024, 1 }, { "nvidia-1146", 2048, 2 } }

const struct card cards[CARDS] = {
	{ FW_MDEV, "0000:84:00.0", "pci0000:80", 6, 0, 0, true, false, T4_TYPES },
	{ FW_MDEV, "0000:85:00.0", "pci0000:80", 6, 0, 1, true, false, T4_TYPES },
	{ FW_MDEV, "0000:41:00.0", "pci0000:40", 3, 4, 0, true, false, { { "nvidia-560", 4096, 1 }, { NULL } } },
	{ FW_VF, "0000:c2:00.0", "pci0000:c0", 2, 2, 0, false, false, { { "gpu", 0, 1 }, { NULL } } },
	{ FW_VARIANT, "0000:c1:00.0", "pci0000:c0", 2, 3, 1, true, false, L40S_TYPES },
	{ FW_MDEV, "mtty", "virtual/mtty", 5, 0, -1, false, true, { { "mtty-2", 0, 2 }, { "mtty-1", 0, 1 } } },
};

enum { CALLS = 16 };

bool troubled[CARDS], disabled[CARDS];
struct device devices[DEVICES];
unsigned device_events;
/* The kernel takes the UUID, and the instance, before it asks the driver. */
static struct {
	char uuid[UUID_SIZE];
	int card, type;
} making[CALLS];
static bool settled;

int card_find(const char *who)
{
	char name[PARENT_SIZE];

	for (int c = 0; c < CARDS; c++) {
		if (strcmp(cards[c].address, who) == 0)
			return c;
		for (int i = 0; i < card_parents(c); i++)
			if (card_parent(name, c, i), strcmp(name, who) == 0)
				return c;
	}
	return -1;
}

int card_count(int card, int type)
{
	int n = 0;

	for (int i = 0; i < DEVICES; i++)
		n += *devices[i].uuid && devices[i].card == card && (type < 0 || devices[i].type == type);
	return n;
}

int card_free(int card, int type)
{
	const struct card *c = &cards[card];
	int used = 0;

	for (ROWS(d, devices)) {
		if (!*d->uuid || d->card != card || c->framework == FW_VF)
			continue;
		used += c->types[d->type].cost;
		if (c->nvidia && c->types[d->type].mib != c->types[type].mib)
			return 0;
	}
	for (int i = 0; i < CALLS; i++)
		if (*making[i].uuid && making[i].card == card)
			used += c->types[making[i].type].cost;
	return (c->units - used) / c->types[type].cost;
}

bool driver_is_taken(const char *parent)
{
	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && strcmp(devices[i].parent, parent) == 0)
			return true;
	return false;
}

struct device *device_find(const char *uuid)
{
	for (int i = 0; i < DEVICES; i++)
		if (*uuid && strcmp(devices[i].uuid, uuid) == 0)
			return &devices[i];
	return NULL;
}

static bool is_taken(const char *uuid)
{
	for (int i = 0; i < CALLS; i++)
		if (strcmp(making[i].uuid, uuid) == 0)
			return true;
	return device_find(uuid) != NULL;
}

/* Waits in the kernel, where a kill has to wait, too. */
static void wait_in_kernel(int64_t until_us, const unsigned *event)
{
	self->in_kernel++;
	pause_until(until_us, event);
	self->in_kernel--;
}

void driver_settle(void)
{
	settled = true;
	device_events++;
}

/* How long this call takes: mostly a moment; once in n times it is slow. */
static void take_time(int card, int n)
{
	static const int longest_ms[] = { 900, 900, 900, 4000, 4000, 30000 };
	int how;

	point();
	if (!self || settled || card < 0 || !once_in(n))
		return;
	how = pick(profile.fails ? 7 : 3);
	if (how >= 3)
		troubled[card] = true;
	say("%s: a call %s", cards[card].address, how == 6 ? "hangs" : "is slow");
	while (how == 6 && !settled)
		wait_in_kernel(FOREVER, &device_events);
	if (how < 6)
		wait_in_kernel(now_us + pick(longest_ms[how]) * 1000L, NULL);
}

static int failure(int card)
{
	static const int errnos[] = { EIO, ENOSPC, EAGAIN, EBUSY, EPERM, ETIMEDOUT, EINVAL };
	int code = errnos[pick(7)];

	if (!self || settled || !profile.fails || !once_in(12))
		return 0;
	troubled[card] = true;
	say("%s: a write fails with %d", cards[card].address, code);
	return -code;
}

void driver_ask(const char *who, bool looks)
{
	take_time(card_find(who), (looks ? 10 : 1) * profile.slow);
}

static int find_type(int card, const char *type)
{
	for (int t = 0; t < CARD_TYPES; t++)
		if (cards[card].types[t].id && strcmp(cards[card].types[t].id, type) == 0)
			return t;
	return -1;
}

/* NVIDIA's variant driver gives EIO for whatever its resource manager refuses. */
static int refusal(int card, int type, const char *parent, const char *uuid)
{
	bool variant = cards[card].framework == FW_VARIANT;

	if (is_taken(uuid))
		return variant ? -EPERM : -EEXIST;
	if (type < 0 || card_free(card, type) <= 0 || (cards[card].nvfs && driver_is_taken(parent)))
		return variant ? -EIO : -ENOSPC;
	return 0;
}

static struct device *make(int card, const char *parent, int t, const char *uuid)
{
	static int groups;
	struct device *d = devices;

	while (*d->uuid)
		d++;
	*d = (struct device){ .card = card, .type = t, .made_ms = now_ms(), .since_ms = now_ms() };
	d->group = cards[card].framework == FW_MDEV ? ++groups : vf_group(parent);
	snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
	snprintf(d->parent, sizeof(d->parent), "%s", parent);
	files_begin(d);
	files_counts(card);
	return d;
}

int driver_make(const char *parent, const char *type, const char *uuid)
{
	int card = card_find(parent), t = find_type(card, type), r = refusal(card, t, parent, uuid);

	if (r < 0)
		return r;
	files_complete(make(card, parent, t, uuid));
	rules_room();
	return 0;
}

static void unmake(struct device *d)
{
	files_drop(d);
	d->uuid[0] = '\0';
	files_counts(d->card);
}

int driver_unmake(const char *uuid)
{
	struct device *d = device_find(uuid);

	if (!d || cards[d->card].framework == FW_VF)
		return -ENOENT;
	if (!d->opener && !d->removed)
		unmake(d);
	return 0;
}

bool driver_disable(int card)
{
	for (int i = 0; i < CALLS; i++)
		if (*making[i].uuid && making[i].card == card)
			return false;
	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && devices[i].card == card && (devices[i].opener || devices[i].removed))
			return false;
	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && devices[i].card == card)
			unmake(&devices[i]);
	files_parents(card, false);
	disabled[card] = true;
	rules_room();
	return true;
}

void driver_enable(int card)
{
	char parent[PARENT_SIZE];

	disabled[card] = false;
	files_parents(card, true);
	for (int i = 0; cards[card].framework == FW_VF && i < card_parents(card); i++) {
		card_parent(parent, card, i);
		make(card, parent, 0, parent);
	}
	files_counts(card);
	rules_room();
}

/* The driver has answered: the directory appears. */
static void appear(int card, const char *parent, int type, const char *uuid)
{
	struct device *d = make(card, parent, type, uuid);

	d->ours = true;
	d->maker = child_is_awaited() ? self->parent : NULL;
	rules_made(d);
	if (profile.nova && !settled && once_in(40)) {
		say("%s is opened the moment it appears", uuid);
		device_open(d, STRANGER);
	}
	point();
	if (profile.fails && !settled && once_in(40)) {
		say("%s stays half made", uuid);
		troubled[card] = true;
	} else {
		files_complete(d);
	}
}

static int create(const char *parent, const char *type, const char *uuid)
{
	int card = card_find(parent), t = find_type(card, type), at = 0, r = refusal(card, t, parent, uuid);

	if (r < 0 && !(cards[card].careless && r == -ENOSPC))
		return r;
	while (*making[at].uuid)
		at++;
	memcpy(making[at].uuid, uuid, UUID_SIZE);
	making[at].card = card;
	making[at].type = t;
	self->in_kernel++;
	take_time(card, profile.slow);
	r = failure(card);
	say("creates %s on %s: %d", uuid, parent, r);
	making[at].uuid[0] = '\0';
	if (r == 0)
		appear(card, parent, t, uuid);
	self->in_kernel--;
	return r;
}

/* The device that was there when the call began, and no later one of its UUID. */
static struct device *same(struct device *d, int group)
{
	return *d->uuid && d->group == group ? d : NULL;
}

static int remove_device(const char *uuid)
{
	struct device *d = device_find(uuid);
	bool variant = strchr(uuid, '.');
	int group = d ? d->group : 0, r;

	if (!d || (variant && d->opener))
		return variant ? -EPERM : -ENODEV;
	if (variant && d->removed)
		broken("two write at once to remove %s", uuid);
	rules_removing(d);
	d->removed = variant;
	self->in_kernel++;
	take_time(d->card, profile.slow);
	r = same(d, group) ? failure(d->card) : -ENODEV;
	if (variant) {
		d->removed = false;
		r = r == 0 && d->opener ? -EPERM : r;
	}
	if (r == 0)
		rules_removing(d);
	while (r == 0 && same(d, group) && d->opener)
		wait_in_kernel(FOREVER, &device_events);
	if (r == 0 && same(d, group)) {
		rules_removing(d);
		say("removes %s on %s", uuid, d->parent);
		unmake(d);
	}
	self->in_kernel--;
	return r;
}

/* As NVIDIA's driver: not while somebody has it open. */
static int set_params(const char *uuid)
{
	const struct device *d = device_find(uuid);

	return !d ? -ENOENT : d->opener ? -EPERM : failure(d->card);
}

/* A number creates, 0 removes. */
static int set_type(const char *vf, const char *number)
{
	char type[TYPE_SIZE];

	if (atoi(number) == 0)
		return remove_device(vf);
	snprintf(type, sizeof(type), "nvidia-%d", atoi(number));
	return create(vf, type, vf);
}

int driver_write(const char *path, const char *data)
{
	char parent[PARENT_SIZE], type[TYPE_SIZE], uuid[ID_SIZE] = "", end;
	int r = -ENOENT;

	point();
	if (sscanf(path, "sys/class/mdev_bus/%63[^/]/mdev_supported_types/%63[^/]/creat%c", parent, type, &end) == 3 &&
	    sscanf(data, "%36s", uuid) == 1)
		r = create(parent, type, uuid);
	else if (sscanf(path, "sys/bus/mdev/devices/%36[^/]/remov%c", uuid, &end) == 2)
		r = remove_device(uuid);
	else if (sscanf(path, "sys/bus/mdev/devices/%36[^/]/nvidia/vgpu_param%c", uuid, &end) == 2)
		r = set_params(uuid);
	else if (sscanf(path, "sys/bus/pci/devices/%36[^/]/nvidia/current_vgpu_typ%c", uuid, &end) == 2)
		r = card_find(uuid) < 0 ? -ENOENT : set_type(uuid, data);
	else if (sscanf(path, "sys/bus/pci/devices/%36[^/]/nvidia/vgpu_param%c", uuid, &end) == 2)
		r = set_params(uuid);
	else
		broken("a write to %s", path);
	point();
	return r;
}
