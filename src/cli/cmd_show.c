/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease show: compare libvirt, the leases and the kernel about a domain, or show a vGPU or a pGPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "domain/domxml.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/vfio_users.h"
#include "act/gc.h"

enum { SHOW_MAX = 3 * REQUEST_MAX, LOOK_MS = 10000 };

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

static void show_json_use(struct json_out *json, enum presence exists, int open, pid_t by)
{
	json_out_bool(json, "exists", exists == PRESENCE_UNKNOWN ? -1 : (int)exists);
	json_out_bool(json, "open", open);
	json_out_number(json, "open_by", open > 0 ? by : UNKNOWN);
}

static const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease,
			      bool nova)
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
	facts->lease = cmd_lease(cmd, id);
	facts->remembered = affinity_get(&cmd->store, id, &facts->last);
	facts->ref = cmd_ref(cmd, id);
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
	const char *class = out_class(&facts->cmd->config, ref->type);
	const char *name = type && strcmp(type->name, ref->type) != 0 ? type->name : "";
	const struct lease *lease = facts->lease;
	char numa[32] = "", since[32], age[32];

	out_say("vGPU %s", ref->id);
	if (*ref->type)
		out_fact("type", "%s%s%s%s%s%s", ref->type, *name ? ", " : "", name, class ? ", class " : "",
			 class ? class : "", *card->address ? "" : ", pGPU not found");
	if (facts->remembered && !*ref->type)
		out_fact("last", "%s on %s", facts->last.type, facts->last.parent);
	if (type && type->framebuffer_mib != UNKNOWN)
		out_fact("framebuffer", "%d MiB", type->framebuffer_mib);
	out_fact("framework", "%s", framework_words[ref->framework]);
	if (*ref->parent && strcmp(ref->parent, ref->pgpu) != 0 && strcmp(ref->parent, ref->id) != 0)
		out_fact("parent", "%s", ref->parent);
	if (card->numa != UNKNOWN)
		snprintf(numa, sizeof(numa), ", NUMA node %d", card->numa);
	out_fact("pGPU", "%s%s%s%s", ref->pgpu, *facts->row->model ? ", " : "", facts->row->model, numa);
	out_fact("device", "%s", device_words(facts));
	if (facts->open > 0)
		out_fact("open", "in process %d", (int)facts->pid);
	else
		out_fact("open", "%s", facts->open < 0 ? "unknown" : "no");
	out_fact("owner", "%s", facts->owner ? facts->owner : "");
	if (lease) {
		out_time(since, sys_wall_ms(lease->since_ms) / 1000);
		out_age(age, lease->since_ms);
		out_fact("lease", "%s since %s (%s), %s", lease_state_words[lease->state], since, age,
			 lease_origin_words[lease->origin]);
		out_fact("domain", "%s (%s)", lease->name, lease->domain);
		out_fact("instance", "%s", lease->instance);
		out_fact("project", "%s", lease->project);
	} else {
		out_fact("lease", "none");
	}
	if (facts->verdict)
		out_fact("gc", "%s: %s", cmd_gc_outcome(facts->verdict), facts->verdict->fate.why);
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

static int show_object(struct cmd *cmd, bool is_vgpu, struct err *err)
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
		status_show_pgpus(&status, json);
	else if (json)
		json_vgpu(json, &facts);
	else
		print_vgpu(&facts);
	show_events(cmd, is_vgpu ? facts.ref.id : status.rows[0].card->address);
	gc_free(&facts.pass);
	return 0;
}

struct show {
	struct cmd *cmd;
	const struct virt_domain *domain;
	char *config_xml;
	struct domxml *live, *config, *suspended; /* NULL: the domain has no XML of this kind */
	const struct request *request;            /* of `live`, else of `config`, else NULL */
	struct vfio_users *users;
	pid_t qemu; /* 0: unknown */
	struct compare views[SHOW_MAX];
	char advice[SHOW_MAX][REASON_SIZE];
	struct gc pass;
	size_t n;
};

static const struct vgpu_request *find_req(const struct domxml *doc, const char *id)
{
	return doc ? request_find(domxml_request(doc), id) : NULL;
}

static int read_sides(struct show *show, struct err *err)
{
	const struct hotplug *hp = &show->cmd->hp;
	const struct virt_domain *domain = show->domain;
	autofree char *pid_file = mem_format("run/libvirt/qemu/%s.pid", domain->name);

	if (domain->running &&
	    (hotplug_parse(hp, domain->xml, &show->live, err) < 0 ||
	     domxml_parse(&show->suspended, domain->xml, strlen(domain->xml), DOMXML_SUSPENDED, err) < 0))
		return -err->code;
	if (domain->persistent && (virt_xml(hp->virt, domain->uuid, VIRT_CONFIG, &show->config_xml, err) < 0 ||
				   hotplug_parse(hp, show->config_xml, &show->config, err) < 0))
		return -err->code;
	show->users = vfio_users_read(hp->host, sys_now_ms() + LOOK_MS);
	if (domain->running && !strchr(domain->name, '/'))
		show->qemu = libvirt_read_pid(hp->host->root, pid_file);
	if (show->qemu < 0)
		show->qemu = 0;
	return 0;
}

static void add_view(struct show *show, const char *id)
{
	const struct cmd *cmd = show->cmd;
	const struct inv_device *device = inventory_device(&cmd->world.inv, id);
	const struct vgpu_ref ref = cmd_ref(cmd, id);
	struct compare *view = &show->views[show->n];
	struct err ignored;

	for (size_t i = 0; i < show->n; i++)
		if (strcmp(show->views[i].id, id) == 0)
			return;
	if (show->n == SHOW_MAX)
		return;
	*view = (struct compare){ .id = id,
				  .domain = show->domain->uuid,
				  .name = text_operand(show->domain->name, show->domain->uuid),
				  .runs = show->domain->running,
				  .live = find_req(show->live, id),
				  .config = find_req(show->config, id),
				  .taken = find_req(show->suspended, id),
				  .lease = cmd_lease(cmd, id),
				  .exists = inventory_presence(&cmd->world.inv, &cmd->host, &ref),
				  .type = device ? device->vgpu.type : "",
				  .parent = device ? device->vgpu.parent : "",
				  .qemu = show->qemu,
				  .exiting = sys_process_exits(show->qemu) };
	view->open = vfio_users_open(show->users, &cmd->host, id, &view->by, &ignored);
	show->n++;
}

static void add_side(struct show *show, const struct domxml *doc)
{
	for (size_t i = 0; doc && i < domxml_request(doc)->nvgpus; i++)
		add_view(show, domxml_request(doc)->vgpus[i].id);
}

static int find_views(struct show *show, struct err *err)
{
	const struct world *world = &show->cmd->world;
	const struct leases *const leases[] = { &world->leases, &world->void_leases };
	bool loose = false;

	if (read_sides(show, err) < 0)
		return -err->code;
	if (show->live || show->config)
		show->request = domxml_request(show->live ? show->live : show->config);
	add_side(show, show->live);
	add_side(show, show->config);
	add_side(show, show->suspended);
	for (size_t k = 0; k < ARRAY_SIZE(leases); k++)
		for (EACH(const struct lease *, l, leases[k]->list, leases[k]->n))
			if (strcmp(l->domain, show->domain->uuid) == 0)
				add_view(show, l->vgpu.id);
	for (size_t i = 0; show->cmd->hp.virt && i < show->n; i++)
		loose |= show->views[i].lease && (!show->views[i].live || !show->domain->running);
	if (loose)
		cmd_gc_ask(show->cmd, &show->pass);
	for (EACH(struct compare *, view, show->views, show->n)) {
		const struct gc_item *item = gc_find(&show->pass, view->id);

		if (loose)
			view->gc = item && item->leased ? cmd_gc_advice(show->advice[view - show->views], item)
							: "see 'vgpu-lease gc --dry-run'";
		if (show->cmd->hp.virt)
			compare_views(view);
		/* If the kernel does not report the type or parent, show that of the lease. */
		if (view->lease && !*view->type)
			view->type = view->lease->vgpu.type;
		if (view->lease && !*view->parent)
			view->parent = view->lease->vgpu.parent;
	}
	return 0;
}

static const struct table_layout layout = {
	.columns = { COL_ID, COL_TYPE, COL_PARENT, COL_LIBVIRT, COL_LEASE, COL_ORIGIN, COL_KERNEL, COL_OPEN },
	.more = { COL_OWNER },
	.narrow = { COL_ORIGIN, COL_PARENT, COL_TYPE },
};

static void print_row(struct rows *rows, const struct show *show, const struct compare *v)
{
	const struct lease *lease = v->lease;
	const char *state = lease ? lease_state_words[lease->state] : NULL;
	const struct vgpu_ref vgpu = cmd_ref(show->cmd, v->id);

	row_begin(rows);
	row_text(rows, COL_ID, "id", v->id);
	row_text(rows, COL_TYPE, "type", v->type);
	row_text(rows, COL_PARENT, "parent", v->parent);
	table_text(&rows->table, COL_LIBVIRT,
		   v->live     ? (v->config ? "live,config" : "live")
		   : v->config ? "config"
			       : "");
	json_out_bool(rows->json, "live", v->live);
	json_out_bool(rows->json, "config", v->config);
	table_text(&rows->table, COL_LEASE, lease && strcmp(lease->domain, v->domain) != 0 ? "other's" : state);
	json_out_string(rows->json, "lease", state);
	row_text(rows, COL_ORIGIN, "origin", lease ? lease_origin_words[lease->origin] : NULL);
	row_text(rows, COL_OWNER, "owner",
		 show_owner(&show->cmd->host, &vgpu, lease, show->request && show->request->nova));
	json_out_string(rows->json, "leased_to", lease ? lease->domain : NULL);
	table_text(&rows->table, COL_KERNEL, v->exists == PRESENT ? "yes" : v->exists ? "?" : "");
	if (v->open > 0)
		table_number(&rows->table, COL_OPEN, v->by);
	else
		table_text(&rows->table, COL_OPEN, v->open < 0 ? "?" : "");
	show_json_use(rows->json, v->exists, v->open, v->by);
	json_out_array(rows->json, "differences");
	for (size_t i = 0; i < v->n; i++)
		json_out_string(rows->json, NULL, v->differences[i]);
	json_out_close(rows->json);
	row_end(rows);
}

static void say_rest(const struct show *show)
{
	const struct request *request = show->request;
	const char *name = show->domain->name;

	for (EACH(const struct compare *, view, show->views, show->n))
		for (size_t i = 0; i < view->n; i++)
			out_say("%s: %s", view->id, view->differences[i]);
	if (request && *request->instance)
		out_say("domain %s: instance %s, project %s", name, request->instance,
			*request->project ? request->project : "-");
	if (show->suspended && domxml_request(show->suspended)->nvgpus)
		out_say("domain %s: vGPUs detached by suspend are missing; run 'vgpu-lease resume %s'", name,
			text_operand(name, show->domain->uuid));
}

static void print(const struct show *show)
{
	const struct request *request = show->request;
	struct rows *rows = cmd_rows(show->cmd, &layout, NULL);

	out_json_domain(rows->json, show->domain->uuid, show->domain->name);
	json_out_string(rows->json, "instance", request ? request->instance : NULL);
	json_out_string(rows->json, "project", request && *request->instance ? request->project : NULL);
	json_out_bool(rows->json, "running", show->domain->running);
	json_out_number(rows->json, "pid", show->qemu ? show->qemu : -1);
	json_out_array(rows->json, "devices");
	for (EACH(const struct compare *, view, show->views, show->n))
		print_row(rows, show, view);
	json_out_close(rows->json);
	json_out_number(rows->json, "suspended", show->suspended ? (long)domxml_request(show->suspended)->nvgpus : 0);
	cmd_rows_end(show->cmd);
	if (!rows->json)
		say_rest(show);
}

static int show_domain(struct cmd *cmd, struct err *err)
{
	autofree struct show *show = mem_new(1, sizeof(*show));
	int r;

	show->cmd = cmd;
	show->domain = &cmd->hp.domain;
	r = find_views(show, err);
	if (r == 0)
		print(show);
	for (size_t i = 0; r == 0 && i < show->n; i++)
		r = show->views[i].n ? CMD_FAILED : 0;
	domxml_free(show->live);
	domxml_free(show->config);
	domxml_free(show->suspended);
	free(show->config_xml);
	vfio_users_free(show->users);
	gc_free(&show->pass);
	return r;
}

/* On a simulated host without libvirt, finds the domain by its leases. */
static int find_leased(struct cmd *cmd, struct err *err)
{
	autoleases struct leases leases = { 0 };
	const char *word = cmd->call->args.operands[0];
	char similar[CMD_SIMILAR_SIZE];
	struct err why;

	if (!cmd_knows_domain(cmd, word, similar, &why))
		return err_set(err, ENOENT, "%s: no such domain, vGPU or pGPU on this host%s", word, similar);
	if (lease_list(&cmd->store, &leases, err) < 0)
		return -err->code;
	for (EACH(const struct lease *, lease, leases.list, leases.n))
		if (lease_is_of(lease, word)) {
			memcpy(cmd->hp.domain.uuid, lease->domain, sizeof(cmd->hp.domain.uuid));
			cmd->hp.domain.name = mem_strdup(lease->name);
			return 0;
		}
	return cmd_open_domain(cmd, err);
}

static int run(struct cmd *cmd, struct err *err)
{
	const struct cmd_call *call = cmd->call;
	enum cmd_kind kind;
	int r;

	if (cmd_survey(cmd, err) < 0)
		return -err->code;
	kind = cmd_kind(cmd);
	if (kind != SHOW_DOMAIN)
		return show_object(cmd, kind == SHOW_VGPU, err);
	r = call->args.root && !call->connect ? find_leased(cmd, err) : cmd_open_domain(cmd, err);
	return r < 0 ? r : show_domain(cmd, err);
}

const struct command cmd_show = {
	.name = "show",
	.operands = { "OBJECT" },
	.options = CMD_TABLE | CMD_CONNECT,
	.summary = "Show a domain, a vGPU or a physical GPU",
	.help = "OBJECT is a domain (name or UUID), a vGPU (ID) or a pGPU (address).\n"
		"\n"
		"For a domain, compare libvirt, the leases and the kernel; differences and their\n"
		"fixes follow, and the exit status is then 1. For a vGPU or a pGPU, print all\n"
		"that is known, and the latest events.\n",
	.table = &layout,
	.run = run,
};
