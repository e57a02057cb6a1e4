/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a first configuration: Nova's, where a nova.conf enables types, or else the types of the host's cards. */
#include "cli/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
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

struct ranks {
	long of[RANKS];
};

/* What makes one type better than another, by importance. A type without a framebuffer size is one such as GVT-g's. */
static struct ranks rank(const struct inv_offer *offer)
{
	const char *name = offer->type->name;
	const int mib = offer->type->framebuffer_mib;
	const long width = mib == UNKNOWN ? strtol(offer->type->resolution, NULL, 10) : 0;

	return (struct ranks){ {
		offer->available > 0,
		*name && name[strlen(name) - 1] == 'Q', /* NVIDIA's, which work with every guest */
		mib >= GUEST_MIB,
		mib >= GUEST_MIB ? -mib : mib, /* the closest to it */
		mib == UNKNOWN && offer->available > 1,
		width, /* of the display */
		width > 0 ? offer->available : 0,
	} };
}

static bool is_better(const struct inv_offer *a, const struct inv_offer *b)
{
	const struct ranks x = rank(a), y = rank(b);
	int i = 0;

	while (i < RANKS - 1 && x.of[i] == y.of[i])
		i++;
	return x.of[i] > y.of[i];
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

/* Is it the first of a type for enabled_mdev_types? For plain VFs their [vf_...] section is enough. */
static bool is_enabled(const struct pool *pool, size_t at)
{
	return is_first_of_type(pool, at) && pool->list[at].card->framework != FW_VF;
}

static void print_heading(FILE *to, const struct pool *pool)
{
	const char *comma = "\n[devices]\nenabled_mdev_types = ";
	bool vfs = false, several = false;
	int enabled = 0;

	for (size_t i = 0; i < pool->n; i++) {
		vfs |= pool->list[i].vf != NULL;
		several |= i && !pool->list[i].vf && pool->list[i].card == pool->list[i - 1].card;
		enabled += is_enabled(pool, i);
	}
	text_line(to,
		  "# The pool of this host, from 'vgpu-lease init'. A pGPU provides the types of the vGPUs that it");
	text_line(
		to,
		"# carried or that mdevctl defines, or one of at least %d MiB. 'vgpu-lease types' lists the others. Each",
		GUEST_MIB);
	text_line(to, "# setting is described in vgpu-lease.conf(5). After an edit, run 'vgpu-lease check'.");
	if (enabled > 1)
		fputs("# Several types are enabled, so each domain names one in its metadata (quick start, step 4).\n",
		      to);
	if (vfs)
		fputs("# A card whose VFs have several types is listed by these VFs. Its other VFs are not in the pool.\n",
		      to);
	for (size_t i = 0; i < pool->n; i++)
		if (is_enabled(pool, i)) {
			fprintf(to, "%s%s", comma, pool->list[i].type->id);
			comma = ", ";
		}
	fprintf(to, "%s%s", enabled ? "\n" : "", several ? "\n[policy]\npgpu_types = several\n" : "");
}

static bool has_type(const struct pool *pool, const struct inv_pgpu *card)
{
	for (size_t i = 0; i < pool->n; i++)
		if (pool->list[i].card == card)
			return true;
	return false;
}

/* Gives the reason for each GPU without a type: in a comment or, if no GPU has a type, in a warning. Then fails. */
static int say_left_out(FILE *to, const struct pool *pool, struct err *err)
{
	size_t n = 0, unready = 0;

	for (size_t i = 0; i < pool->inv.npgpus; i++) {
		const struct inv_pgpu *card = pool->inv.pgpus[i];
		char none[REASON_SIZE];

		if (!card->gpu || has_type(pool, card))
			continue;
		inventory_no_offer(card, none);
		if (pool->n) {
			fputc('\n', to);
			text_line(to, "# Left out: %s: %s", card->address, card->ready ? none : card->reason);
		} else {
			out_warn("%s: %s", card->address, card->ready ? none : card->reason);
		}
		unready += !card->ready;
		n++;
	}
	if (pool->n)
		return 0;
	if (n && !unready)
		return err_set(err, ENOENT, "no pGPU of this host offers a vGPU now");
	return err_set(err, ENOENT, "no pGPU is ready on this host%s",
		       n ? "; 'vgpu-lease inventory' shows why"
			 : ": it has no GPU of NVIDIA, AMD or Intel that can have vGPUs");
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

/* Does this nova.conf enable types? The list can be in further lines, which are indented. */
static bool file_enables(int dir, const char *path)
{
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	bool found = false;
	regex_t option;
	size_t len;

	if (fd < 0 || sys_slurp(fd, CONFIG_MAX, &text, &len) < 0)
		return false;
	if (regcomp(&option, "\nenabled_(mdev|vgpu)_types[ \t]*=[ \t]*(\n[ \t]+)?[^\n#; \t]", REG_EXTENDED) != 0)
		mem_out();
	found = regexec(&option, text, 0, NULL, 0) == 0;
	regfree(&option);
	return found;
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
static bool print_nova(FILE *to, const struct host *host)
{
	const char *comma = "\n[devices]\nnova_conf = ";
	bool enables = false;

	text_line(
		to,
		"# The pool of this host, from 'vgpu-lease init': that of Nova. If 'ps -o args= -C nova-compute' shows");
	text_line(to, "# other files, name all of them, in the same order. After an edit, run 'vgpu-lease check'.");
	for (size_t i = 0; i < ARRAY_SIZE(nova_files); i++)
		if (sys_exists(host->root, nova_files[i] + 1)) {
			fprintf(to, "%s%s", comma, nova_files[i]);
			comma = ", ";
			enables |= enables_types(host, nova_files[i] + 1);
		}
	fputc('\n', to);
	return enables;
}

static int print_pool(FILE *to, const struct host *host, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL, .gpus = true, .name = name_plain };
	struct pool pool = { 0 };
	struct err ignored;
	int r;

	if (inventory_read(&pool.inv, host, &query, err) < 0)
		return -err->code;
	(void)mdevctl_definitions(&pool.definitions, &pool.ndefinitions, host, &ignored);
	for (size_t i = 0; i < pool.inv.npgpus; i++)
		choose(&pool, pool.inv.pgpus[i]);
	print_heading(to, &pool);
	r = say_left_out(to, &pool, err);
	for (size_t i = 0; i < pool.n; i++)
		if (is_first_of_type(&pool, i))
			print_section(to, &pool, i);
	free(pool.definitions);
	free(pool.list);
	inventory_free(&pool.inv);
	return r;
}

int init_text(const struct host *host, char **text, size_t *len, struct err *err)
{
	FILE *to = mem_open(text, len);
	bool nova = print_nova(to, host);

	mem_close(to);
	if (nova)
		return 0;
	free(*text);
	to = mem_open(text, len);
	int r = print_pool(to, host, err);
	mem_close(to);
	return r;
}
