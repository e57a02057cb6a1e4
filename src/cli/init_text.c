/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a first configuration: Nova's, where a nova.conf enables types, or else the types of the host's cards. */
#include "cli/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "host/mdevctl_files.h"

enum { GUEST_MIB = 2048, CONFIG_MAX = 1024 * 1024 };

/* Names the plain VFs of a GPU. VFs of other devices, such as network cards, are not leased. */
static const char *name_plain(const void *arg, const struct inv_pgpu *card, size_t n)
{
	static char name[TYPE_SIZE];

	(void)arg;
	if (!card->nparents || card->nvidia || n > 0 || !card->gpu)
		return NULL;
	snprintf(name, sizeof(name), "gpu-%s", card->device);
	return name;
}

enum { RANKS = 7 };

/* What makes one type better than another, by importance. A type without a framebuffer size is one such as GVT-g's. */
static void rank(long ranks[RANKS], const struct inv_offer *offer)
{
	const char *name = offer->type->name;
	const int mib = offer->type->framebuffer_mib;
	const long width = mib == UNKNOWN ? strtol(offer->type->resolution, NULL, 10) : 0;
	const long list[RANKS] = {
		offer->available > 0,
		*name && name[strlen(name) - 1] == 'Q', /* NVIDIA's, which work with every guest */
		mib >= GUEST_MIB,
		mib >= GUEST_MIB ? -mib : mib, /* the closest to it */
		mib == UNKNOWN && offer->available > 1,
		width, /* of the display */
		width > 0 ? offer->available : 0,
	};

	memcpy(ranks, list, sizeof(list));
}

static bool is_better(const struct inv_offer *a, const struct inv_offer *b)
{
	long x[RANKS], y[RANKS];
	int i = 0;

	rank(x, a);
	rank(y, b);
	while (i < RANKS - 1 && x[i] == y[i])
		i++;
	return x[i] > y[i];
}

/* A type for a card, or for one VF of a card whose VFs have several types. */
struct chosen {
	const struct inv_pgpu *card;
	const struct inv_type *type;
	const struct inv_parent *vf; /* NULL: the card */
};

/* The types that are chosen, in the order of the cards, and what they are chosen from. */
struct pool {
	struct inventory inv;
	struct definition *definitions;
	size_t ndefinitions;
	struct chosen *list;
	size_t n;
};

/* Adds the type if the card offers it. A VF has one type, and a card without VFs has each once. */
static void add(struct pool *pool, const struct inv_pgpu *card, const char *type, const struct inv_parent *parent)
{
	const struct inv_offer *offer = inventory_offer(card, type);
	const struct inv_parent *vf = card->sriov ? parent : NULL;
	struct chosen *slot;

	if (!offer)
		return;
	for (size_t i = 0; i < pool->n; i++)
		if (pool->list[i].card == card && pool->list[i].vf == vf && (vf || pool->list[i].type == offer->type))
			return;
	slot = mem_add(&pool->list, &pool->n, sizeof(*slot));
	*slot = (struct chosen){ card, offer->type, vf };
}

/* The card stands for its VFs if all have the same type. */
static void join_vfs(struct pool *pool, size_t first)
{
	for (size_t i = first; i < pool->n; i++)
		if (pool->list[i].type != pool->list[first].type)
			return;
	if (pool->n > first && pool->list[first].vf) {
		pool->list[first].vf = NULL;
		pool->n = first + 1;
	}
}

/* Chooses the types for a card: those of its vGPUs, or of its definitions, or else the best one that it offers. */
static void choose(struct pool *pool, const struct inv_pgpu *card)
{
	const struct inv_offer *best = NULL;
	const size_t first = pool->n;

	if (!card->ready || !card->gpu)
		return;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&pool->inv, card, d));)
		add(pool, card, d->vgpu.type, d->parent);
	/* A start with a definition needs its type. */
	for (size_t i = 0, found = pool->n > first; i < pool->ndefinitions && !found; i++) {
		const struct inv_parent *parent = inventory_parent(&pool->inv, pool->definitions[i].parent);

		if (parent && parent->card == card)
			add(pool, card, pool->definitions[i].type, parent);
	}
	join_vfs(pool, first);
	if (pool->n > first)
		return;
	for (size_t i = 0; i < card->noffers; i++)
		if (!best || is_better(&card->offers[i], best))
			best = &card->offers[i];
	/* Mdev types are listed also if the card, which is empty, is in a mode that allows none of them. */
	if (best && (best->available > 0 || card->framework != FW_MDEV))
		add(pool, card, best->type->id, NULL);
}

/* Prints the section of the type that is chosen first at `first`. */
static void print_section(FILE *to, const struct pool *pool, size_t first)
{
	const struct inv_type *type = pool->list[first].type;
	bool vf = pool->list[first].card->framework == FW_VF;
	const char *comma = " ";

	fprintf(to, "\n# %s", type->id);
	if (strcmp(type->name, type->id) != 0)
		fprintf(to, ", %s", type->name);
	if (type->framebuffer_mib != UNKNOWN)
		fprintf(to, ", %d MiB", type->framebuffer_mib);
	if (type->max_instance != UNKNOWN)
		fprintf(to, ", at most %d on a pGPU", type->max_instance);
	fputc('\n', to);
	/* The IDs later show an operator whether another device has the address. */
	for (size_t i = first; vf && i < pool->n; i++)
		if (strcmp(pool->list[i].type->id, type->id) == 0)
			fprintf(to, "# %s: %s:%s\n", pool->list[i].card->address, pool->list[i].card->vendor,
				pool->list[i].card->device);
	fprintf(to, "[%s_%s]\ndevice_addresses =", vf ? "vf" : "mdev", type->id);
	for (size_t i = first; i < pool->n; i++) {
		const struct chosen *c = &pool->list[i];

		if (strcmp(c->type->id, type->id) != 0)
			continue;
		fprintf(to, "%s%s", comma, c->vf ? c->vf->name : c->card->address);
		comma = ",\n\t";
	}
	fputc('\n', to);
}

static bool is_first_of_type(const struct pool *pool, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(pool->list[i].type->id, pool->list[at].type->id) == 0)
			return false;
	return true;
}

/* Prints the types to enable to `enabled`, and their sections to `sections`. */
static void print_types(FILE *enabled, FILE *sections, const struct pool *pool)
{
	const char *comma = "";

	for (size_t i = 0; i < pool->n; i++) {
		const struct chosen *c = &pool->list[i];

		if (!is_first_of_type(pool, i))
			continue;
		print_section(sections, pool, i);
		/* A plain VF is not listed in enabled_mdev_types: its [vf_...] section is enough. */
		if (c->card->framework == FW_VF)
			continue;
		fprintf(enabled, "%s%s", comma, c->type->id);
		comma = ", ";
	}
}

/* Is this card, which gets no type, a GPU? If so, sets the reason for leaving it out. */
static bool is_left_out(const struct inv_pgpu *card, char reason[REASON_SIZE])
{
	if (!card->ready)
		text_copy(reason, REASON_SIZE, card->reason);
	else
		inventory_no_offer(card, reason);
	return card->gpu;
}

/* Fails, with a warning for each GPU, because no GPU has a type. */
static int refuse_host(const struct inventory *inv, struct err *err)
{
	char reason[REASON_SIZE];
	size_t n = 0, unready = 0;

	for (size_t i = 0; i < inv->npgpus; i++) {
		const struct inv_pgpu *card = inv->pgpus[i];

		if (!is_left_out(card, reason))
			continue;
		out_warn("%s: %s", card->address, reason);
		unready += !card->ready;
		n++;
	}
	if (n && !unready)
		return err_set(err, ENOENT, "no pGPU of this host offers a vGPU now");
	return err_set(err, ENOENT, "no pGPU is ready on this host%s",
		       n ? "; 'vgpu-lease inventory' shows why"
			 : ": it has no GPU of NVIDIA, AMD or Intel that can have vGPUs");
}

static void print_heading(FILE *to, const struct pool *pool, const char *enabled)
{
	bool vfs = false, several = false;

	for (size_t i = 0; i < pool->n; i++) {
		vfs |= pool->list[i].vf != NULL;
		several |= i && !pool->list[i].vf && pool->list[i].card == pool->list[i - 1].card;
	}
	text_line(to,
		  "# The pool of this host, from 'vgpu-lease init'. A pGPU provides the types of the vGPUs that it");
	text_line(
		to,
		"# carried or that mdevctl defines, or one of at least %d MiB. 'vgpu-lease types' lists the others. Each",
		GUEST_MIB);
	text_line(to, "# setting is described in vgpu-lease.conf(5). After an edit, run 'vgpu-lease check'.");
	if (strchr(enabled, ','))
		fputs("# Several types are enabled, so each domain names one in its metadata (quick start, step 4).\n",
		      to);
	if (vfs)
		fputs("# A card whose VFs have several types is listed by these VFs. Its other VFs are not in the pool.\n",
		      to);
	fprintf(to, "%s%s%s", *enabled ? "\n[devices]\nenabled_mdev_types = " : "", enabled, *enabled ? "\n" : "");
	fprintf(to, "%s", several ? "\n[policy]\npgpu_types = several\n" : "");
}

static int compose(struct pool *pool, char **text, size_t *len, struct err *err)
{
	autofree char *enabled = NULL, *sections = NULL;
	char reason[REASON_SIZE];
	size_t size;
	FILE *types = mem_open(&enabled, &size), *rest = mem_open(&sections, &size), *to;

	for (size_t i = 0; i < pool->inv.npgpus; i++) {
		const struct inv_pgpu *card = pool->inv.pgpus[i];
		const size_t before = pool->n;

		choose(pool, card);
		if (pool->n == before && is_left_out(card, reason)) {
			fputc('\n', rest);
			text_line(rest, "# Left out: %s: %s", card->address, reason);
		}
	}
	print_types(types, rest, pool);
	mem_close(types);
	mem_close(rest);
	if (!pool->n)
		return refuse_host(&pool->inv, err);
	to = mem_open(text, len);
	print_heading(to, pool, enabled);
	fprintf(to, "%s", sections);
	mem_close(to);
	return 0;
}

/* nova-compute's files and directories: of packages and DevStack, in Nova's order; then of deployment tools. */
static const char *const nova_files[] = {
	"/etc/nova/nova.conf",
	"/etc/nova/nova-compute.conf",
	"/etc/nova/nova-cpu.conf",
	"/etc/nova/nova.conf.d",
	"/etc/kolla/nova-compute/nova.conf",
	"/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf", /* TripleO */
	"/var/lib/openstack/config/nova",                                        /* Red Hat OpenStack Services 18 */
	"/var/snap/openstack-hypervisor/common/etc/nova/nova.conf",              /* Sunbeam */
	"/var/snap/openstack-hypervisor/common/etc/nova/nova.conf.d",
	"/opt/pf9/etc/nova/conf.d", /* Platform9 */
};

/* Does this nova.conf enable types? */
static bool file_enables(int dir, const char *path)
{
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	char kind[5];
	size_t len;

	if (fd < 0 || sys_slurp(fd, CONFIG_MAX, &text, &len) < 0)
		return false;
	for (const char *at = text; (at = strstr(at, "\nenabled_")); at++) {
		int n = 0;

		if (sscanf(at, " enabled_%4[a-z]_types =%n", kind, &n) < 1 || !n ||
		    (strcmp(kind, "mdev") != 0 && strcmp(kind, "vgpu") != 0))
			continue;
		n += (int)strspn(at + n, " \t");
		/* The list can be in further lines, which are indented. */
		if (at[n] == '\n' && strspn(at + n + 1, " \t"))
			n += 1 + (int)strspn(at + n + 1, " \t");
		if (at[n] && !strchr("\n#;", at[n]))
			return true;
	}
	return false;
}

/* The same of a file, or of the files that Nova reads in a directory. */
static bool enables_types(const struct host *host, const char *path)
{
	autoclosedir DIR *d = sys_list(host->root, path);
	const struct dirent *e;
	const char *dot;
	bool any = !d && file_enables(host->root, path);

	while (!any && (e = sys_next(d))) {
		dot = strrchr(e->d_name, '.');
		any = dot && strcmp(dot, ".conf") == 0 && file_enables(sys_list_fd(d), e->d_name);
	}
	return any;
}

/* Names the nova.conf files of a host whose pool is Nova's. False: it has none. */
static bool name_nova(const struct host *host, char **text, size_t *len)
{
	autofree char *files = NULL;
	const char *comma = "";
	bool enables = false;
	size_t size;
	FILE *to = mem_open(&files, &size);

	for (size_t i = 0; i < ARRAY_SIZE(nova_files); i++)
		if (sys_exists(host->root, nova_files[i] + 1)) {
			fprintf(to, "%s%s", comma, nova_files[i]);
			comma = ", ";
			enables |= enables_types(host, nova_files[i] + 1);
		}
	mem_close(to);
	if (!enables)
		return false;
	to = mem_open(text, len);
	text_line(
		to,
		"# The pool of this host, from 'vgpu-lease init': that of Nova. If 'ps -o args= -C nova-compute' shows");
	text_line(to, "# other files, name all of them, in the same order. After an edit, run 'vgpu-lease check'.");
	fprintf(to, "\n[devices]\nnova_conf = %s\n", files);
	mem_close(to);
	return true;
}

int init_text(const struct host *host, char **text, size_t *len, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL, .gpus = true, .name = name_plain };
	struct pool pool = { 0 };
	struct err ignored;
	int r;

	if (name_nova(host, text, len))
		return 0;
	if (inventory_read(&pool.inv, host, &query, err) < 0)
		return -err->code;
	(void)mdevctl_definitions(&pool.definitions, &pool.ndefinitions, host, &ignored);
	r = compose(&pool, text, len, err);
	free(pool.definitions);
	free(pool.list);
	inventory_free(&pool.inv);
	return r;
}
