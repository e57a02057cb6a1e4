/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory: list pGPUs and their problems. Also reads and prints what `status` and `show` have of them. */
#include "cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-hwdb.h>

#include "base/mem.h"
#include "base/text.h"

/* Reads the card's model, such as "TU104GL [Tesla T4]", from udev's hardware database. */
static void name_model(struct card_row *row, sd_hwdb *names)
{
	char modalias[64];
	const char *model;

	if (!names || !*row->card->vendor)
		return;
	/* The kernel writes each ID with eight capital hex digits. */
	snprintf(modalias, sizeof(modalias), "pci:v%08lXd%08lX", strtoul(row->card->vendor, NULL, 16),
		 strtoul(row->card->device, NULL, 16));
	if (sd_hwdb_get(names, modalias, "ID_MODEL_FROM_DATABASE", &model) >= 0)
		text_cut(row->model, sizeof(row->model), model);
}

/* `missing`: the section that configures a missing card; NULL: the card is in the inventory. */
static void add_row(struct status *status, const struct inv_pgpu *card, const struct section *missing, sd_hwdb *names)
{
	const struct cmd *cmd = status->cmd;
	const struct section *section = missing ? missing : card->pool.section;
	struct card_row *row = &status->rows[status->nrows];
	const bool configured = config_is_valid(&cmd->config);

	if (cmd->call->pgpu && strcmp(cmd->call->pgpu, card->address) != 0)
		return;
	status->nrows++;
	*row = (struct card_row){ .card = card,
				  .missing = missing,
				  .type = section ? section->type : "",
				  .count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN },
				  .mib = { UNKNOWN, UNKNOWN } };
	name_model(row, names);
	if (!missing) {
		row->mib = capacity_framebuffer(&cmd->world, card);
		capacity_count(&row->count, &cmd->world, card, inventory_offer(card, row->type));
	}
	/* Without a configuration, give the reason why 'vgpu-lease init' would leave out the card. */
	if (card->ready && !configured && card->framework == FW_MDEV && !inventory_offered(card) &&
	    !inventory_next_on(&cmd->world.inv, card, NULL))
		inventory_no_offer(card, row->reason);
	else
		text_cut(row->reason, sizeof(row->reason),
			 card->pool.in_pool ? row->count.reason
			 : !card->ready     ? card->reason
			 : configured       ? card->pool.reason
					    : cmd->config.why.text);
}

/* Is the pGPU configured for this type? A missing pGPU also counts. */
static bool cards_serve(const struct card_row *row, const char *type)
{
	return strcmp(type, row->type) == 0 || (!row->missing && pool_serves(row->card, type));
}

const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err)
{
	const struct inv_pgpu *card = inventory_pgpu(&world->inv, name);
	char reason[REASON_SIZE], parent[PARENT_SIZE];
	struct text_guess guess = { .word = name };

	if (card)
		return card;
	parent_parse(parent, name);
	for (size_t i = 0; i < world->inv.npgpus; i++)
		text_guess(&guess, world->inv.pgpus[i]->address);
	inventory_explain_card(world->host, parent, false, reason);
	err_set(err, ENOENT, "%s: %s%s%s", name, reason, guess.best ? "; similar: " : "", guess.best ? guess.best : "");
	return NULL;
}

/* Fails if neither the host nor a lease has the --pgpu. */
static int check_pgpu(struct cmd *cmd, struct err *err)
{
	const struct world *world = &cmd->world;
	const char *pgpu = cmd->call->pgpu;

	if (cmd_survey(cmd, err) < 0)
		return -err->code;
	for (EACH(const struct lease *, lease, world->leases.list, world->leases.n))
		if (strcmp(pgpu, lease->vgpu.pgpu) == 0 || strcmp(pgpu, lease->vgpu.parent) == 0) {
			memcpy(cmd->pgpu, lease->vgpu.pgpu, sizeof(cmd->pgpu));
			return 0;
		}
	if (text_find(world->missing_cards, world->nmissing_cards, sizeof(*world->missing_cards), pgpu))
		return 0;
	return cards_pgpu(world, pgpu, err) ? 0 : -err->code;
}

int cmd_check_filters(struct cmd *cmd, struct err *err)
{
	const char *domain = cmd->call->domain;
	autoleases struct leases leases = { 0 };
	char similar[CMD_SIMILAR_SIZE];
	struct err why = { 0 };
	bool leased = false;

	if (domain && !cmd_knows_domain(cmd, domain, similar, &why))
		return err_set(err, ENOENT, "--domain %s: no such domain on this host%s", domain, similar);
	if (why.code)
		out_warn("--domain %s: no lease; cannot tell whether the domain exists: %s", domain, why.text);
	if (cmd->no_type.code && lease_list(&cmd->store, &leases, err) < 0)
		return -err->code;
	for (EACH(const struct lease *, lease, leases.list, leases.n))
		leased |= strcmp(lease->vgpu.type, cmd->call->type) == 0;
	if (cmd->no_type.code && !leased) {
		*err = cmd->no_type;
		return -err->code;
	}
	return cmd->call->pgpu ? check_pgpu(cmd, err) : 0;
}

static void cards_offers(struct rows *rows, const struct world *world, const struct card_row *row)
{
	for (EACH(const struct inv_offer *, offer, row->card->offers, row->card->noffers)) {
		bool configured = pool_serves(row->card, offer->type->id);
		struct capacity_count count;

		capacity_count(&count, world, row->card, offer);
		row_begin(rows);
		row_type(rows, offer->type, world->config);
		row_count(rows, &count);
		table_text(&rows->table, COL_REASON, configured ? count.reason : "not configured");
		json_out_string(rows->json, "reason", count.reason);
		json_out_bool(rows->json, "configured", configured);
		row_end(rows);
	}
}

static const char *cards_framework(const struct inv_pgpu *card)
{
	return card->nparents || card->framework == FW_VF ? framework_words[card->framework] : "";
}

static void cards_fields(struct rows *rows, const struct world *world, const struct card_row *row)
{
	const struct inv_pgpu *card = row->card;
	struct rows types = { .json = rows->json };
	char ids[2 * sizeof(card->vendor)];

	snprintf(ids, sizeof(ids), "%s%s%s", card->vendor, *card->vendor ? ":" : "", card->device);
	row_text(rows, COL_PGPU, "address", card->address);
	row_text(rows, COL_FRAMEWORK, "framework", cards_framework(card));
	json_out_string(rows->json, "vendor", card->vendor);
	json_out_string(rows->json, "device", card->device);
	table_text(&rows->table, COL_MODEL, *row->model ? row->model : ids);
	json_out_string(rows->json, "model", row->model);
	row_number(rows, COL_NUMA, "numa_node", card->numa);
	row_number(rows, COL_VFS, "vfs", row->missing ? UNKNOWN : card->nvfs);
	row_text(rows, COL_TYPE, "type", row->type);
	table_number(&rows->table, COL_CAPACITY, row->count.capacity);
	table_number(&rows->table, COL_USED, row->count.used);
	table_number(&rows->table, COL_AVAILABLE, row->count.available);
	json_out_bool(rows->json, "in_pool", card->pool.in_pool);
	json_out_bool(rows->json, "ready", card->ready);
	row_text(rows, COL_REASON, "reason", row->reason);
	json_out_array(rows->json, "types");
	cards_offers(&types, world, row);
	json_out_close(rows->json);
}

struct card_row *status_row(const struct status *status, const char *pgpu)
{
	struct card_row *row = status->rows;

	while (row < status->rows + status->nrows && strcmp(row->card->address, pgpu) != 0)
		row++;
	return row;
}

static void add_vgpu(struct status *status, const struct vgpu_ref *ref, const struct lease *lease)
{
	const struct inventory *inv = &status->cmd->world.inv;
	const struct inv_type *type = inventory_type(inv, inventory_pgpu(inv, ref->pgpu), ref->type);
	struct card_row *row = status_row(status, ref->pgpu);

	status->nall++;
	if (!cmd_matches(status->cmd->call, ref, lease))
		return;
	row->nvgpus++;
	status->vgpus[status->nvgpus++] = (struct status_vgpu){
		.ref = ref,
		.lease = lease,
		.row = row,
		.mib = type    ? type->framebuffer_mib
		       : lease ? lease->framebuffer_mib
			       : UNKNOWN,
	};
}

static int by_row(const void *a, const void *b)
{
	const struct status_vgpu *x = a, *y = b;

	return x->row != y->row ? (x->row > y->row) - (x->row < y->row) : strcmp(x->ref->id, y->ref->id);
}

int status_read(struct status *status, struct cmd *cmd, struct err *err)
{
	static const struct inv_pgpu unknown = { .numa = UNKNOWN };
	const struct world *world = &cmd->world;
	const struct inventory *inv = &world->inv;
	const struct leases *leases = &world->leases;
	const struct cmd_call *call = cmd->call;
	const struct status_vgpu *next;
	sd_hwdb *names = NULL;
	size_t kept = 0;

	if (cmd_survey(cmd, err) < 0 || cmd_check_filters(cmd, err) < 0)
		return -err->code;
	(void)sd_hwdb_new(&names);
	status->cmd = cmd;
	status->rows = mem_new(inv->npgpus + world->nmissing_cards + 1, sizeof(*status->rows));
	for (size_t i = 0; i < inv->npgpus; i++)
		add_row(status, inv->pgpus[i], NULL, names);
	/* A missing pGPU gets a row for each setting that names it. */
	for (EACH(const struct missing_card *, m, world->missing_cards, world->nmissing_cards))
		if (m->how == MISSING_NAMED || status_row(status, m->card.address) == status->rows + status->nrows)
			add_row(status, &m->card, m->section, names);
	sd_hwdb_unref(names);
	if (!status->nrows && call->pgpu && !cards_pgpu(world, call->pgpu, err))
		return -err->code;
	status->vgpus = mem_new(inv->ndevices + leases->n + 1, sizeof(*status->vgpus));
	for (EACH(const struct lease *, lease, leases->list, leases->n))
		add_vgpu(status, &lease->vgpu, lease);
	for (EACH(const struct inv_device *, device, inv->devices, inv->ndevices))
		if (!lease_find(leases, device->vgpu.id))
			add_vgpu(status, &device->vgpu, NULL);
	mem_sort(status->vgpus, status->nvgpus, sizeof(*status->vgpus), by_row);
	next = status->vgpus;
	status->rows[status->nrows].card = &unknown;
	/* Keep pGPUs with a matching vGPU. Without --domain and --state, also keep those of --type (default: all). */
	for (size_t i = 0; i <= status->nrows; i++) {
		struct card_row *row = &status->rows[i];

		row->vgpus = next;
		next += row->nvgpus;
		if (row->nvgpus || i == status->nrows ||
		    (!call->domain && !call->state && (!call->type || cards_serve(row, call->type))))
			status->rows[kept++] = *row;
	}
	status->nrows = kept - 1;
	return 0;
}

void status_vgpu(struct rows *rows, const struct status_vgpu *v)
{
	row_begin(rows);
	row_vgpu(rows, v->ref);
	row_whole_lease(rows, v->lease, v->mib);
	row_end(rows);
}

void status_json_vgpus(struct json_out *json, const struct card_row *row)
{
	struct rows rows = { .json = json };

	json_out_array(json, "vgpus");
	for (EACH(const struct status_vgpu *, v, row->vgpus, row->nvgpus))
		status_vgpu(&rows, v);
	json_out_close(json);
}

void status_json_pgpus(struct json_out *json, const struct status *status)
{
	struct rows rows = { .json = json };

	json_out_array(json, "pgpus");
	for (EACH(const struct card_row *, row, status->rows, status->nrows)) {
		row_begin(&rows);
		cards_fields(&rows, &status->cmd->world, row);
		json_out_number(json, "framebuffer_mib", row->mib.whole);
		json_out_number(json, "framebuffer_used_mib", row->mib.used);
		status_json_vgpus(json, row);
		row_end(&rows);
	}
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
		out_fact("model", "%s%s%s:%s%s", model, *model ? " (" : "", card->vendor, card->device,
			 *model ? ")" : "");
	out_fact("framework", "%s", cards_framework(card));
	if (card->nvfs)
		out_fact("VFs", "%d", card->nvfs);
	if (card->numa != UNKNOWN)
		out_fact("NUMA node", "%d", card->numa);
	out_fact("driver", "%s", card->nvidia ? world->inv.nvidia_driver : "");
	out_fact("pool", "%s%s%s", card->pool.in_pool ? "yes" : "no", *row->reason ? ": " : "", row->reason);
	if (mib.whole != UNKNOWN)
		out_fact("framebuffer", "%d of %d MiB in use", mib.used, mib.whole);
	else if (mib.used != UNKNOWN)
		out_fact("framebuffer", "%d MiB in use", mib.used);
	for (size_t i = 0; i < world->nfailures; i++)
		if (strcmp(world->failures[i].pgpu, card->address) == 0)
			out_fact("failed", "creation of %s, in the last minutes; this pGPU is tried last",
				 world->failures[i].type);
	if (!card->noffers)
		return;
	putchar('\n');
	cards_offers(cmd_rows(status->cmd, &types_layout, NULL), world, row);
	cmd_rows_end(status->cmd);
}

void status_show_pgpus(const struct status *status, struct json_out *json)
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

void status_end(struct status *status)
{
	check_free(&status->check);
	free(status->vgpus);
	free(status->rows);
}

static const struct table_layout layout = {
	.columns = { COL_PGPU, COL_MODEL, COL_NUMA, COL_VFS, COL_TYPE, COL_CAPACITY, COL_USED, COL_AVAILABLE,
		     COL_REASON },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_VFS, COL_NUMA, COL_MODEL },
};

static int inventory(struct cmd *cmd, struct err *err)
{
	const char *type = cmd->call->type;
	autostatus struct status status = { 0 };
	struct rows *rows;
	size_t n = 0;

	if (status_read(&status, cmd, err) < 0)
		return -err->code;
	rows = cmd_rows(cmd, &layout, NULL);
	json_out_object(rows->json, "driver");
	if (*cmd->world.inv.nvidia_driver)
		json_out_string(rows->json, "nvidia", cmd->world.inv.nvidia_driver);
	json_out_close(rows->json);
	json_out_array(rows->json, "pgpus");
	for (EACH(const struct card_row *, row, status.rows, status.nrows)) {
		if (type && !cards_serve(row, type))
			continue;
		row_begin(rows);
		cards_fields(rows, &cmd->world, row);
		row_end(rows);
		n++;
	}
	cmd_rows_end(cmd);
	if (!n && type && !cmd->call->pgpu)
		out_warn("no pGPU is configured for %s; 'vgpu-lease types' shows which provide it", type);
	return CMD_DONE;
}

const struct command cmd_inventory = {
	.name = "inventory",
	.options = CMD_TABLE | CMD_PGPU | CMD_TYPE,
	.summary = "List physical GPUs, their types and any problems",
	.help = "TYPE is the configured type, or the first of several; CAPACITY, USED and\n"
		"AVAILABLE count it. REASON is why the pGPU is not in the pool or has no capacity\n"
		"available. Without a pool, list every GPU that could have vGPUs.\n",
	.table = &layout,
	.run = inventory,
};
