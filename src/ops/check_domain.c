/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt's domains: metadata without effect, and guests without one of their vGPUs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "base/auto.h"
#include "domain/domxml.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"
#include "ops/preview.h"
#include "survey/hostdev_filter.h"
#include "survey/remark.h"
#include "survey/running.h"
#include "base/text.h"

#define DEFINED LIBVIRT_ETC "/qemu"

enum { SHOWN_SIZE = 4 * 256 /* each byte can become \xNN */ };

struct about {
	struct check *check;
	const char *path;
};

static void report(void *arg, const char *text, const char *fix)
{
	const struct about *about = arg;

	check_warn(check_at_path(about->check, about->path), fix, "%s", text);
}

/* The type that the metadata, or else mdevctl's definition, gives a vGPU that does not exist; "" if neither does. */
static const char *stated_type(const struct check *check, const struct vgpu_request *req, struct definition *definition)
{
	struct err ignored;

	if (*req->facts.type || req->kind != REQUEST_MDEV || inventory_device(check->inv, req->id) ||
	    mdevctl_definition(definition, check->host, req->id, &ignored) != 1)
		return req->facts.type;
	return definition->type;
}

/* Is the stated type of a vGPU one that the host has but that is not enabled, or not for the VF that it names? */
static bool has_other_type(const struct check *check, const struct request *request)
{
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct inv_parent *vf = inventory_parent(check->inv, request->vgpus[i].id);
		struct definition definition;
		const char *type = stated_type(check, &request->vgpus[i], &definition);

		if (!*type || !inventory_type(check->inv, type))
			continue;
		if (!config_section(check->config, type) || (vf && !pool_gives(vf, type)))
			return true;
	}
	return false;
}

/* Reports a domain that does not run if its start would be refused for a reason other than capacity. */
static void report_refused(struct check *check, const struct domxml *doc, const char *path)
{
	const struct request *request = domxml_request(doc);
	const struct plan *plan = &check->plan;
	bool mdev;
	struct err err;
	int r;

	if (!request->nvgpus || libvirt_files_has_status(check->host, request->name))
		return;
	r = check_plan(check, check->config, request, PLAN_PREPARE, &err);
	/* The domain is not at fault if this user may not look, or for what it could have at another time. */
	if (r < 0 ? check_denied(err.code)
		  : plan->kind != PLAN_REFUSE || plan->in_use || plan->no_quota ||
			    (plan->no_capacity && !has_other_type(check, request)))
		return;
	/* look_at_definition() reports a placeholder. */
	if (r == 0 && request->vgpus[plan->refused_vgpu].any)
		return;
	if (r == 0)
		err_set(&err, EINVAL, "vGPU %s: %s", request->vgpus[plan->refused_vgpu].id, plan->text);
	mdev = request->vgpus[r < 0 ? 0 : plan->refused_vgpu].kind == REQUEST_MDEV;
	check_fail(check_at_path(check, path),
		   request->nova ? "or correct the configuration"
		   : mdev        ? "correct the domain, or the configuration"
				 : "fix the cause, or correct the hostdev",
		   "a start of domain %s would be refused: %s", request->name, err.text);
}

/* Reports on one definition. True if its metadata requests a vGPU, even in a misspelt namespace. */
static bool look_at_definition(struct check *check, const struct libvirt_file *file)
{
	bool marked = domxml_concerns(file->text, file->len) || memmem(file->text, file->len, "vgpu", 4);
	char path[sizeof(DEFINED) + SHOWN_SIZE + 8], safe[SHOWN_SIZE];
	struct about about = { .check = check, .path = path };
	autodomxml struct domxml *doc = NULL;
	const struct request *request;
	struct err ignored;

	if ((!marked && !domxml_has_pci(file->text, file->len) && !file->past) ||
	    domxml_parse(&doc, file->text, file->len, DOMXML_FILE | DOMXML_REMARKS | DOMXML_ALL_PCI, &ignored) < 0)
		return false;
	text_cut(safe, sizeof(safe), file->name);
	snprintf(path, sizeof(path), "%s/%s.xml", DEFINED, safe);
	remark_hostdevs(doc, check->host, check->inv, report, &about);
	hostdev_filter_keep(doc, check->host, check->config, NULL);
	request = domxml_request(doc);
	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].any)
			check_warn(check_at_path(check, path),
				   check_fix(check, "run 'vgpu-lease rewrite %s' to assign a UUID",
					     text_operand(request->name, request->uuid)),
				   "domain %s: %s is a placeholder, so a start is refused", request->name,
				   request->vgpus[i].id);
	if (check->inv)
		report_refused(check, doc, path);
	remark_domain(doc, check->host, report, &about);
	return marked;
}

static void report_missing_vgpu(void *arg, const struct missing_vgpu *l)
{
	struct check *check = arg;
	autofree char *path = mem_format("%s/%s.xml", DEFINED, l->name);
	const char *fix = "the next start adds it; ignore this if it is intended";

	if (!l->id) {
		check_warn(check_at_path(check, path), "hard-reboot the instance",
			   "domain %s runs without a vGPU, but domain %s, an instance of the same flavor, has one",
			   l->name, l->like);
		return;
	}
	if (l->suspended)
		fix = check_fix(check, "run 'vgpu-lease resume %s' to attach it", text_operand(l->name, l->uuid));
	else if (l->nova)
		fix = "hard-reboot the instance";
	/* Only a warning if the vGPU may have been defined by hand for the next start, which Nova does not do. */
	check_report(check_at_path(check, path), l->nova || l->suspended ? CHECK_FAIL : CHECK_WARN, fix,
		     "domain %s runs without vGPU %s, which %s", l->name, l->id,
		     l->suspended ? "a suspend detached" : "its definition has");
}

void check_domains(struct check *check)
{
	size_t found = 0, noted = check->n;

	for (EACH(const struct libvirt_file *, file, check->disk->list, check->disk->n))
		if (!file->runs)
			found += look_at_definition(check, file);
	if (found && check->n == noted)
		check_pass(check_at_path(check, DEFINED), "metadata of %zu definition%s valid", found,
			   found == 1 ? "" : "s");
	running_missing(check->disk, check->host, check->config, check->leases, report_missing_vgpu, check);
}
