/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease show DOMAIN: what libvirt, the leases, the kernel and QEMU say of a domain's vGPUs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/table.h"
#include "device/kernel.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "host/vfio_users.h"
#include "live/compare.h"
#include "live/qemu.h"
#include "survey/hostdev_filter.h"

enum { SHOW_MAX = 3 * REQUEST_MAX, LOOK_MS = 10000 };

/* All that is asked, and what came of it. */
struct show {
	struct cmd *cmd;
	const struct virt_domain *domain;
	char *config_xml;
	struct domxml *live, *config, *suspended; /* NULL: it does not run; it is transient */
	struct inventory inv;
	struct leases leases;
	struct vfio_users *users;
	pid_t qemu;
	struct compare views[SHOW_MAX];
	char shown[SHOW_MAX][QEMU_TEXT];
	size_t n, differences;
	char reasons[QEMU_REASONS][QEMU_TEXT];
	size_t nreasons;
};

static const struct vgpu_request *find_req(const struct domxml *doc, const char *id)
{
	return doc ? request_find(domxml_request(doc), id) : NULL;
}

/* The process of a domain that runs, as libvirt has written it down; 0: not known. */
static pid_t qemu_pid(const struct host *host, const char *name)
{
	char path[DOMAIN_NAME_SIZE + 32], text[32];
	long pid;

	if (strchr(name, '/') || strlen(name) >= DOMAIN_NAME_SIZE)
		return 0;
	snprintf(path, sizeof(path), "run/libvirt/qemu/%s.pid", name);
	if (file_read(host->root, path, text, sizeof(text)) < 0 || !text_number(text, 1, INT32_MAX, &pid))
		return 0;
	return (pid_t)pid;
}

/* The vGPUs of the domain's XML. */
static int read_side(struct show *show, const char *xml, struct domxml **doc, struct err *err)
{
	const struct hotplug *hp = &show->cmd->hp;

	if (domxml_parse(doc, xml, strlen(xml), DOMXML_ALL_PCI, err) < 0)
		return -err->code;
	return hostdev_filter_keep(*doc, hp->host, hp->config, &show->leases, err);
}

static int look(struct show *show, struct err *err)
{
	static const char *const no_types[] = { NULL };
	const struct hotplug *hp = &show->cmd->hp;
	const struct virt_domain *domain = show->domain;
	const struct inv_query query = {
		.frameworks = INV_ALL, .types = no_types, .vf_name = hp->config ? pool_vf_name : NULL, .arg = hp->config
	};

	if (lease_list(hp->store, &show->leases, err) < 0)
		return -err->code;
	if (domain->running &&
	    (read_side(show, domain->xml, &show->live, err) < 0 ||
	     domxml_parse(&show->suspended, domain->xml, strlen(domain->xml), DOMXML_SUSPENDED, err) < 0))
		return -err->code;
	if (domain->persistent && (virt_xml(hp->virt, domain->uuid, VIRT_CONFIG, &show->config_xml, err) < 0 ||
				   read_side(show, show->config_xml, &show->config, err) < 0))
		return -err->code;
	if (inventory_read(&show->inv, hp->host, &query, err) < 0)
		return -err->code;
	show->users = vfio_users_read(hp->host, host_now_ms() + LOOK_MS);
	show->qemu = domain->running ? qemu_pid(hp->host, domain->name) : 0;
	return 0;
}

/* A VF without a type is a vGPU only as a plain one, as its lease says, or its card. */
static bool is_there(const struct show *show, const char *id, const struct lease *lease)
{
	int vf = inventory_parent(&show->inv, id);
	struct err ignored;

	if (inventory_device(&show->inv, id))
		return true;
	if (!lease)
		return vf != UNKNOWN && show->inv.pgpus[show->inv.parents[vf].pgpu].framework == FW_VF;
	return lease->vgpu.framework == FW_VF && kernel_available(&show->cmd->host, &lease->vgpu, &ignored) == 1;
}

static void add_view(struct show *show, const char *id)
{
	const struct inv_device *device = inventory_device(&show->inv, id);
	const struct lease *lease = lease_find(&show->leases, id);
	struct compare *view = &show->views[show->n];
	struct err ignored;

	for (size_t i = 0; i < show->n; i++)
		if (strcmp(show->views[i].id, id) == 0)
			return;
	if (show->n == SHOW_MAX)
		return;
	*view = (struct compare){ .id = id,
				  .domain = show->domain->uuid,
				  .runs = show->domain->running,
				  .live = find_req(show->live, id),
				  .config = find_req(show->config, id),
				  .taken = find_req(show->suspended, id),
				  .lease = lease,
				  .exists = is_there(show, id, lease),
				  .type = device ? device->vgpu.type : "",
				  .parent = device ? device->vgpu.parent : "",
				  .qemu = show->qemu };
	view->open = vfio_users_open(show->users, &show->cmd->host, id, &view->by, &ignored);
	show->n++;
}

static void add_side(struct show *show, const struct domxml *doc)
{
	for (size_t i = 0; doc && i < domxml_request(doc)->nvgpus; i++)
		add_view(show, domxml_request(doc)->vgpus[i].id);
}

static int ask_qemu(struct show *show, struct err *err)
{
	struct virt *virt = show->cmd->hp.virt;

	if (!show->domain->running)
		return err_set(err, EPERM, "domain %s is not running: --qemu requires a running domain",
			       show->domain->name);
	if (!virt_is_qemu(virt))
		return err_set(err, EOPNOTSUPP, "domain %s is not a QEMU domain", show->domain->name);
	for (size_t i = 0; i < show->n; i++) {
		const struct vgpu_request *req = find_req(show->live, show->views[i].id);

		if (!req)
			continue;
		if (qemu_device(virt, show->domain->uuid, req->alias, show->shown[i], err) < 0)
			return -err->code;
		show->views[i].shown = show->shown[i];
	}
	return qemu_blockers(virt, show->domain->uuid, show->reasons, &show->nreasons, err);
}

static int gather(struct show *show, struct err *err)
{
	if (look(show, err) < 0)
		return -err->code;
	add_side(show, show->live);
	add_side(show, show->config);
	for (size_t i = 0; i < show->leases.n; i++)
		if (strcmp(show->leases.list[i].domain, show->domain->uuid) == 0)
			add_view(show, show->leases.list[i].vgpu.id);
	if (show->cmd->call->qemu && ask_qemu(show, err) < 0)
		return -err->code;
	for (size_t i = 0; i < show->n; i++) {
		compare(&show->views[i]);
		show->differences += show->views[i].n;
	}
	return 0;
}

static void add_row(struct table *table, const struct compare *v)
{
	const struct lease *lease = v->lease;
	const char *state = lease ? lease_state_word(lease->state) : "";

	table_row(table, v->id, *v->type || !lease ? v->type : lease->vgpu.type,
		  *v->parent || !lease ? v->parent : lease->vgpu.parent,
		  v->live ? (v->config ? "live,config" : "live") : (v->config ? "config" : ""),
		  lease && strcmp(lease->domain, v->domain) != 0 ? "other's" : state,
		  lease ? lease_origin_word(lease->origin) : "", v->exists ? "yes" : "");
	if (v->open > 0)
		table_addf(table, "%d", (int)v->by);
	else
		table_row(table, v->open < 0 ? "?" : "");
}

static const struct table_layout layout = {
	.columns = { COL_ID, COL_TYPE, COL_PARENT, COL_LIBVIRT, COL_LEASE, COL_ORIGIN, COL_KERNEL, COL_OPEN },
	.narrow = { COL_ORIGIN, COL_PARENT, COL_TYPE },
};

static void print_text(const struct show *show)
{
	const char *name = show->domain->name;
	struct table table;

	table_start(&table, &layout, &show->cmd->call->table);
	for (size_t i = 0; i < show->n; i++)
		add_row(&table, &show->views[i]);
	table_end(&table, stdout, term_stdout());
	for (size_t i = 0; i < show->n; i++)
		for (size_t k = 0; k < show->views[i].n; k++)
			out_say("%s: %s", show->views[i].id, show->views[i].differences[k]);
	if (show->suspended && domxml_request(show->suspended)->nvgpus)
		out_say("domain %s: vGPUs detached by suspend are missing; run 'vgpu-lease resume %s'", name, name);
	if (show->cmd->call->qemu && !show->nreasons)
		out_say("QEMU: domain %s can migrate", name);
	for (size_t i = 0; i < show->nreasons; i++)
		out_say("QEMU: domain %s cannot migrate: %s", name, show->reasons[i]);
}

static void json_view(struct json_out *json, const struct compare *v)
{
	json_out_object(json, NULL);
	json_out_string(json, "id", v->id);
	json_out_text(json, "type", v->type);
	json_out_text(json, "parent", v->parent);
	json_out_bool(json, "live", v->live);
	json_out_bool(json, "config", v->config);
	json_out_string(json, "lease", v->lease ? lease_state_word(v->lease->state) : NULL);
	json_out_string(json, "origin", v->lease ? lease_origin_word(v->lease->origin) : NULL);
	json_out_string(json, "leased_to", v->lease ? v->lease->domain : NULL);
	json_out_bool(json, "exists", v->exists);
	json_out_known(json, "open_by", v->open > 0 ? v->by : -1);
	json_out_string(json, "qemu", v->shown);
	json_out_array(json, "differences");
	for (size_t i = 0; i < v->n; i++)
		json_out_string(json, NULL, v->differences[i]);
	json_out_close(json);
	json_out_close(json);
}

static void print_json(const struct show *show)
{
	struct json_out json;

	cmd_json_begin(&json, show->cmd);
	out_json_domain(&json, show->domain->uuid, show->domain->name);
	json_out_bool(&json, "running", show->domain->running);
	json_out_known(&json, "pid", show->qemu ? show->qemu : -1);
	json_out_array(&json, "devices");
	for (size_t i = 0; i < show->n; i++)
		json_view(&json, &show->views[i]);
	json_out_close(&json);
	json_out_number(&json, "suspended", show->suspended ? (long)domxml_request(show->suspended)->nvgpus : 0);
	if (show->cmd->call->qemu) {
		json_out_array(&json, "migration_blockers");
		for (size_t i = 0; i < show->nreasons; i++)
			json_out_string(&json, NULL, show->reasons[i]);
		json_out_close(&json);
	} else {
		json_out_string(&json, "migration_blockers", NULL);
	}
	json_out_end(&json);
}

static void show_end(struct show *show)
{
	domxml_free(show->live);
	domxml_free(show->config);
	domxml_free(show->suspended);
	free(show->config_xml);
	inventory_free(&show->inv);
	lease_list_free(&show->leases);
	vfio_users_free(show->users);
}

static int run(struct cmd *cmd, struct err *err)
{
	autofree struct show *show = calloc(1, sizeof(*show));
	int r;

	if (!show)
		return err_set(err, ENOMEM, "out of memory");
	show->cmd = cmd;
	show->domain = &cmd->hp.domain;
	r = gather(show, err);
	if (r == 0 && cmd->call->json)
		print_json(show);
	else if (r == 0)
		print_text(show);
	if (r == 0 && show->differences)
		r = CMD_FAILED;
	show_end(show);
	return r;
}

const struct command cmd_show = {
	.name = "show",
	.operand = "DOMAIN",
	.options = CMD_TABLE | CMD_CONNECT | CMD_QEMU,
	.summary = "Compare libvirt, the leases, the kernel and QEMU",
	.help = "Print one line for each vGPU of the domain: whether libvirt has it in the\n"
		"running domain and in its definition, its lease, whether the device exists, and\n"
		"which process has it open. The differences and their fixes follow. If there are\n"
		"any, the exit status is 1.\n"
		"\n"
		"--qemu also asks QEMU which device it uses, and whether the domain can be\n"
		"migrated. libvirt then marks the domain as tainted.\n",
	.table = &layout,
	.needs = CMD_LIBVIRT,
	.run = run,
};
