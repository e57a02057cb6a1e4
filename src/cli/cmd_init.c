/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-lease init: print or write a first configuration for this host. If a nova.conf enables types, the pool is
 * Nova's; else each card gets a type.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "look/mdevctl_files.h"

enum { GUEST_MIB = 2048, CONFIG_MAX = 1024 * 1024, RANKS = 7 };

/* For inv_query.name: a GPU with plain VFs has one name, every other card has none. */
static const char *name_plain(const void *arg, const struct inv_pgpu *card, size_t n)
{
	static char name[TYPE_SIZE];

	(void)arg;
	if (!card->nparents || card->nvidia || n > 0 || !card->gpu)
		return NULL;
	snprintf(name, sizeof(name), "gpu-%s", card->device);
	return name;
}

/* Ranks a type, the most important number first. GVT-g's types have a resolution but no framebuffer size. */
static void rank(long ranks[RANKS], const struct inv_offer *offer)
{
	const char *name = offer->type->name;
	const int mib = offer->type->framebuffer_mib;
	const long width = mib == UNKNOWN ? strtol(offer->type->resolution, NULL, 10) : 0;

	ranks[0] = offer->available > 0;
	ranks[1] = *name && name[strlen(name) - 1] == 'Q'; /* NVIDIA's Q types work with every guest */
	ranks[2] = mib >= GUEST_MIB;
	ranks[3] = mib >= GUEST_MIB ? -mib : mib; /* the closest to GUEST_MIB */
	ranks[4] = mib == UNKNOWN && offer->available > 1;
	ranks[5] = width;
	ranks[6] = width > 0 ? offer->available : 0;
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
	struct inv_pgpu *card; /* card->pool.in_pool is set */
	const struct inv_type *type;
	const struct inv_parent *vf; /* NULL: the whole card */
	size_t first;                /* the index in pool->list of the first item with this type */
};

/* The chosen types in the order of the cards, and the inventory and definitions that determine the choice. */
struct pool {
	struct inventory inv;
	struct definition *definitions;
	size_t ndefinitions;
	struct chosen *list;
	size_t n;
};

/* Adds the type if the card offers the type. Each VF gets one type; a card without VFs can get several. */
static void add_card(struct pool *pool, struct inv_pgpu *card, const char *type, const struct inv_parent *parent)
{
	const struct inv_offer *offer = inventory_offer(card, type);
	const struct inv_parent *vf = card->sriov ? parent : NULL;
	struct chosen *slot;
	size_t first = 0;

	if (!offer)
		return;
	for (size_t i = 0; i < pool->n; i++)
		if (pool->list[i].card == card && pool->list[i].vf == vf && (vf || pool->list[i].type == offer->type))
			return;
	slot = mem_add(&pool->list, &pool->n, sizeof(*slot));
	*slot = (struct chosen){ card, offer->type, vf, 0 };
	while (strcmp(pool->list[first].type->id, offer->type->id) != 0)
		first++;
	slot->first = first;
	card->pool.in_pool = true;
}

/* Chooses the types of the card's vGPUs, else of its mdevctl definitions, else the best type that the card offers. */
static void choose(struct pool *pool, struct inv_pgpu *card)
{
	const struct inv_offer *best = NULL;
	const size_t first = pool->n;
	bool alike = true;

	if (!card->ready || !card->gpu)
		return;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&pool->inv, card, d));)
		add_card(pool, card, d->vgpu.type, d->parent);
	for (size_t i = 0, found = pool->n > first; i < pool->ndefinitions && !found; i++) {
		const struct inv_parent *parent = inventory_parent(&pool->inv, pool->definitions[i].parent);

		if (parent && parent->card == card)
			add_card(pool, card, pool->definitions[i].type, parent);
	}
	for (size_t i = first; i < pool->n; i++)
		alike &= pool->list[i].type == pool->list[first].type;
	/* If all VFs have one type, list the card instead of its VFs. */
	if (pool->n > first && pool->list[first].vf && alike) {
		pool->list[first].vf = NULL;
		pool->n = first + 1;
	}
	if (pool->n > first)
		return;
	for (EACH(const struct inv_offer *, offer, card->offers, card->noffers))
		if (!best || is_better(offer, best))
			best = offer;
	/* An empty card can list mdev types of which none is available. */
	if (best && (best->available > 0 || card->framework != FW_MDEV))
		add_card(pool, card, best->type->id, NULL);
}

static void print_section(FILE *to, const struct pool *pool, size_t first)
{
	const struct inv_type *type = pool->list[first].type;
	bool vf = pool->list[first].card->framework == FW_VF;

	fprintf(to, "\n# %s", type->id);
	if (strcmp(type->name, type->id) != 0)
		fprintf(to, ", %s", type->name);
	if (type->framebuffer_mib != UNKNOWN)
		fprintf(to, ", %d MiB", type->framebuffer_mib);
	if (type->max_instance != UNKNOWN)
		fprintf(to, ", at most %d on a pGPU", type->max_instance);
	fputc('\n', to);
	/* With the IDs, an operator can later tell whether another device has the address. */
	for (EACH(const struct chosen *, c, pool->list, pool->n))
		if (vf && c->first == first)
			fprintf(to, "# %s: %s:%s\n", c->card->address, c->card->vendor, c->card->device);
	fprintf(to, "[%s_%s]\ndevice_addresses =", vf ? "vf" : "mdev", type->id);
	for (EACH(const struct chosen *, c, pool->list, pool->n))
		if (c->first == first)
			fprintf(to, "%s%s", c == pool->list + first ? " " : ",\n\t",
				c->vf ? c->vf->name : c->card->address);
	fputc('\n', to);
}

static void print_heading(FILE *to, const struct pool *pool)
{
	autofree char *types = NULL;
	bool vfs = false, several = false;
	int enabled = 0;
	size_t len;
	FILE *list = mem_open(&types, &len);

	for (size_t i = 0; i < pool->n; i++) {
		const struct chosen *c = &pool->list[i];

		vfs |= c->vf != NULL;
		several |= i && !c->vf && c->card == c[-1].card;
		/* The section [vf_NAME] enables plain VFs, so the list omits their types. */
		if (c->first == i && c->card->framework != FW_VF)
			fprintf(list, "%s%s", enabled++ ? ", " : "", c->type->id);
	}
	mem_close(list);
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
	if (enabled)
		fprintf(to, "\n[devices]\nenabled_mdev_types = %s\n", types);
	if (several)
		fputs("\n[policy]\npgpu_types = several\n", to);
}

/* Prints comments that say why GPUs have no type. If no GPU has a type, prints warnings instead, and fails. */
static int say_left_out(FILE *to, const struct pool *pool, struct err *err)
{
	size_t n = 0, unready = 0;

	for (size_t i = 0; i < pool->inv.npgpus; i++) {
		const struct inv_pgpu *card = pool->inv.pgpus[i];
		char none[REASON_SIZE];

		if (!card->gpu || card->pool.in_pool)
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
	return err_set(err, ENOENT, "%s",
		       !n ? "no pGPU is ready on this host: it has no GPU of NVIDIA, AMD or Intel that can have vGPUs"
		       : unready ? "no pGPU is ready on this host; 'vgpu-lease inventory' shows why"
				 : "no pGPU of this host offers a vGPU now");
}

/* The configuration of nova-compute: from packages and DevStack, in Nova's order, then from deployment tools. */
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

/* 1: this file of nova-compute's enables types; 0: it does not, is missing or a directory; negative: not read. */
static int enables(const char *path, const regex_t *line)
{
	autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	size_t len;
	int r = fd < 0 ? -errno : sys_slurp(fd, CONFIG_MAX, &text, &len);

	if (r == -ENOENT || r == -ENOTDIR || r == -EISDIR)
		return 0;
	return r < 0 ? r : regexec(line, text, 0, NULL, 0) == 0;
}

/* 1: a file of nova-compute's enables types; 0: none does. The types can be on indented lines below the key. */
static int is_novas(const struct host *host, struct err *err)
{
	autofree char *root = mem_format("/proc/self/fd/%d", host->root);
	int r = 0, found = 0;
	regex_t line;

	if (regcomp(&line, "\nenabled_(mdev|vgpu)_types[ \t]*[=:][ \t]*(\n[ \t]+)?[^\n#; \t]", REG_EXTENDED) != 0)
		mem_out();
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(nova_files); i++) {
		/* The path of host->root can contain pattern characters, so use its descriptor. */
		autofree char *path = mem_format("%s%s", root, nova_files[i]), *pattern = mem_format("%s/*.conf", path);
		glob_t files = { 0 };

		/* Open the path itself too, because glob() finds nothing in a directory that is closed to the user. */
		glob(pattern, GLOB_NOSORT, NULL, &files);
		for (size_t n = 0; r >= 0 && n <= files.gl_pathc; n++) {
			const char *name = n < files.gl_pathc ? files.gl_pathv[n] : path;

			r = enables(name, &line);
			found |= r > 0;
			if (r < 0)
				err_sys(err, -r, "cannot tell whether Nova enables types: %s%s", host->name,
					name + strlen(root));
		}
		globfree(&files);
	}
	regfree(&line);
	return r < 0 ? r : found;
}

static void print_nova(FILE *to, const struct host *host)
{
	const char *comma = "\n[devices]\nnova_conf = ";

	text_line(
		to,
		"# The pool of this host, from 'vgpu-lease init': that of Nova. If 'ps -o args= -C nova-compute' shows");
	text_line(to, "# other files, name all of them, in the same order. After an edit, run 'vgpu-lease check'.");
	for (size_t i = 0; i < ARRAY_SIZE(nova_files); i++)
		if (sys_exists(host->root, nova_files[i] + 1)) {
			fprintf(to, "%s%s", comma, nova_files[i]);
			comma = ", ";
		}
	fputc('\n', to);
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
		if (pool.list[i].first == i)
			print_section(to, &pool, i);
	free(pool.definitions);
	free(pool.list);
	inventory_free(&pool.inv);
	return r;
}

/* Does the text contain only comments and section names, as the packaged file does? */
static bool sets_nothing(char *text)
{
	char *line;

	while ((line = text_next(&text, "\n")))
		if (!strchr("#;", *line) && strcmp(line, "[devices]") != 0 && strcmp(line, "[policy]") != 0 &&
		    strcmp(line, "[quota]") != 0)
			return false;
	return true;
}

/* Fails if a pool is configured, or if `path` has settings or is not a regular file. */
static int check_replaceable(const struct cmd *cmd, int dir, const char *path, struct err *err)
{
	autoclose int fd = openat(dir, basename(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool missing = fd < 0 && errno == ENOENT;
	autofree char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 && !missing && errno != ELOOP)
		return err_sys(err, errno, "%s", path);
	if (cmd->config.nsections)
		path = cmd->config.sections[0].at.file;
	else if (missing || (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			     sys_slurp(fd, CONFIG_MAX, &text, &len) == 0 && sets_nothing(text)))
		return 0;
	return err_set(err, EEXIST, "%s: exists already; compare it with the output of 'vgpu-lease init'", path);
}

/* Writes the configuration. --root applies to the default path, but not to the FILE of --config. */
static int write_file(const struct cmd *cmd, const char *path, const char *text, size_t len, struct err *err)
{
	const char *config = cmd->call->args.config, *below = config ? config : path + 1;
	autofree char *parent = mem_format("%.*s.", (int)(basename(below) - below), below);
	autoclose int dir = openat(config ? AT_FDCWD : cmd->host.root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (dir < 0)
		return err_sys(err, errno, "%s", path);
	if (check_replaceable(cmd, dir, path, err) < 0)
		return -err->code;
	r = sys_publish(dir, basename(path), text, len);
	if (r == 0 && syncfs(dir) < 0)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "%s", path) : 0;
}

static int run(struct cmd *cmd, struct err *err)
{
	const char *config = cmd->call->args.config, *path = config ? config : "/etc/vgpu-lease.conf";
	const struct host *host = &cmd->host;
	autofree char *text = NULL;
	size_t len;
	FILE *to = mem_open(&text, &len);
	int r = is_novas(host, err);

	if (r > 0)
		print_nova(to, host);
	else if (r == 0)
		r = print_pool(to, host, err);
	mem_close(to);
	if (r < 0)
		return r;
	if (cmd->call->write && write_file(cmd, path, text, len, err) < 0)
		return -err->code;
	/* --write prints the text too, so that the operator sees the chosen types. */
	fwrite(text, 1, len, stdout);
	if (cmd->call->write) {
		putchar('\n');
		out_say("wrote %s%s; edit it as needed, then run 'vgpu-lease check'", config ? "" : host->name, path);
	}
	return CMD_DONE;
}

const struct command cmd_init = {
	.name = "init",
	.options = CMD_INIT_WRITE,
	.summary = "Print a first configuration for this host",
	.help = "Each pGPU gets the types of its existing vGPUs, or of its mdevctl definitions.\n"
		"A pGPU without either gets a type of at least 2048 MiB; an NVIDIA pGPU gets a Q\n"
		"type. pGPUs that are not ready are left out, with the reason.\n"
		"\n"
		"--write also writes /etc/vgpu-lease.conf (or FILE of --config) if it does not\n"
		"exist or has no settings, like the file of the package.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};
