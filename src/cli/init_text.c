/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a first configuration: Nova's, where a nova.conf enables types, or else the types of the host's cards. */
#include "cli/init_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "host/mdevctl_files.h"
#include "cli/cmd.h"

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

/*
 * A type that is offered now ranks before others; then a Q type of NVIDIA, which works with every guest; then one of at
 * least GUEST_MIB.
 */
static int rank(const struct inv_offer *offer)
{
	const char *name = offer->type->name;
	bool q = *name && name[strlen(name) - 1] == 'Q';

	return 4 * (offer->available > 0) + 2 * q + (offer->type->framebuffer_mib >= GUEST_MIB);
}

/*
 * Among types without a framebuffer size, such as GVT-g's, prefers a type of which several fit, then a wider display,
 * then more guests with the same display.
 */
static bool fits_better(const struct inv_offer *a, const struct inv_offer *b)
{
	long a_width = strtol(a->type->resolution, NULL, 10), b_width = strtol(b->type->resolution, NULL, 10);

	if ((a->available > 1) != (b->available > 1))
		return a->available > 1;
	return a_width != b_width ? a_width > b_width : a_width > 0 && a->available > b->available;
}

/* Of two types of the same rank, the one whose size is closest to GUEST_MIB is better. */
static bool is_better(const struct inv_offer *a, const struct inv_offer *b)
{
	int x = a->type->framebuffer_mib, y = b->type->framebuffer_mib;

	if (rank(a) != rank(b))
		return rank(a) > rank(b);
	if (x == UNKNOWN && y == UNKNOWN)
		return fits_better(a, b);
	return x >= GUEST_MIB ? x < y : x > y;
}

/* What the types are chosen from. */
struct source {
	const struct host *host;
	struct inventory inv;
	struct definition *definitions;
	size_t ndefinitions;
};

/* A type for a card, and the parent that has a vGPU or a definition of it; NULL: none has. */
struct chosen {
	const struct inv_type *type;
	const struct inv_parent *parent;
};

/* What is chosen for a card. */
struct choice {
	struct chosen *list;
	size_t n;
	bool several; /* of more than one type */
};

static bool has(const struct choice *choice, const char *type)
{
	for (size_t i = 0; i < choice->n; i++)
		if (strcmp(choice->list[i].type->id, type) == 0)
			return true;
	return false;
}

/* Adds the type if the card offers it. A VF has one type, and a card without VFs has each once. */
static void add(struct choice *choice, const struct inv_pgpu *card, const char *type, const struct inv_parent *parent)
{
	const struct inv_offer *offer = inventory_offer(card, type);
	const bool known = has(choice, type);
	struct chosen *slot;

	for (size_t i = 0; i < choice->n && card->sriov; i++)
		if (choice->list[i].parent == parent)
			return;
	if (!offer || (known && !card->sriov))
		return;
	choice->several |= choice->n && !known;
	slot = mem_add(&choice->list, &choice->n, sizeof(*slot));
	*slot = (struct chosen){ offer->type, parent };
}

/* Chooses the types for a card: those of its vGPUs, or of its definitions, or else the best one that it offers. */
static void choose(struct choice *choice, const struct source *from, const struct inv_pgpu *card)
{
	const struct inv_offer *best = NULL;

	if (!card->ready || !card->gpu)
		return;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&from->inv, card, d));)
		add(choice, card, d->vgpu.type, d->parent);
	/* A start with a definition needs its type. */
	for (size_t i = 0, found = choice->n; i < from->ndefinitions && !found; i++) {
		const struct inv_parent *parent = inventory_parent(&from->inv, from->definitions[i].parent);

		if (parent && parent->card == card)
			add(choice, card, from->definitions[i].type, parent);
	}
	if (choice->n)
		return;
	for (size_t i = 0; i < card->noffers; i++)
		if (!best || is_better(&card->offers[i], best))
			best = &card->offers[i];
	/* Mdev types are listed also if the card, which is empty, is in a mode that allows none of them. */
	if (best && (best->available > 0 || card->framework != FW_MDEV))
		add(choice, card, best->type->id, NULL);
}

/* Prints the card's address or, if its VFs have several types, the addresses of the VFs with this type. */
static void print_addresses(FILE *to, const struct inv_pgpu *card, const struct choice *choice, const char *type,
			    const char **comma)
{
	const bool vfs = choice->several && card->sriov;

	for (size_t i = 0; i < choice->n; i++) {
		if (strcmp(choice->list[i].type->id, type) != 0)
			continue;
		fprintf(to, "%s%s", *comma, vfs ? choice->list[i].parent->name : card->address);
		*comma = ",\n\t";
		if (!vfs)
			return;
	}
}

/* Prints one section for all cards from `pgpu` on for which this type is chosen. */
static void print_section(FILE *to, const struct inventory *inv, const struct choice *choices, size_t pgpu,
			  const struct inv_type *type)
{
	bool vf = inv->pgpus[pgpu]->framework == FW_VF;
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
	for (size_t i = pgpu; vf && i < inv->npgpus; i++)
		if (has(&choices[i], type->id))
			fprintf(to, "# %s: %s:%s\n", inv->pgpus[i]->address, inv->pgpus[i]->vendor,
				inv->pgpus[i]->device);
	fprintf(to, "[%s_%s]\ndevice_addresses =", vf ? "vf" : "mdev", type->id);
	for (size_t i = pgpu; i < inv->npgpus; i++)
		print_addresses(to, inv->pgpus[i], &choices[i], type->id, &comma);
	fputc('\n', to);
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

/* Does the t-th choice for the card have a type that no choice before it has? */
static bool is_first(const struct choice *choices, size_t pgpu, size_t t)
{
	const struct choice before = { .list = choices[pgpu].list, .n = t };
	const char *type = choices[pgpu].list[t].type->id;

	for (size_t i = 0; i < pgpu; i++)
		if (has(&choices[i], type))
			return false;
	return !has(&before, type);
}

/* Prints the types to enable to `enabled`, and their sections to `sections`. Returns the number of sections. */
static size_t print_cards(FILE *enabled, FILE *sections, const struct inventory *inv, const struct choice *choices)
{
	size_t n = 0, listed = 0;

	for (size_t i = 0; i < inv->npgpus; i++)
		for (size_t t = 0; t < choices[i].n; t++) {
			const struct inv_type *type = choices[i].list[t].type;

			if (!is_first(choices, i, t))
				continue;
			/* A plain VF is not listed in enabled_mdev_types: its [vf_...] section is enough. */
			if (inv->pgpus[i]->framework != FW_VF)
				fprintf(enabled, "%s%s", listed++ ? ", " : "", type->id);
			print_section(sections, inv, choices, i, type);
			n++;
		}
	return n;
}

static void print_left_out(FILE *to, const struct source *from, const struct choice *choices)
{
	char reason[REASON_SIZE];

	for (size_t i = 0; i < from->inv.npgpus; i++) {
		const struct inv_pgpu *card = from->inv.pgpus[i];

		if (choices[i].n || !is_left_out(card, reason))
			continue;
		fputc('\n', to);
		text_line(to, "# Left out: %s: %s", card->address, reason);
	}
}

/* Fails, with a warning for each GPU, because no GPU has a type. */
static int refuse_host(const struct inventory *inv, struct err *err)
{
	char reason[REASON_SIZE];
	size_t n = 0, unready = 0;

	for (size_t i = 0; i < inv->npgpus; i++)
		if (is_left_out(inv->pgpus[i], reason)) {
			out_warn("%s: %s", inv->pgpus[i]->address, reason);
			unready += !inv->pgpus[i]->ready;
			n++;
		}
	if (n && !unready)
		return err_set(err, ENOENT, "no pGPU of this host offers a vGPU now");
	return err_set(err, ENOENT, "no pGPU is ready on this host%s",
		       n ? "; 'vgpu-lease inventory' shows why" : ": it has no GPU of NVIDIA, AMD or Intel");
}

/* `vfs`: VFs are listed in place of their cards; `several`: a card without VFs has several types. */
static void print_heading(FILE *to, const char *enabled, bool vfs, bool several)
{
	text_line(to,
		  "# The pool of this host, from 'vgpu-lease init'. A pGPU provides the types of the vGPUs that it");
	text_line(
		to,
		"# carried or that mdevctl defines, or one of at least %d MiB. 'vgpu-lease types' lists the others. Each",
		GUEST_MIB);
	text_line(to, "# setting is described in vgpu-lease.conf(5). After an edit, run 'vgpu-lease check'.");
	if (strchr(enabled, ','))
		text_line(
			to,
			"# Several types are enabled, so each domain names one in its metadata (quick start, step 4).");
	if (vfs)
		text_line(
			to,
			"# A card whose VFs have several types is listed by these VFs. Its other VFs are not in the pool.");
	fprintf(to, "%s%s%s", *enabled ? "\n[devices]\nenabled_mdev_types = " : "", enabled, *enabled ? "\n" : "");
	fprintf(to, "%s", several ? "\n[policy]\npgpu_types = several\n" : "");
}

static int compose(const struct source *from, char **text, size_t *len, struct err *err)
{
	const struct inventory *inv = &from->inv;
	autofree struct choice *choices = mem_new(inv->npgpus + 1, sizeof(*choices));
	autofree char *enabled = NULL, *sections = NULL;
	bool vfs = false, several = false;
	size_t size, n;
	FILE *types = mem_open(&enabled, &size), *rest = mem_open(&sections, &size), *to;

	for (size_t i = 0; i < inv->npgpus; i++) {
		choose(&choices[i], from, inv->pgpus[i]);
		if (inv->pgpus[i]->sriov)
			vfs |= choices[i].several;
		else
			several |= choices[i].several;
	}
	print_left_out(rest, from, choices);
	n = print_cards(types, rest, inv, choices);
	mem_close(types);
	mem_close(rest);
	for (size_t i = 0; i < inv->npgpus; i++)
		free(choices[i].list);
	if (!n)
		return refuse_host(inv, err);
	to = mem_open(text, len);
	print_heading(to, enabled, vfs, several);
	fprintf(to, "%s", sections);
	mem_close(to);
	return 0;
}

/* The files of nova-compute from packages, in its order, then Kolla's and TripleO's. */
static const char *const nova_files[] = {
	"/etc/nova/nova.conf",
	"/etc/nova/nova-compute.conf",
	"/etc/kolla/nova-compute/nova.conf",
	"/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf",
};

/* Does this nova.conf enable types? */
static bool enables_types(const struct host *host, const char *path)
{
	autoclose int fd = openat(host->root, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	char kind[5], first[2];
	size_t len;

	if (fd < 0 || sys_slurp(fd, CONFIG_MAX, &text, &len) < 0)
		return false;
	for (const char *at = text; (at = strstr(at, "\nenabled_")); at++)
		if (sscanf(at, " enabled_%4[a-z]_types = %1s", kind, first) == 2 && !strchr("[#;", *first) &&
		    (strcmp(kind, "mdev") == 0 || strcmp(kind, "vgpu") == 0))
			return true;
	return false;
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
	struct source from = { .host = host };
	struct err ignored;
	int r;

	if (name_nova(host, text, len))
		return 0;
	if (inventory_read(&from.inv, host, &query, err) < 0)
		return -err->code;
	(void)mdevctl_definitions(&from.definitions, &from.ndefinitions, host, &ignored);
	r = compose(&from, text, len, err);
	free(from.definitions);
	inventory_free(&from.inv);
	return r;
}
