/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease show OBJECT, for a vGPU or a pGPU: show its facts and its latest events. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "look/inventory.h"
#include "look/mdevctl_files.h"
#include "look/vfio_users.h"
#include "act/gc.h"
#include "state/history.h"

enum { EVENTS_SHOWN = 20, LOOK_MS = 10000 };

struct facts {
	struct cmd *cmd;
	struct vgpu_ref ref;
	const struct inv_type *type;
	const struct card_row *row;
	const struct lease *lease;
	struct gc pass;
	const struct gc_item *verdict; /* the vGPU's item in `pass`; NULL: none */
	struct affinity last;          /* valid if `remembered` */
	bool remembered;
	enum presence exists;
	int open; /* 1: open in process `pid`; 0: not open; negative errno: unknown */
	pid_t pid;
	const char *owner;
};

enum show_kind show_kind(const struct cmd *cmd)
{
	const char *word = cmd->call->args.operands[0];
	const struct inventory *inv = &cmd->world.inv;
	const struct inv_parent *parent;
	struct vgpu_ref vgpu;
	struct affinity last;
	struct err ignored;
	char id[ID_SIZE], physfn[PCI_SIZE], pgpu[PARENT_SIZE];

	if (!id_parse(id, word))
		return parent_given(pgpu, word) && cards_pgpu(&cmd->world, pgpu, &ignored) ? SHOW_PGPU : SHOW_DOMAIN;
	vgpu = kernel_vgpu(id);
	parent = inventory_parent(inv, id);
	if (show_lease(cmd, id) || affinity_get(&cmd->store, id, &last) ||
	    inventory_presence(inv, &cmd->host, &vgpu) == PRESENT)
		return SHOW_VGPU;
	if (vgpu.framework == FW_MDEV)
		return SHOW_DOMAIN;
	/* A VF is or can become a vGPU. But if the VF provides mdevs, its address means its card. */
	return inventory_physfn(&cmd->host, id, physfn) && !(parent && parent->card->framework == FW_MDEV) ? SHOW_VGPU
													   : SHOW_PGPU;
}

const struct lease *show_lease(const struct cmd *cmd, const char *id)
{
	const struct lease *lease = lease_find(&cmd->world.leases, id);

	return lease ? lease : lease_find(&cmd->world.void_leases, id);
}

struct vgpu_ref show_ref(const struct cmd *cmd, const char *id)
{
	const struct inv_device *device = inventory_device(&cmd->world.inv, id);
	const struct inv_parent *vf = inventory_parent(&cmd->world.inv, id);
	const struct lease *lease = show_lease(cmd, id);
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

void show_json_use(struct json_out *json, enum presence exists, int open, pid_t by)
{
	json_out_bool(json, "exists", exists == PRESENCE_UNKNOWN ? -1 : (int)exists);
	json_out_bool(json, "open", open);
	json_out_number(json, "open_by", open > 0 ? by : UNKNOWN);
}

/* Prints a line with a key and a text; nothing if the text is empty. */
__attribute__((format(printf, 2, 3))) static void line_of(const char *key, const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	if (!*text)
		return;
	printf("  %s", key);
	term_wrap_behind(2 + (int)strlen(key), 15, text);
}

/* Only warns if the journal cannot be read. */
static void show_events(struct cmd *cmd, const char *object)
{
	struct json_out *json = cmd_json(cmd);
	struct err why = { 0 };
	bool ever;
	int n;

	if (!json)
		printf("\nlatest events:\n");
	fflush(stdout);
	n = events_print(cmd, object, EVENTS_SHOWN, &ever, &why);
	if (n < 0)
		json_out_string(json, "events", NULL);
	if (why.code)
		out_warn("%s", why.text);
	if (!json && n <= 0 && (n < 0 || !why.code))
		puts(n < 0 ? "  not known" : "  none in the journal");
}

const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova)
{
	return owner_words[owner_of(&(struct owner_facts){
		.framework = vgpu->framework,
		.created = lease && lease->origin == LEASE_CREATED,
		.defined = mdevctl_defines(host, vgpu->id, vgpu->parent),
		.nova = nova,
	})];
}

static int read_facts(struct facts *facts, const struct status *status, struct err *err)
{
	struct cmd *cmd = facts->cmd;
	struct err why = { 0 };
	char id[ID_SIZE], reason[REASON_SIZE];

	id_parse(id, cmd->call->args.operands[0]);
	facts->lease = show_lease(cmd, id);
	facts->remembered = affinity_get(&cmd->store, id, &facts->last);
	facts->ref = show_ref(cmd, id);
	if (facts->ref.framework != FW_MDEV && !*facts->ref.parent && !facts->remembered) {
		inventory_explain_card(&cmd->host, id, false, reason);
		return err_set(err, ENOENT, "%s: not a vGPU: %s", id, reason);
	}
	facts->type = inventory_type(&cmd->world.inv, inventory_pgpu(&cmd->world.inv, facts->ref.pgpu),
				     facts->ref.type);
	facts->exists = inventory_presence(&cmd->world.inv, &cmd->host, &facts->ref);
	facts->row = status_row(status, facts->ref.pgpu);
	struct vfio_users *users = vfio_users_read(&cmd->host, sys_now_ms() + LOOK_MS);
	facts->open = vfio_users_open(users, &cmd->host, id, &facts->pid, &why);
	vfio_users_free(users);
	cmd_gc_ask(cmd, &facts->pass);
	facts->verdict = gc_find(&facts->pass, id);
	/* A leased vGPU is Nova's if its lease has an instance. For an unleased vGPU, `verdict` decides. */
	facts->owner = show_owner(&cmd->host, &facts->ref, facts->lease,
				  facts->lease ? *facts->lease->instance != '\0'
					       : facts->verdict && facts->verdict->novas);
	return 0;
}

static void print_lease(const struct lease *lease)
{
	char since[32], age[32];

	if (!lease) {
		line_of("lease", "none");
		return;
	}
	out_time(since, sys_wall_ms(lease->since_ms) / 1000);
	out_age(age, lease->since_ms);
	line_of("lease", "%s since %s (%s), %s", lease_state_words[lease->state], since, age,
		lease_origin_words[lease->origin]);
	line_of("domain", "%s (%s)", lease->name, lease->domain);
	line_of("instance", "%s", lease->instance);
	line_of("project", "%s", lease->project);
}

static const char *device_words(const struct facts *facts)
{
	if (inventory_kind(&facts->cmd->host, facts->ref.id) == PCI_GOING_VF)
		return "VF, being disabled, but a guest still has it; shut down that guest";
	if (facts->exists == PRESENT)
		return "exists";
	if (facts->exists)
		return "unknown: its driver does not answer";
	return inventory_parent(&facts->cmd->world.inv, facts->ref.id) ? "VF without a type" : "does not exist";
}

static void print_vgpu(const struct facts *facts)
{
	const struct vgpu_ref *ref = &facts->ref;
	const struct inv_type *type = facts->type;
	const struct inv_pgpu *card = facts->row->card;
	const char *model = facts->row->model;
	const char *class = out_class(&facts->cmd->config, ref->type);
	const char *name = type && strcmp(type->name, ref->type) != 0 ? type->name : "";
	char numa[32] = "";

	out_say("vGPU %s", ref->id);
	if (*ref->type)
		line_of("type", "%s%s%s%s%s%s", ref->type, *name ? ", " : "", name, class ? ", class " : "",
			class ? class : "", *card->address ? "" : ", pGPU not found");
	if (facts->remembered && !*ref->type)
		line_of("last", "%s on %s", facts->last.type, facts->last.parent);
	if (type && type->framebuffer_mib != UNKNOWN)
		line_of("framebuffer", "%d MiB", type->framebuffer_mib);
	line_of("framework", "%s", framework_words[ref->framework]);
	if (*ref->parent && strcmp(ref->parent, ref->pgpu) != 0 && strcmp(ref->parent, ref->id) != 0)
		line_of("parent", "%s", ref->parent);
	if (card->numa != UNKNOWN)
		snprintf(numa, sizeof(numa), ", NUMA node %d", card->numa);
	line_of("pGPU", "%s%s%s%s", ref->pgpu, *model ? ", " : "", model, numa);
	line_of("device", "%s", device_words(facts));
	if (facts->open > 0)
		line_of("open", "in process %d", (int)facts->pid);
	else
		line_of("open", "%s", facts->open < 0 ? "unknown" : "no");
	line_of("owner", "%s", facts->owner ? facts->owner : "");
	print_lease(facts->lease);
	if (facts->verdict)
		line_of("gc", "%s: %s", cmd_gc_outcome(facts->verdict), facts->verdict->fate.why);
}

static void json_vgpu(struct json_out *json, const struct facts *facts)
{
	const struct inv_type *type = facts->type;
	const struct gc_item *verdict = facts->verdict;
	struct rows rows = { .json = json };

	json_out_object(json, "vgpu");
	row_vgpu(&rows, &facts->ref);
	json_out_string(json, "type_name", type ? type->name : NULL);
	json_out_string(json, "class", out_class(&facts->cmd->config, facts->ref.type));
	row_whole_lease(&rows, facts->lease,
			type           ? type->framebuffer_mib
			: facts->lease ? facts->lease->framebuffer_mib
				       : UNKNOWN);
	json_out_string(json, "owner", facts->owner);
	show_json_use(json, facts->exists, facts->open, facts->pid);
	json_out_string(json, "gc", verdict ? cmd_gc_outcome(verdict) : NULL);
	json_out_string(json, "gc_reason", verdict ? verdict->fate.why : NULL);
	json_out_string(json, "last_type", facts->remembered ? facts->last.type : NULL);
	json_out_string(json, "last_parent", facts->remembered ? facts->last.parent : NULL);
	json_out_close(json);
}

static const struct table_layout types_layout = {
	.columns = { COL_TYPE, COL_NAME, COL_CLASS, COL_MIB, COL_CAPACITY, COL_USED, COL_AVAILABLE, COL_REASON },
	.narrow = { COL_NAME, COL_CLASS, COL_MIB },
};

static const struct table_layout vgpus_layout = {
	.columns = { COL_ID, COL_TYPE, COL_PARENT, COL_STATE, COL_AGE, COL_DOMAIN },
	.narrow = { COL_PARENT, COL_AGE },
};

static void print_pgpu(const struct status *status, const struct card_row *row)
{
	const struct world *world = &status->cmd->world;
	const struct inv_pgpu *card = row->card;
	const char *model = row->model;
	const struct capacity_framebuffer mib = row->mib;

	out_say("pGPU %s", card->address);
	if (*card->vendor)
		line_of("model", "%s%s%s:%s%s", model, *model ? " (" : "", card->vendor, card->device,
			*model ? ")" : "");
	line_of("framework", "%s", cards_framework(card));
	if (card->nvfs)
		line_of("VFs", "%d", card->nvfs);
	if (card->numa != UNKNOWN)
		line_of("NUMA node", "%d", card->numa);
	line_of("driver", "%s", card->nvidia ? world->inv.nvidia_driver : "");
	line_of("pool", "%s%s%s", card->pool.in_pool ? "yes" : "no", *row->reason ? ": " : "", row->reason);
	if (mib.whole != UNKNOWN)
		line_of("framebuffer", "%d of %d MiB in use", mib.used, mib.whole);
	else if (mib.used != UNKNOWN)
		line_of("framebuffer", "%d MiB in use", mib.used);
	for (size_t i = 0; i < world->nfailures; i++)
		if (strcmp(world->failures[i].pgpu, card->address) == 0)
			line_of("failed", "creation of %s, in the last minutes; this pGPU is tried last",
				world->failures[i].type);
	if (!card->noffers)
		return;
	putchar('\n');
	cards_offers(cmd_rows(status->cmd, &types_layout, NULL), world, row);
	cmd_rows_end(status->cmd);
}

static void print_pgpus(const struct status *status, struct json_out *json)
{
	struct rows *rows;

	if (json) {
		json_out_string(json, "nvidia_driver", status->cmd->world.inv.nvidia_driver);
		status_json_pgpus(json, status);
		return;
	}
	for (size_t row = 0; row < status->nrows; row++)
		print_pgpu(status, &status->rows[row]);
	if (!status->nvgpus)
		return;
	putchar('\n');
	rows = cmd_rows(status->cmd, &vgpus_layout, NULL);
	for (size_t i = 0; i < status->nvgpus; i++)
		status_vgpu(rows, &status->vgpus[i]);
	cmd_rows_end(status->cmd);
}

int show_object(struct cmd *cmd, bool is_vgpu, struct err *err)
{
	struct facts facts = { .cmd = cmd };
	autostatus struct status status = { 0 };
	struct json_out *json;
	const char *object = cmd->call->args.operands[0];

	if (cmd->call->args.bits & CMD_TABLE & ~CMD_JSON) {
		err_set(err, EINVAL, "show: '%s' is not a domain: --output, --sort and --no-headings require one",
			object);
		return CMD_USAGE;
	}
	if (!is_vgpu)
		cmd_take_pgpu(cmd, object);
	if (status_read(&status, cmd, err) < 0 || (is_vgpu && read_facts(&facts, &status, err) < 0))
		return -err->code;
	json = cmd_json(cmd);
	if (!is_vgpu)
		print_pgpus(&status, json);
	else if (json)
		json_vgpu(json, &facts);
	else
		print_vgpu(&facts);
	show_events(cmd, is_vgpu ? facts.ref.id : status.rows[0].card->address);
	gc_free(&facts.pass);
	return 0;
}
