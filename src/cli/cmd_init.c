/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease init: print or write a first configuration. If nova.conf enables types, the pool is Nova's. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "look/mdevctl_files.h"

enum { GUEST_MIB = 2048, CONFIG_MAX = 1024 * 1024 };

/* Available types first, then NVIDIA's Q types (for any guest), then the smallest from GUEST_MIB on or the largest. */
static int64_t rank(const struct inv_offer *offer)
{
	const char *name = offer->type->name;
	const int mib = offer->type->framebuffer_mib;
	const bool is_q = *name && name[strlen(name) - 1] == 'Q';
	/* GVT-g's types have a resolution instead of a size. Several guests must fit. */
	const int width = (int)strtol(offer->type->resolution, NULL, 10);
	const int no_size = width && offer->available > 1 ? 100 * width + offer->available : 0;
	const int size = mib >= GUEST_MIB ? INT32_MAX - mib : mib == UNKNOWN ? no_size : mib;

	return ((int64_t)(offer->available > 0) << 33) + ((int64_t)is_q << 32) + size;
}

/* Reduces the offers to the type of the card's vGPUs and mdevctl definitions, else to the best, or warns why none. */
static void choose(const struct inventory *inv, struct inv_pgpu *card, const struct definition *definitions, size_t n)
{
	struct inv_offer *best = NULL;
	char why[REASON_SIZE];
	int carried = 0;

	for (EACH(struct inv_offer *, offer, card->offers, card->noffers)) {
		const char *type = offer->type->id;
		bool own = false;

		for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));)
			own |= strcmp(d->vgpu.type, type) == 0;
		for (EACH(const struct definition *, d, definitions, n)) {
			const struct inv_parent *parent = inventory_parent(inv, d->parent);

			own |= parent && parent->card == card && strcmp(d->type, type) == 0;
		}
		if (!best || (own && !carried) || (own == (carried > 0) && rank(offer) > rank(best)))
			best = offer;
		carried += own;
	}
	/* An empty card can list mdev types of which none is available. */
	card->noffers = card->gpu && card->ready && best && carried <= 1 &&
			(carried || best->available > 0 || card->framework != FW_MDEV);
	card->offers = best;
	if (card->noffers || !card->gpu)
		return;
	inventory_no_offer(card, why);
	out_warn("%s: left out: %s", card->address,
		 !card->ready  ? card->reason
		 : carried > 1 ? "has vGPUs or mdevctl definitions of several types; configure it by hand"
			       : why);
}

/* Returns the type of the g-th pGPU; NULL: it has none, or an earlier pGPU has the same type. */
static const struct inv_type *new_type(const struct inventory *inv, size_t g)
{
	const struct inv_type *type = inv->pgpus[g]->noffers ? inv->pgpus[g]->offers->type : NULL;

	while (type && g-- > 0)
		if (inventory_offer(inv->pgpus[g], type->id))
			return NULL;
	return type;
}

static void print_pool(FILE *to, const struct inventory *inv)
{
	const struct inv_type *type;
	int enabled = 0;

	text_line(to, "# The pool of this host, from 'vgpu-lease init'. 'vgpu-lease types' lists other types, and");
	text_line(to, "# vgpu-lease.conf(5) describes each setting. After an edit, run 'vgpu-lease check'.");
	text_line(to, "# If several types are enabled, each domain names one in its metadata (quick start, step 4).");
	for (size_t g = 0; g < inv->npgpus; g++)
		if ((type = new_type(inv, g)) && type->framework != FW_VF) /* [vf_NAME] enables plain VFs */
			fprintf(to, "%s%s", enabled++ ? ", " : "\n[devices]\nenabled_mdev_types = ", type->id);
	fputs(enabled ? "\n" : "", to);
	for (size_t g = 0; g < inv->npgpus; g++) {
		if (!(type = new_type(inv, g)))
			continue;
		fprintf(to, "\n# %s\n[%s_%s]\ndevice_addresses = %s", type->name,
			type->framework == FW_VF ? "vf" : "mdev", type->id, inv->pgpus[g]->address);
		for (size_t k = g + 1; k < inv->npgpus; k++)
			if (inventory_offer(inv->pgpus[k], type->id))
				fprintf(to, ",\n\t%s", inv->pgpus[k]->address);
		fputc('\n', to);
	}
}

static int make_pool(FILE *to, const struct host *host, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL };
	autofree struct definition *definitions = NULL;
	struct inventory inv = { 0 };
	size_t n, gpus = 0, chosen = 0;

	/* Fail if a definition cannot be read, because its card could get a type that its guests do not have. */
	if (mdevctl_definitions(&definitions, &n, host, NULL, err) < 0 || inventory_read(&inv, host, &query, err) < 0)
		return -err->code;
	for (size_t g = 0; g < inv.npgpus; g++) {
		gpus += inv.pgpus[g]->gpu;
		choose(&inv, inv.pgpus[g], definitions, n);
		chosen += inv.pgpus[g]->noffers;
	}
	if (!chosen)
		err_set(err, ENOENT, "%s",
			gpus ? "no pGPU of this host can be configured now; see the reasons above"
			     : "no pGPU is ready on this host: it has no GPU of NVIDIA, AMD or Intel that can have vGPUs");
	print_pool(to, &inv);
	inventory_free(&inv);
	return chosen ? 0 : -ENOENT;
}

/* The configuration of nova-compute: from packages and DevStack, in Nova's order, then from deployment tools. */
static const char *const nova_files[] = {
	"/etc/nova/nova.conf",
	"/etc/nova/nova-compute.conf",
	"/etc/nova/nova-cpu.conf",
	"/etc/nova/nova.conf.d",
	"/etc/nova/nova-compute.conf.d",
	"/etc/kolla/nova-compute/nova.conf",
	"/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf", /* TripleO */
	"/var/lib/openstack/config/nova",                                        /* Red Hat OpenStack Services 18 */
	"/var/snap/openstack-hypervisor/common/etc/nova/nova.conf",              /* Sunbeam */
	"/var/snap/openstack-hypervisor/common/etc/nova/nova.conf.d",
	"/opt/pf9/etc/nova/conf.d", /* Platform9 */
};

/* Does the file have a line that matches? 1: yes; 0: no, or no such file; negative: errno. `flags` are for openat(). */
static int has_line(int dir, const char *path, int flags, const char *pattern)
{
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	autofree char *text = NULL;
	struct stat st;
	regex_t line;
	size_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	r = S_ISREG(st.st_mode) ? sys_slurp(fd, CONFIG_MAX, &text, &len) : S_ISDIR(st.st_mode) ? 0 : -EINVAL;
	if (!text)
		return r;
	if (regcomp(&line, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0)
		mem_out();
	r = regexec(&line, text, 0, NULL, 0) == 0;
	regfree(&line);
	return r;
}

/* Prints a configuration with Nova's files. 1: printed; 0: none of the files enables types; negative: errno. */
static int print_nova(FILE *to, const struct host *host, struct err *err)
{
	/* The path of the root directory can contain pattern characters, so use its descriptor. */
	autofree char *root = mem_format("/proc/self/fd/%d", host->root);
	char names[2048] = "";
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(nova_files); i++) {
		autofree char *pattern = mem_format("%s%s{,/*.conf}", root, nova_files[i]);
		glob_t files = { 0 };
		int r = 0;

		/* Without a match, open the pattern itself, which fails if the user may not search the directory. */
		glob(pattern, GLOB_BRACE | GLOB_NOCHECK, NULL, &files);
		for (size_t n = 0; r >= 0 && n < files.gl_pathc; n++) {
			/* The types can be on indented lines below the key. */
			r = has_line(AT_FDCWD, files.gl_pathv[n], 0,
				     "^enabled_(mdev|vgpu)_types[ \t]*[=:][ \t]*(\n[ \t]+)?[^\n#; \t]");
			found |= r > 0;
			if (r < 0)
				err_sys(err, -r, "cannot tell whether Nova enables types: %s%s", host->name,
					strchr(files.gl_pathv[n], '{') ? nova_files[i]
								       : files.gl_pathv[n] + strlen(root));
		}
		globfree(&files);
		if (r < 0)
			return r;
		if (sys_exists(host->root, nova_files[i] + 1))
			text_add(names, sizeof(names), "%s%s", *names ? ", " : "", nova_files[i]);
	}
	if (!found)
		return 0;
	text_line(to, "# Nova's pool, from 'vgpu-lease init'. If 'ps -o args= -C nova-compute' shows other files, "
		      "name all");
	text_line(to, "# of them, in the same order. After an edit, run 'vgpu-lease check'.");
	fprintf(to, "\n[devices]\nnova_conf = %s\n", names);
	return 1;
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
	/* A file with neither settings nor type sections, such as the packaged one, is replaced. */
	if (cmd->config.nsections ||
	    has_line(dir, basename(path), O_NOFOLLOW, "^[ \t]*([^[#; \t]|\\[(mdev|vgpu|vf)_)") != 0)
		return err_set(err, EEXIST, "%s: exists already; compare it with the output of 'vgpu-lease init'",
			       cmd->config.nsections ? cmd->config.sections[0].at.file : path);
	r = sys_publish(dir, basename(path), text, len);
	return r < 0 || syncfs(dir) < 0 ? err_sys(err, r < 0 ? -r : errno, "%s", path) : 0;
}

static int run(struct cmd *cmd, struct err *err)
{
	const char *config = cmd->call->args.config, *path = config ? config : "/etc/vgpu-lease.conf";
	autofree char *text = NULL;
	size_t len;
	FILE *to = mem_open(&text, &len);
	int r = print_nova(to, &cmd->host, err);

	if (r == 0)
		r = make_pool(to, &cmd->host, err);
	mem_close(to);
	if (r < 0 || (cmd->call->write && write_file(cmd, path, text, len, err) < 0))
		return -err->code;
	/* --write prints the text too, so that the operator sees the chosen types. */
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
	.help = "Each pGPU gets the type of its existing vGPUs or mdevctl definitions, else one\n"
		"of at least 2048 MiB. pGPUs that are not ready, or have several types, are left\n"
		"out, with the reason. --write never replaces a file that has settings.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};
