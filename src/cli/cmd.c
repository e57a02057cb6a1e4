/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sub-commands share: the host, its configuration and leases, files. */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "act/gc.h"
#include "state/store.h"

bool cmd_knows_domain(const struct cmd *cmd, const char *domain, char similar[CMD_SIMILAR_SIZE], struct err *why)
{
	autoleases struct leases leases = { 0 };
	struct libvirt_files *files = NULL;
	struct text_guess guess = { .word = domain };
	const char *unread;
	char id[ID_SIZE];
	bool known = false;

	*why = (struct err){ 0 };
	(void)!lease_list(&cmd->store, &leases, why);
	for (EACH(const struct lease *, lease, leases.list, leases.n)) {
		known |= lease_is_of(lease, domain);
		text_guess(&guess, lease->name);
	}
	if (!known && !why->code && libvirt_files_read(&files, &cmd->host, why) == 0) {
		known = libvirt_files_has(files, domain, false);
		unread = libvirt_files_unread(files, false);
		if (!known && unread)
			err_set(why, EIO, "%s", unread);
		for (EACH(const struct libvirt_file *, file, files->list, files->n))
			text_guess(&guess, file->name);
	}
	if (!guess.best && id_guess(id, domain))
		guess.best = id;
	snprintf(similar, CMD_SIMILAR_SIZE, "%s%s", guess.best ? "; similar: " : "", guess.best ? guess.best : "");
	libvirt_files_free(files);
	return known || why->code;
}

/* Is the configuration invalid or unreadable, or the FILE of --config missing? */
static bool is_wrong_config(const struct cmd *cmd)
{
	const int code = cmd->config.why.code;

	return code && (code != ENOENT || cmd->call->args.config);
}

static int read_config(struct cmd *cmd, unsigned int needs, struct err *err)
{
	struct err *why = &cmd->config.why;
	int r = inventory_load_config(&cmd->config, &cmd->host, cmd->call->args.config, err);

	if (r == 0)
		return 0;
	err_advise_root(why);
	if (needs & CMD_CONFIG_MUST || (needs & CMD_CONFIG_READ && r == -EACCES))
		return err_set(err, -r, "%s%s", why->text, config_fix(&cmd->config));
	if (is_wrong_config(cmd) && !(needs & CMD_CONFIG_OWN))
		out_warn("%s", why->text);
	return 0;
}

int cmd_open_domain(struct cmd *cmd, struct err *err)
{
	const char *domain = cmd->call->args.operands[0];
	char similar[CMD_SIMILAR_SIZE];
	struct err ignored;
	int r;

	if (cmd->call->args.root && !cmd->call->connect)
		return err_set(err, EINVAL, "%s: no libvirt on a simulated host; use --connect URI",
			       cmd->call->args.root);
	r = hotplug_open(&cmd->hp, domain, err);
	if (r == -ENOENT && cmd->hp.virt) {
		cmd_knows_domain(cmd, domain, similar, &ignored);
		text_add(err->text, sizeof(err->text), "%s", similar);
	}
	return r;
}

/* Replaces a type's name with its ID. cmd_check_filters() refuses an unknown ID, unless a lease has it. */
static int take_type(struct cmd *cmd, const char **word, struct err *err)
{
	autofree struct inv_type *known = NULL;
	struct text_guess guess = { .word = *word };
	const char *named = NULL;
	struct err *refusal;
	bool is_id;
	size_t n;

	if (config_section(&cmd->config, *word))
		return 0;
	if (inventory_names(&cmd->host, INV_ALL, &known, &n, err) < 0)
		return -err->code;
	for (size_t i = 0; i < n; i++) {
		const char *brand_end = strchr(known[i].name, ' ');

		if (strcmp(known[i].id, *word) == 0)
			return 0;
		if (!named && type_is_named(known[i].name, *word))
			named = known[i].id;
		text_guess(&guess, known[i].id);
		text_guess(&guess, known[i].name);
		if (brand_end)
			text_guess(&guess, brand_end + 1);
	}
	if (named) {
		memcpy(cmd->type, named, sizeof(cmd->type));
		*word = cmd->type;
		return 0;
	}
	is_id = type_parse(cmd->type, *word);
	refusal = is_id ? &cmd->no_type : err;
	err_set(refusal, ENOENT, is_id ? "--type %s: no such type on this host" : "unknown type '%s'", *word);
	text_add(refusal->text, sizeof(refusal->text), "%s%s; 'vgpu-lease types' lists them",
		 guess.best ? "; similar: " : "", guess.best ? guess.best : "");
	return is_id ? 0 : -err->code;
}

/* Fails unless the user is root or, on a simulated host, can write the state. */
static int may_change(const struct cmd *cmd, struct err *err)
{
	bool simulated = cmd->call->args.root;

	if (geteuid() == 0 ||
	    (simulated && (faccessat(cmd->host.root, "run/vgpu-lease", W_OK, AT_EACCESS) == 0 || errno != EACCES)))
		return 0;
	return err_set(err, EPERM, "cannot change leases: permission denied; run as root");
}

int cmd_open(struct cmd *cmd, unsigned int needs, struct err *err)
{
	struct cmd_call *call = cmd->call;
	bool write = needs & CMD_WRITE && !call->dry_run;

	cmd->hp = (struct hotplug){
		.host = &cmd->host, .store = &cmd->store, .config = &cmd->config, .uri = call->connect
	};
	if (needs & CMD_BARE)
		return 0;
	if (host_open(&cmd->host, call->args.root, err) < 0 || (write && may_change(cmd, err) < 0))
		return -err->code;
	if (write)
		log_open("vgpu-lease", call->args.root, false);
	if (read_config(cmd, needs, err) < 0)
		return -err->code;
	if (call->pgpu)
		cmd_take_pgpu(cmd, call->pgpu);
	libvirt_daemon_follow(&cmd->host);
	/* Refuse a dry run if the real command could not write the state. */
	if (needs & CMD_WRITE && !write && store_would_open(&cmd->host, err) < 0)
		return -err->code;
	if (store_open(&cmd->store, &cmd->host, write, err) < 0)
		return err->code == EACCES ? err_set(err, EACCES, "cannot read leases: permission denied; run as root")
					   : -err->code;
	if (call->type && take_type(cmd, &call->type, err) < 0)
		return -err->code;
	if (needs & CMD_LIBVIRT && call->dry_run)
		cmd->hp.dry_run = cmd_lines(cmd);
	return needs & CMD_LIBVIRT ? cmd_open_domain(cmd, err) : 0;
}

FILE *cmd_lines(struct cmd *cmd)
{
	if (!cmd->lines)
		cmd->lines = mem_open(&cmd->text, &cmd->len);
	return cmd->lines;
}

void cmd_close(struct cmd *cmd)
{
	char *rest, *line;

	hotplug_close(&cmd->hp);
	if (cmd->lines)
		mem_close(cmd->lines);
	rest = cmd->text;
	while ((line = strsep(&rest, "\n")) && rest)
		term_wrap_printable(term_stdout(), 0, TERM_INDENT, line);
	free(cmd->text);
	if (cmd->out.json)
		json_out_end(cmd->out.json);
	survey_end(&cmd->world);
	store_close(&cmd->store);
	config_free(&cmd->config);
	host_close(&cmd->host);
}

int cmd_survey(struct cmd *cmd, struct err *err)
{
	if (cmd->world.host)
		return 0;
	cmd->world = (struct world){ .host = &cmd->host, .store = &cmd->store, .config = &cmd->config };
	if (survey_see(&cmd->world, err) == 0)
		return 0;
	/* A second call must not take the incomplete survey for a complete one. */
	survey_end(&cmd->world);
	return -err->code;
}

struct gc cmd_gc_pass(struct cmd *cmd)
{
	return (struct gc){ .world = { .store = &cmd->store, .config = &cmd->config },
			    .inv = cmd->world.host ? &cmd->world.inv : NULL,
			    .dry = true };
}

void cmd_take_pgpu(struct cmd *cmd, const char *word)
{
	char physfn[PCI_SIZE];

	parent_given(cmd->pgpu, word);
	if (inventory_physfn(&cmd->host, cmd->pgpu, physfn))
		text_copy(cmd->pgpu, sizeof(cmd->pgpu), physfn);
	cmd->call->pgpu = cmd->pgpu;
}

enum cmd_kind cmd_kind(const struct cmd *cmd)
{
	const char *word = cmd->call->args.operands[0];
	const struct inventory *inv = &cmd->world.inv;
	const struct inv_parent *parent;
	struct vgpu_ref vgpu;
	struct affinity last;
	char id[ID_SIZE], physfn[PCI_SIZE], pgpu[PARENT_SIZE];

	if (!id_parse(id, word))
		return parent_given(pgpu, word) && inventory_pgpu(inv, pgpu) ? SHOW_PGPU : SHOW_DOMAIN;
	vgpu = kernel_vgpu(id);
	parent = inventory_parent(inv, id);
	if (cmd_lease(cmd, id) || affinity_get(&cmd->store, id, &last) ||
	    inventory_presence(inv, &cmd->host, &vgpu) == PRESENT)
		return SHOW_VGPU;
	if (vgpu.framework == FW_MDEV)
		return SHOW_DOMAIN;
	/* A VF is or can become a vGPU. But if the VF provides mdevs, its address means its card. */
	return inventory_physfn(&cmd->host, id, physfn) && !(parent && parent->card->framework == FW_MDEV) ? SHOW_VGPU
													   : SHOW_PGPU;
}

const struct lease *cmd_lease(const struct cmd *cmd, const char *id)
{
	const struct lease *lease = lease_find(&cmd->world.leases, id);

	return lease ? lease : lease_find(&cmd->world.void_leases, id);
}

struct vgpu_ref cmd_ref(const struct cmd *cmd, const char *id)
{
	const struct inv_device *device = inventory_device(&cmd->world.inv, id);
	const struct inv_parent *vf = inventory_parent(&cmd->world.inv, id);
	const struct lease *lease = cmd_lease(cmd, id);
	struct vgpu_ref ref = kernel_vgpu(id);

	if (device)
		return device->vgpu;
	if (lease)
		return lease->vgpu;
	if (vf) {
		ref.framework = vf->card->framework;
		memcpy(ref.parent, vf->name, sizeof(ref.parent));
		memcpy(ref.pgpu, vf->card->address, sizeof(ref.pgpu));
	}
	return ref;
}

bool cmd_matches(const struct cmd_call *call, const struct vgpu_ref *vgpu, const struct lease *lease)
{
	if ((call->type && strcmp(call->type, vgpu->type) != 0) || (call->pgpu && strcmp(call->pgpu, vgpu->pgpu) != 0))
		return false;
	if (!lease)
		return !call->domain && !call->state;
	return (!call->state || strcmp(call->state, lease_state_words[lease->state]) == 0) &&
	       (!call->domain || lease_is_of(lease, call->domain));
}

void cmd_json_error(struct cmd *cmd, const struct err *err)
{
	if (cmd->out.json)
		return;
	cmd->out.json = &cmd->document;
	json_out_begin(cmd->out.json, stdout);
	json_out_number(cmd->out.json, "version", 1);
	if (err->code)
		json_out_string(cmd->out.json, "error", err->text);
}

struct json_out *cmd_json(struct cmd *cmd)
{
	if (cmd->call->json)
		cmd_json_error(cmd, is_wrong_config(cmd) ? &cmd->config.why : &(struct err){ 0 });
	return cmd->out.json;
}

struct rows *cmd_rows(struct cmd *cmd, const struct table_layout *layout, const char *array)
{
	if (!cmd_json(cmd))
		table_start(&cmd->out.table, layout, &cmd->call->table);
	else if (array)
		json_out_array(cmd->out.json, array);
	return &cmd->out;
}

void cmd_rows_end(struct cmd *cmd)
{
	if (!cmd->out.json)
		table_end(&cmd->out.table, term_stdout());
}
