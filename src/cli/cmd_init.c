/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease init: composes a first configuration for the cards of this host, with a type for each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Of two types of the same rank, the one whose size is closest to GUEST_MIB is better. */
static bool is_better(const struct inv_offer *a, const struct inv_offer *b)
{
	int x = a->type->framebuffer_mib, y = b->type->framebuffer_mib;

	if (rank(a) != rank(b))
		return rank(a) > rank(b);
	return x >= GUEST_MIB ? x < y : x > y;
}

/* The type for a card: that of its vGPUs, or that mdevctl defines on it, or the best one that it offers; NULL: none. */
static const struct inv_type *choose_type(const struct host *host, const struct inventory *inv,
					  const struct inv_pgpu *card)
{
	autofree struct definition *list = NULL;
	const struct inv_offer *best = NULL;
	struct err ignored;
	size_t n = 0;

	if (!card->ready || !card->gpu)
		return NULL;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));)
		if (inventory_offer(card, d->vgpu.type))
			return inventory_type_of(inv, &d->vgpu);
	/* A start with a definition needs its type. */
	(void)mdevctl_definitions(&list, &n, host, &ignored);
	for (size_t i = 0; i < n; i++) {
		const struct inv_parent *parent = inventory_parent(inv, list[i].parent);

		best = parent && parent->card == card ? inventory_offer(card, list[i].type) : NULL;
		if (best)
			return best->type;
	}
	for (size_t i = 0; i < card->noffers; i++)
		if (!best || is_better(&card->offers[i], best))
			best = &card->offers[i];
	/* Mdev types are listed also if the card, which is empty, is in a mode that allows none of them. */
	return best && (best->available > 0 || card->framework != FW_MDEV) ? best->type : NULL;
}

/* Prints one section for all cards with the type chosen for `pgpu`, and clears their choices. */
static void print_section(FILE *to, const struct inventory *inv, const struct inv_type **chosen, size_t pgpu)
{
	const struct inv_type *type = chosen[pgpu];
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
		if (chosen[i] && strcmp(chosen[i]->id, type->id) == 0)
			fprintf(to, "# %s: %s:%s\n", inv->pgpus[i]->address, inv->pgpus[i]->vendor,
				inv->pgpus[i]->device);
	fprintf(to, "[%s_%s]\ndevice_addresses =", vf ? "vf" : "mdev", type->id);
	for (size_t i = pgpu; i < inv->npgpus; i++) {
		if (!chosen[i] || strcmp(chosen[i]->id, type->id) != 0)
			continue;
		fprintf(to, "%s%s", comma, inv->pgpus[i]->address);
		comma = ",\n\t";
		chosen[i] = NULL;
	}
	fputc('\n', to);
}

/* Sets the reason why a card without a type is left out. False: the card is not a GPU. */
static bool is_left_out(const struct inv_pgpu *card, char reason[REASON_SIZE])
{
	if (!card->ready)
		text_copy(reason, REASON_SIZE, card->reason);
	else if (card->nvidia)
		snprintf(reason, REASON_SIZE,
			 "its driver offers no vGPU of any type now; in MIG mode it does once 'nvidia-smi mig -i %s "
			 "-cgi PROFILE -C' has made a GPU instance, otherwise see dmesg",
			 card->address);
	else
		text_copy(reason, REASON_SIZE, "its driver offers no vGPU of any type now; see dmesg");
	return card->gpu;
}

/* Prints the types to enable to `enabled`, and their sections to `sections`. Returns the number of sections. */
static size_t print_cards(FILE *enabled, FILE *sections, const struct host *host, const struct inventory *inv)
{
	autofree const struct inv_type **chosen = mem_new(inv->npgpus + 1, sizeof(*chosen));
	char reason[REASON_SIZE];
	size_t n = 0, types = 0;

	for (size_t i = 0; i < inv->npgpus; i++) {
		const struct inv_pgpu *card = inv->pgpus[i];

		chosen[i] = choose_type(host, inv, card);
		if (chosen[i] || !is_left_out(card, reason))
			continue;
		fputc('\n', sections);
		text_line(sections, "# Left out: %s: %s", card->address, reason);
	}
	for (size_t i = 0; i < inv->npgpus; i++) {
		if (!chosen[i])
			continue;
		/* A plain VF is not listed in enabled_mdev_types: its [vf_...] section is enough. */
		if (inv->pgpus[i]->framework != FW_VF)
			fprintf(enabled, "%s%s", types++ ? ", " : "", chosen[i]->id);
		print_section(sections, inv, chosen, i);
		n++;
	}
	return n;
}

/* Warns of each GPU, none of which has a type, and fails. */
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

static int compose(const struct host *host, char **text, size_t *len, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL, .gpus = true, .name = name_plain };
	autoinventory struct inventory inv = { 0 };
	autofree char *enabled = NULL, *sections = NULL;
	size_t size, n;

	if (inventory_read(&inv, host, &query, err) < 0)
		return -err->code;
	FILE *types = mem_open(&enabled, &size), *rest = mem_open(&sections, &size);
	n = print_cards(types, rest, host, &inv);
	mem_close(types);
	mem_close(rest);
	if (!n)
		return refuse_host(&inv, err);
	FILE *to = mem_open(text, len);
	text_line(
		to,
		"# The pool of this host, from 'vgpu-lease init'. A pGPU provides one type: that of the vGPUs that it");
	text_line(
		to,
		"# carried or that mdevctl defines, or one of at least %d MiB. 'vgpu-lease types' lists the others. Each",
		GUEST_MIB);
	text_line(to, "# setting is described in vgpu-lease.conf(5). After an edit, run 'vgpu-lease check'.");
	if (strchr(enabled, ','))
		text_line(
			to,
			"# Several types are enabled, so each domain names one in its metadata (quick start, step 4).");
	fprintf(to, "%s%s%s%s", *enabled ? "\n[devices]\nenabled_mdev_types = " : "", enabled, *enabled ? "\n" : "",
		sections);
	mem_close(to);
	return 0;
}

/* Does the text have only comments and section names, like the packaged file? */
static bool sets_nothing(char *text)
{
	char *line;

	while ((line = text_next(&text, "\n")))
		if (!strchr("#;", *line) && strcmp(line, "[devices]") != 0 && strcmp(line, "[policy]") != 0 &&
		    strcmp(line, "[quota]") != 0)
			return false;
	return true;
}

/* Fails if the file has settings, or is a link or not a regular file. */
static int check_replaceable(const struct cmd *cmd, int dir, const char *path, struct err *err)
{
	autoclose int fd = openat(dir, basename(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 && errno != ENOENT && errno != ELOOP)
		return err_sys(err, errno, "%s", path);
	if (cmd->has_config && cmd->config.nsections)
		path = cmd->config.sections[0].at.file;
	else if ((fd < 0 && errno == ENOENT) || (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
						 sys_slurp(fd, CONFIG_MAX, &text, &len) == 0 && sets_nothing(text)))
		return 0;
	return err_set(err, EEXIST, "%s: exists already; compare it with the output of 'vgpu-lease init'", path);
}

/* --root applies to the default path, but not to the FILE of --config. */
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
	autofree char *text = NULL;
	size_t len;

	if (compose(&cmd->host, &text, &len, err) < 0)
		return -err->code;
	if (cmd->call->write && write_file(cmd, path, text, len, err) < 0)
		return -err->code;
	/* Print the text with --write as well, so that the operator sees the choice. */
	fwrite(text, 1, len, stdout);
	if (cmd->call->write) {
		putchar('\n');
		out_say("wrote %s%s; edit it as needed, then run 'vgpu-lease check'", config ? "" : cmd->host.name,
			path);
	}
	return CMD_DONE;
}

const struct command cmd_init = {
	.name = "init",
	.options = CMD_INIT_WRITE,
	.summary = "Print a first configuration for this host",
	.help = "Each pGPU gets the type of its existing vGPUs, or of its mdevctl definitions.\n"
		"A pGPU without either gets a type of at least 2048 MiB; an NVIDIA pGPU gets a Q\n"
		"type. pGPUs that are not ready are left out, with the reason.\n"
		"\n"
		"--write also writes /etc/vgpu-lease.conf (or FILE of --config) if it does not\n"
		"exist or has no settings, like the file of the package.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};
