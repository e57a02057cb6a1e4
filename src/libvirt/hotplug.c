/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attaches a vGPU to a running domain, and detaches one. */
#include "libvirt/hotplug.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "act/lifecycle.h"
#include "act/preview.h"
#include "base/mem.h"
#include "act/release.h"
#include "look/inventory.h"
#include "internal.h"
#include "model/event.h"
#include "look/pool.h"
#include "look/hostdev_filter.h"
#include "look/migration_facts.h"
#include "base/text.h"
#include "sys/log.h"

enum { VF_TRIES = 16 }; /* attempts, if other processes lease the chosen VF first */

int hotplug_open(struct hotplug *hp, const char *domain, struct err *err)
{
	int r = virt_open(&hp->virt, hp->uri, err);

	hp->asked_ms = sys_now_ms();
	if (r < 0 || virt_find(hp->virt, domain, &hp->domain, err) < 0)
		return -err->code;
	hp->operand = text_operand(hp->domain.name, hp->domain.uuid);
	return 0;
}

void hotplug_close(struct hotplug *hp)
{
	work_locks_end(&hp->work, NULL);
	virt_domain_free(&hp->domain);
	virt_close(hp->virt);
	hp->virt = NULL;
}

int hotplug_lease(struct hotplug *hp, const struct request *request, const char *op, struct err *err)
{
	const struct lifecycle lifecycle = {
		.host = hp->host, .config = hp->config, .request = request, .op = op, .work = &hp->work
	};
	autopreview struct preview preview = { 0 };
	int r = hp->dry_run ? preview_decide(&preview, &lifecycle, PLAN_PREPARE, err)
			    : lifecycle_prepare(&lifecycle, err);

	if (r < 0)
		return err_in(err, "domain %s", hp->domain.name);
	if (hp->dry_run) {
		plan_print(hp->dry_run, &preview.plan, &preview.world, false);
		return 0;
	}
	/* Connect again, because creating can take longer than libvirt waits for a keepalive. */
	virt_close(hp->virt);
	r = virt_open(&hp->virt, hp->uri, err);
	hp->asked_ms = sys_now_ms();
	for (size_t i = 0; r < 0 && i < request->nvgpus; i++)
		hotplug_unlease(hp, request->vgpus[i].id, false, &(struct err){ 0 });
	return r;
}

/* Finds the lease of this vGPU. Returns 1 if it is the domain's own, 0 if it is another domain's or does not exist. */
static int find_lease(struct hotplug *hp, const char *id, struct lease *lease, struct err *err)
{
	int r = hp->dry_run ? lease_get(hp->store, id, lease, err)
			    : lease_get_locked(hp->store, hp->config->policy.lock_timeout_s * 1000, id, lease, err);

	return r == 1 ? strcmp(lease->domain, hp->domain.uuid) == 0 : r;
}

int hotplug_unlease(struct hotplug *hp, const char *id, bool used, struct err *err)
{
	struct policy policy = hp->config->policy;
	struct lease lease;
	int r;

	work_locks_end(&hp->work, id);
	r = find_lease(hp, id, &lease, err);
	if (r != 1)
		return r;
	if (!used)
		policy.driver_cleanup_s = 0;
	/* A younger lease is another command's. A release in progress is completed, whichever process began it. */
	if (lease.since_ms > hp->asked_ms && lease.state != LEASE_RELEASING)
		return 0;
	r = release_now(hp->store, &policy, &lease, INT64_MAX, err);
	/* The lease has changed or is gone: the handler or the hook may be releasing it. Wait for that release. */
	if (r == RELEASE_TAKEN) {
		int64_t by = sys_now_ms() + (int64_t)policy.release_timeout_s * 1000;

		return release_finish(hp->store, &policy, id, by, by, err) < 0 ? -err->code : 0;
	}
	if (r == 0)
		event_log(EVENT_RELEASED, event_of(&lease), "hotplug: domain %s: released %s", hp->domain.name, id);
	return r;
}

int hotplug_plug(struct hotplug *hp, const char *id, const char *xml, unsigned int sides, struct err *err)
{
	int r = virt_change_device(hp->virt, hp->domain.uuid, true, xml, sides, err);

	if (r == -ENOTCONN)
		text_add(err->text, sizeof(err->text),
			 "; whether vGPU %s was attached is unknown, so it stays leased; see 'vgpu-lease show'", id);
	else if (r < 0)
		hotplug_unlease(hp, id, false, &(struct err){ 0 });
	return r;
}

int hotplug_read(struct hotplug *hp, unsigned int side, char **xml, struct domxml **doc, struct err *err)
{
	int r = virt_xml(hp->virt, hp->domain.uuid, side, xml, err);

	return r < 0 ? r : hotplug_parse(hp, *xml, doc, err);
}

int hotplug_write_facts(struct hotplug *hp, unsigned int side, struct err *err)
{
	static const struct inv_query query = { .frameworks = INV_MDEV | INV_VARIANT, .types = inv_no_types };
	autofree char *xml = NULL, *facts = NULL;
	autodomxml struct domxml *doc = NULL;
	autoinventory struct inventory inv = { 0 };
	autoleases struct leases leases = { 0 };

	if (hotplug_read(hp, side, &xml, &doc, err) < 0 || inventory_read(&inv, hp->host, &query, err) < 0 ||
	    lease_list(hp->store, &leases, err) < 0)
		return -err->code;
	facts = migration_facts_element(doc, &inv, &leases);
	return facts ? virt_set_metadata(hp->virt, hp->domain.uuid, DOMXML_NS, DOMXML_NS_KEY, facts, side, err) : 0;
}

/* Is the type (an ID or a class; NULL: any) provided as VFs, but not as mdevs? Negative: the host cannot be read. */
static int is_vf(const struct hotplug *hp, const char *type, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL, .config = hp->config };
	autoinventory struct inventory inv = { 0 };
	bool mdevs = false, vfs = false;

	if (!hostdev_filter_possible(hp->config))
		return 0;
	if (inventory_read(&inv, hp->host, &query, err) < 0)
		return -err->code;
	for (EACH(const struct section *, section, hp->config->sections, hp->config->nsections)) {
		if (type && strcmp(section->type, type) != 0 && strcmp(section->class, type) != 0)
			continue;
		mdevs |= pool_stock(&inv, section, true, NULL) != STOCK_NONE;
		vfs |= pool_stock(&inv, section, false, NULL) != STOCK_NONE;
	}
	return vfs && !mdevs;
}

static int choose_vf(const struct hotplug *hp, const struct request *request, struct err *err)
{
	const struct lifecycle lifecycle = { .host = hp->host, .config = hp->config, .request = request };
	struct vgpu_request *req = request->vgpus;
	autopreview struct preview preview = { 0 };
	const struct vgpu_ref *vgpu;

	req->managed = false;
	req->managed_as_needed = true;
	req->any = true;
	if (preview_make(&preview, &lifecycle, PLAN_ASSIGN, err) < 0)
		return -err->code;
	req->any = false;
	if (preview.plan.kind != PLAN_STEPS)
		return err_set(err, ENOSPC, "domain %s: %s", hp->domain.name, preview.plan.text);
	vgpu = &preview.plan.steps[0].vgpu;
	text_copy(req->id, sizeof(req->id), vgpu->id);
	/* libvirt must bind a plain VF to VFIO's driver. */
	req->managed = vgpu->framework == FW_VF;
	return 0;
}

/* Chooses and leases a VF. If another process leases it first, tries another VF. Negative: the last refusal. */
static int lease_vf(struct hotplug *hp, const struct request *request, struct err *err)
{
	char refused[ID_SIZE] = "";
	int r = -EBUSY;

	/* These errors can mean that another process has leased the VF, or used up its card's capacity. */
	for (int tries = 0; tries < VF_TRIES && (r == -EPERM || r == -ENOSPC || r == -EBUSY || r == -ESTALE); tries++) {
		struct err ignored;

		if (choose_vf(hp, request, tries ? &ignored : err) < 0 || strcmp(request->vgpus->id, refused) == 0)
			break;
		memcpy(refused, request->vgpus->id, ID_SIZE);
		r = hotplug_lease(hp, request, "attach", err);
	}
	return r == 0 ? 0 : -err->code;
}

char *hotplug_hostdev(const struct vgpu_request *req)
{
	unsigned int domain = 0, bus = 0, slot = 0, function = 0;

	if (req->kind == REQUEST_MDEV)
		return mem_format("<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='%s'/>"
				  "</source></hostdev>",
				  req->id);
	sscanf(req->id, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
	return mem_format("<hostdev mode='subsystem' type='pci' managed='%s'><source><address domain='0x%04x' "
			  "bus='0x%02x' slot='0x%02x' function='0x%x'/></source></hostdev>",
			  req->managed ? "yes" : "no", domain, bus, slot, function);
}

int hotplug_choose(struct hotplug *hp, const struct request *domain, const char *type, struct vgpu_request *req,
		   struct err *err)
{
	struct request request = *domain;
	int vf = is_vf(hp, type, err);

	if (vf < 0)
		return vf;
	*req = (struct vgpu_request){ .kind = vf ? REQUEST_PCI : REQUEST_MDEV,
				      .numa = NUMA_AUTO,
				      .has_metadata = vf || type };
	if (type && !text_copy(req->facts.type, sizeof(req->facts.type), type))
		return err_set(err, EINVAL, "--type: not a type");
	request.vgpus = req;
	request.nvgpus = 1;
	/* The new vGPU is not Nova's, so Nova's rules do not apply to it. */
	request.nova = false;
	if (vf)
		return lease_vf(hp, &request, err);
	uuid_random(req->id);
	return hotplug_lease(hp, &request, "attach", err);
}

int hotplug_attach(struct hotplug *hp, const char *type, bool persistent, struct lease *lease, struct err *err)
{
	unsigned int sides = VIRT_LIVE | (persistent ? VIRT_CONFIG : 0);
	autodomxml struct domxml *doc = NULL;
	struct err later = { 0 };
	struct vgpu_request req;
	autofree char *xml = NULL;
	int r;

	if (!hp->domain.running)
		return err_set(err, EPERM, "domain %s: not running; add the vGPU to its definition and start it",
			       hp->domain.name);
	if (persistent && !hp->domain.persistent)
		return err_set(err, EPERM, "domain %s: transient, so it has no definition to change", hp->domain.name);
	if (domxml_parse(&doc, hp->domain.xml, strlen(hp->domain.xml), 0, err) < 0)
		return -err->code;
	placeholder_settle(doc, hp->host);
	if (hotplug_choose(hp, domxml_request(doc), type, &req, err) < 0)
		return -err->code;
	if (hp->dry_run)
		return 0;
	/* Read the lease before the attach, because nothing may fail once the guest has the device. */
	if (find_lease(hp, req.id, lease, err) < 0) {
		hotplug_unlease(hp, req.id, false, &later);
		return -err->code;
	}
	xml = hotplug_hostdev(&req);
	r = hotplug_plug(hp, req.id, xml, sides, err);
	if (r < 0)
		return r;
	log_info("attach: domain %s: attached %s", hp->domain.name, req.id);
	/* Only log a failure, because only a migration needs the facts. */
	for (unsigned int side = VIRT_LIVE; side <= sides; side <<= 1)
		if (hotplug_write_facts(hp, side, &later) < 0)
			log_warn("attach: domain %s: %s", hp->domain.name, later.text);
	return 0;
}

int hotplug_parse(const struct hotplug *hp, const char *xml, struct domxml **doc, struct err *err)
{
	autoleases struct leases leases = { 0 };

	if (domxml_parse(doc, xml, strlen(xml), DOMXML_ALL_PCI, err) < 0 || lease_list(hp->store, &leases, err) < 0)
		return -err->code;
	hostdev_filter_keep(*doc, hp->host, hp->config, &leases);
	return 0;
}

int hotplug_unplug(struct hotplug *hp, const struct domxml *doc, const struct vgpu_request *req, struct err *err)
{
	autofree char *xml = NULL;
	int r = domxml_hostdev(doc, req, &xml, err);

	if (r < 0)
		return r;
	r = virt_detach_wait(hp->virt, hp->domain.uuid, xml, req->alias, hp->config->policy.release_timeout_s * 1000,
			     err);
	if (r != -ETIMEDOUT)
		return r;
	return err_set(
		err, ETIMEDOUT,
		"domain %s: the guest did not release it in time (release_timeout); vGPU %s stays attached and leased",
		hp->domain.name, req->id);
}

/* Removes the vGPU from the definition. Returns 1, or 0 if the definition does not name it. */
static int undefine(struct hotplug *hp, const char *id, struct err *err)
{
	autofree char *xml = NULL, *hostdev = NULL;
	autodomxml struct domxml *doc = NULL;
	const struct vgpu_request *req;

	if (hotplug_read(hp, VIRT_CONFIG, &xml, &doc, err) < 0)
		return -err->code;
	req = request_find(domxml_request(doc), id);
	if (!req || hp->dry_run)
		return req != NULL;
	if (domxml_hostdev(doc, req, &hostdev, err) < 0 ||
	    virt_change_device(hp->virt, hp->domain.uuid, false, hostdev, VIRT_CONFIG, err) < 0)
		return -err->code;
	return 1;
}

/* For a vGPU that is not attached. 1: the domain still has its lease; -ENOENT: it has none; -EBUSY: being attached. */
static int not_plugged(struct hotplug *hp, const char *id, struct err *err)
{
	struct lease lease;
	int r = find_lease(hp, id, &lease, err);

	if (r == 0)
		return err_set(err, ENOENT,
			       "domain %s: vGPU %s is not attached; 'vgpu-lease show %s' lists the attached vGPUs",
			       hp->domain.name, id, hp->operand);
	if (r == 1 && lease.state == LEASE_ACTIVE && store_locked_vgpu(hp->store, id))
		return err_set(err, EBUSY, "vGPU %s: another process is attaching it; try again later", id);
	return r;
}

int hotplug_detach(struct hotplug *hp, const char *id, bool persistent, struct err *err)
{
	autodomxml struct domxml *doc = NULL;
	const struct vgpu_request *req;
	int defined = 0;

	if (!hp->domain.running)
		return err_set(err, EPERM, "domain %s: not running, so it has no vGPU attached", hp->domain.name);
	if (hotplug_parse(hp, hp->domain.xml, &doc, err) < 0)
		return -err->code;
	req = request_find(domxml_request(doc), id);
	if (req && !hp->dry_run && hotplug_unplug(hp, doc, req, err) < 0)
		return -err->code;
	if (persistent && hp->domain.persistent)
		defined = undefine(hp, id, err);
	if (defined < 0)
		return defined;
	/* After a detach that timed out but still succeeded, only the definition or the lease names the device. */
	if (!req && !defined && not_plugged(hp, id, err) < 0)
		return -err->code;
	if (hp->dry_run && req)
		text_line(hp->dry_run, "detach %s from domain %s", id, hp->domain.name);
	if (hp->dry_run && defined)
		text_line(hp->dry_run, "remove %s from the definition of domain %s", id, hp->domain.name);
	if (hp->dry_run)
		return preview_release(hp->dry_run, hp->store, hp->domain.uuid, id, err);
	if (hotplug_unlease(hp, id, true, err) == 0)
		return 0;
	return err_in(err, "domain %s: vGPU %s is detached but not released yet; run the command again",
		      hp->domain.name, id);
}
