/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease show DOMAIN: what libvirt, the leases, the kernel and QEMU say of a domain's vGPUs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "live/compare.h"
#include "domain/domxml.h"
#include "base/file.h"
#include "host/vfio_users.h"
#include "host/inventory.h"
#include "survey/hostdev_filter.h"
#include "live/qemu.h"
#include "cli/table.h"
#include "base/text.h"

enum { SHOW_MAX = 3 * REQUEST_MAX, LOOK_MS = 10000 };

/* All that is asked, and what came of it. */
struct show {
	struct cmd cmd;
	struct hotplug hp;
	char *config_xml;
	struct domxml *live, *config, *taken; /* NULL: it does not run; it is transient */
	struct inventory inv;
	struct leases leases;
	struct vfio_users *users;
	pid_t qemu;
	struct compare *views;
	char (*shown)[QEMU_TEXT];
	size_t n, differences;
	char reasons[QEMU_REASONS][QEMU_TEXT];
	size_t nreasons;
};

static const struct vgpu_request *find_req(const struct domxml *doc, const char *id)
{
	const struct request *request = doc ? domxml_request(doc) : NULL;

	for (size_t i = 0; request && i < request->nvgpus; i++)
		if (strcmp(request->vgpus[i].id, id) == 0)
			return &request->vgpus[i];
	return NULL;
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

static int read_side(struct show *show, const char *xml, unsigned int flags, struct domxml **doc, struct err *err)
{
	int r = domxml_parse(doc, xml, strlen(xml), flags, err);

	return r == 0 && flags & DOMXML_ALL_PCI
		       ? hostdev_filter_keep(*doc, show->hp.host, show->hp.config, &show->leases, err)
		       : r;
}

static int look(struct show *show, struct err *err)
{
	static const char *const no_types[] = { NULL };
	const struct inv_query query = { .frameworks = INV_ALL,
					 .types = no_types,
					 .vf_name = show->hp.config ? pool_vf_name : NULL,
					 .arg = show->hp.config };
	const struct virt_domain *domain = &show->hp.domain;
	const struct host *host = &show->cmd.host;
	int r = lease_list(&show->cmd.store, &show->leases, err);

	if (r == 0 && domain->running)
		r = read_side(show, domain->xml, DOMXML_ALL_PCI, &show->live, err);
	if (r == 0 && domain->running)
		r = read_side(show, domain->xml, DOMXML_SUSPENDED, &show->taken, err);
	if (r == 0 && domain->persistent)
		r = virt_xml(show->hp.virt, domain->uuid, VIRT_CONFIG, &show->config_xml, err);
	if (r == 0 && domain->persistent)
		r = read_side(show, show->config_xml, DOMXML_ALL_PCI, &show->config, err);
	if (r == 0)
		r = inventory_read(&show->inv, host, &query, err);
	if (r == 0)
		show->users = vfio_users_read(host, host_now_ms() + LOOK_MS);
	if (r == 0 && domain->running)
		show->qemu = qemu_pid(host, domain->name);
	return r;
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
				  .domain = show->hp.domain.uuid,
				  .runs = show->hp.domain.running,
				  .live = find_req(show->live, id),
				  .config = find_req(show->config, id),
				  .taken = find_req(show->taken, id),
				  .lease = lease,
				  .exists = device || (lease && lease->vgpu.framework == FW_VF),
				  .type = device ? device->vgpu.type : "",
				  .parent = device ? device->vgpu.parent : "",
				  .qemu = show->qemu };
	view->open = vfio_users_open(show->users, &show->cmd.host, id, &view->by, &ignored);
	show->n++;
}

static void add_wants(struct show *show, const struct domxml *doc)
{
	for (size_t i = 0; doc && i < domxml_request(doc)->nvgpus; i++)
		add_view(show, domxml_request(doc)->vgpus[i].id);
}

static int ask_qemu(struct show *show, struct err *err)
{
	struct virt *virt = show->hp.virt;
	const char *uuid = show->hp.domain.uuid;
	int r;

	if (!show->hp.domain.running)
		return err_set(err, EPERM, "domain %s does not run: there is no QEMU to ask", show->hp.domain.name);
	if (!virt_is_qemu(virt))
		return err_set(err, EOPNOTSUPP, "domain %s is none of QEMU's", show->hp.domain.name);
	for (size_t i = 0; i < show->n; i++) {
		const struct vgpu_request *req = find_req(show->live, show->views[i].id);

		if (!req)
			continue;
		r = qemu_device(virt, uuid, req->alias, show->shown[i], err);
		if (r < 0)
			return r;
		show->views[i].shown = show->shown[i];
	}
	return qemu_blockers(virt, uuid, show->reasons, &show->nreasons, err);
}

static int gather(struct show *show, struct err *err)
{
	int r = look(show, err);

	show->views = calloc(SHOW_MAX, sizeof(*show->views));
	show->shown = calloc(SHOW_MAX, sizeof(*show->shown));
	if (!show->views || !show->shown)
		abort();
	if (r < 0)
		return r;
	add_wants(show, show->live);
	add_wants(show, show->config);
	for (size_t i = 0; i < show->leases.n; i++)
		if (strcmp(show->leases.list[i].domain, show->hp.domain.uuid) == 0)
			add_view(show, show->leases.list[i].vgpu.id);
	if (show->cmd.call->qemu)
		r = ask_qemu(show, err);
	for (size_t i = 0; i < show->n; i++) {
		compare(&show->views[i]);
		show->differences += show->views[i].n;
	}
	return r;
}

static const char *lease_word(const struct compare *view)
{
	if (!view->lease)
		return "";
	return strcmp(view->lease->domain, view->domain) == 0 ? lease_state_word(view->lease->state) : "other's";
}

static void print_text(const struct show *show)
{
	static const char *const heading[] = { "ID", "TYPE", "PARENT", "LIBVIRT", "LEASE", "KERNEL", "OPEN", NULL };
	const struct virt_domain *domain = &show->hp.domain;
	struct table table;

	table_start(&table, heading);
	for (size_t i = 0; i < show->n; i++) {
		const struct compare *v = &show->views[i];
		bool known = *v->type || v->lease;

		table_add(&table, v->id);
		table_add(&table, !known ? "" : *v->type ? v->type : v->lease->vgpu.type);
		table_add(&table, *v->parent || !v->lease ? v->parent : v->lease->vgpu.parent);
		table_add(&table, v->live ? (v->config ? "live,config" : "live") : (v->config ? "config" : ""));
		table_add(&table, lease_word(v));
		table_add(&table, v->exists ? "yes" : "");
		if (v->open > 0)
			table_addf(&table, "%d", (int)v->by);
		else
			table_add(&table, v->open < 0 ? "?" : "");
	}
	table_end(&table, stdout);
	for (size_t i = 0; i < show->n; i++)
		for (size_t k = 0; k < show->views[i].n; k++)
			cmd_say("%s: %s", show->views[i].id, show->views[i].differences[k]);
	if (show->taken && domxml_request(show->taken)->nvgpus)
		cmd_say("domain %s lacks what a suspend took from it: 'vgpu-lease resume %s'", domain->name,
			domain->name);
	if (!show->cmd.call->qemu)
		return;
	if (!show->nreasons)
		cmd_say("QEMU: domain %s can migrate", domain->name);
	for (size_t i = 0; i < show->nreasons; i++)
		cmd_say("QEMU: domain %s cannot migrate: %s", domain->name, show->reasons[i]);
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

	cmd_json_begin(&json, &show->cmd);
	json_out_object(&json, "domain");
	json_out_string(&json, "uuid", show->hp.domain.uuid);
	json_out_string(&json, "name", show->hp.domain.name);
	json_out_close(&json);
	json_out_bool(&json, "running", show->hp.domain.running);
	json_out_known(&json, "pid", show->qemu ? show->qemu : -1);
	json_out_array(&json, "devices");
	for (size_t i = 0; i < show->n; i++)
		json_view(&json, &show->views[i]);
	json_out_close(&json);
	json_out_number(&json, "suspended", show->taken ? (long)domxml_request(show->taken)->nvgpus : 0);
	if (show->cmd.call->qemu) {
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
	free(show->views);
	free(show->shown);
	domxml_free(show->live);
	domxml_free(show->config);
	domxml_free(show->taken);
	free(show->config_xml);
	inventory_free(&show->inv);
	lease_list_free(&show->leases);
	vfio_users_free(show->users);
	hotplug_close(&show->hp);
	cmd_close(&show->cmd);
}

static int run(const struct cmd_call *call, struct err *err)
{
	autofree struct show *show = calloc(1, sizeof(*show));
	int r;

	if (!show)
		abort();
	r = cmd_hotplug(&show->cmd, &show->hp, call, CMD_CONFIG_MAY, false, err);
	if (r == 0)
		r = gather(show, err);
	if (r == 0 && call->json)
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
	.options = CMD_JSON | CMD_CONNECT | CMD_QEMU,
	.summary = "compares what libvirt, leases, kernel and QEMU say of a domain's vGPUs",
	.help = "A line for each vGPU: whether libvirt has it in the running domain and in its definition, its lease, whether the\n"
		"kernel has it, and which process has it open. Then each difference between them, with what to do about it; the\n"
		"exit status is 1 where there is one. --qemu asks QEMU, too: which device it has, and whether the domain can\n"
		"migrate, or why not. libvirt marks the domain as tainted for that.\n",
	.run = run,
};
