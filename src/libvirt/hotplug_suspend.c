/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Suspends a domain without its vGPUs: detaches them before the save, and attaches them after the resume. */
#include <errno.h>
#include <string.h>

#include "libvirt/hotplug.h"
#include "internal.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "look/hostdev_filter.h"

static int parse_record(const struct hotplug *hp, struct domxml **record, const char *xml, struct err *err)
{
	if (domxml_parse(record, xml, strlen(xml), DOMXML_SUSPENDED, err) < 0)
		return -err->code;
	placeholder_settle(*record, hp->host);
	return 0;
}

static int set_record(struct hotplug *hp, const char *record, struct err *err)
{
	return virt_set_metadata(hp->virt, hp->domain.uuid, DOMXML_SUSPENDED_NS, DOMXML_SUSPENDED_KEY, record,
				 VIRT_LIVE, err);
}

/* Attaches the vGPUs of the record, which are leased. If one fails, still attaches the others, and keeps the record. */
static int plug_all(struct hotplug *hp, const struct domxml *record, struct err *err)
{
	const struct request *request = domxml_request(record);
	int failed = 0;

	for (size_t i = 0; i < request->nvgpus; i++) {
		autofree char *xml = NULL;
		struct err own = { 0 };

		if (domxml_hostdev(record, &request->vgpus[i], &xml, &own) == 0 &&
		    hotplug_plug(hp, request->vgpus[i].id, xml, VIRT_LIVE, &own) == 0)
			continue;
		failed = -own.code;
		*err = own;
	}
	if (failed)
		return err_in(err,
			      "domain %s: running without all of its vGPUs; run 'vgpu-lease resume %s' to try again",
			      hp->domain.name, hp->operand);
	return set_record(hp, NULL, err);
}

/* Leases and attaches the vGPUs of the record that the running domain does not have. *n is their number. */
static int put_back(struct hotplug *hp, const char *op, size_t *n, struct err *err)
{
	autofree char *xml = NULL;
	autofree bool *missing = NULL;
	autodomxml struct domxml *record = NULL, *live = NULL;
	const struct request *request;

	if (hotplug_read(hp, VIRT_LIVE, &xml, &live, err) < 0 || parse_record(hp, &record, xml, err) < 0)
		return -err->code;
	request = domxml_request(record);
	missing = mem_new(request->nvgpus + 1, sizeof(*missing));
	for (size_t i = 0; i < request->nvgpus; i++)
		missing[i] = !request_find(domxml_request(live), request->vgpus[i].id);
	domxml_keep(record, missing);
	*n = request->nvgpus;
	if (*n && hotplug_lease(hp, request, op, err) < 0)
		return -err->code;
	return plug_all(hp, record, err);
}

static int is_running(struct hotplug *hp, struct err *err)
{
	struct virt_domain now = { 0 };
	int r = virt_find(hp->virt, hp->domain.uuid, &now, err);
	bool runs = now.running;

	virt_domain_free(&now);
	return r < 0 ? r : runs;
}

/* Undoes a failed suspend. Keeps the text of the suspend's error, and adds what could not be undone. */
static int undo_suspend(struct hotplug *hp, struct err *err)
{
	struct err why = { 0 };
	size_t n;
	int r = 0;

	/* If libvirtd was restarted, it has dropped the save, and the guest continues. */
	if (err->code == ENOTCONN) {
		virt_close(hp->virt);
		r = virt_open(&hp->virt, hp->uri, &why);
	}
	if (r == 0)
		r = is_running(hp, &why);
	/* A stopped domain needs nothing: the hook releases all its vGPUs. */
	if (r == 1)
		r = put_back(hp, "suspend", &n, &why);
	if (r == 0)
		return -err->code;
	log_warn("suspend: %s", why.text);
	text_add(err->text, sizeof(err->text), "; and then: %s; run 'vgpu-lease resume %s' to attach missing vGPUs",
		 why.text, hp->operand);
	return -err->code;
}

static int may_suspend(struct hotplug *hp, struct err *err)
{
	const char *name = hp->domain.name;

	if (!hp->domain.running)
		return err_set(err, EPERM, "domain %s: not running", name);
	if (!hp->domain.persistent)
		return err_set(err, EPERM, "domain %s: transient, so libvirt keeps no saved image of it", name);
	if (strstr(hp->domain.xml, DOMXML_NOVA_NS_PREFIX))
		return err_set(
			err, EPERM,
			"domain %s: managed by OpenStack, which detaches and attaches vGPUs itself; use 'openstack server suspend'",
			name);
	return 0;
}

int hotplug_suspend(struct hotplug *hp, size_t *n, struct err *err)
{
	autofree char *xml = NULL, *record = NULL;
	autodomxml struct domxml *doc = NULL;
	const struct vgpu_request *vgpus;

	*n = 0;
	if (may_suspend(hp, err) < 0 || hotplug_write_facts(hp, VIRT_LIVE, err) < 0 ||
	    hotplug_read(hp, VIRT_LIVE, &xml, &doc, err) < 0)
		return -err->code;
	if (strstr(xml, DOMXML_SUSPENDED_NS))
		return err_set(
			err, EPERM,
			"domain %s: vGPUs are missing since an earlier suspend; run 'vgpu-lease resume %s' first",
			hp->domain.name, hp->operand);
	vgpus = domxml_request(doc)->vgpus;
	*n = domxml_request(doc)->nvgpus;
	if (*n == 0)
		return err_set(err, ENOENT, "domain %s: no vGPU attached; use 'virsh managedsave' to save it",
			       hp->domain.name);
	if (domxml_suspended(doc, &record, err) < 0 || set_record(hp, record, err) < 0)
		return -err->code;
	for (size_t i = 0; i < *n; i++)
		if (hotplug_unplug(hp, doc, &vgpus[i], err) < 0)
			return undo_suspend(hp, err);
	hp->asked_ms = sys_now_ms(); /* leases of a later resume are younger */
	if (virt_managed_save(hp->virt, hp->domain.uuid, err) < 0)
		return undo_suspend(hp, err);
	/* The hook has usually released the vGPUs at the end of the save. */
	for (size_t i = 0; i < *n; i++)
		if (hotplug_unlease(hp, vgpus[i].id, true, err) < 0)
			return err_in(err, "domain %s: saved, but vGPU %s is not released yet; run 'vgpu-lease gc'",
				      hp->domain.name, vgpus[i].id);
	return 0;
}

/* Leases the vGPUs before the start, so that without capacity the domain stays saved. */
static int restore_domain(struct hotplug *hp, const struct domxml *record, struct err *err)
{
	struct err ignored = { 0 };
	const struct request *request = domxml_request(record);
	int r = hotplug_lease(hp, request, "resume", err);

	if (r < 0)
		return r;
	r = virt_start(hp->virt, hp->domain.uuid, err);
	/* Another process has started the domain. Keep the leases, because a resume attaches the vGPUs. */
	if (r < 0 && is_running(hp, &ignored) == 1)
		return err_set(
			err, EPERM,
			"domain %s: started by another process; run 'vgpu-lease resume %s' to attach missing vGPUs",
			hp->domain.name, hp->operand);
	for (size_t i = 0; i < request->nvgpus && r < 0; i++)
		hotplug_unlease(hp, request->vgpus[i].id, false, &ignored);
	return r == 0 ? plug_all(hp, record, err) : r;
}

int hotplug_resume(struct hotplug *hp, size_t *n, struct err *err)
{
	const char *name = hp->domain.name;
	autofree char *xml = NULL;
	autodomxml struct domxml *record = NULL;
	int r;

	*n = 0;
	if (hp->domain.running) {
		if (strstr(hp->domain.xml, DOMXML_SUSPENDED_NS))
			return put_back(hp, "resume", n, err);
		return err_set(err, EPERM, "domain %s: already running, and no vGPU is missing", name);
	}
	r = virt_saved_xml(hp->virt, hp->domain.uuid, &xml, err);
	if (r == 0)
		return err_set(err, ENOENT, "domain %s: no saved image; use 'virsh start %s'", name, hp->operand);
	if (r < 0 || parse_record(hp, &record, xml, err) < 0)
		return -err->code;
	*n = domxml_request(record)->nvgpus;
	if (*n == 0)
		return err_set(err, ENOENT,
			       "domain %s: saved with its vGPUs attached or without any; use 'virsh start %s'", name,
			       hp->operand);
	return restore_domain(hp, record, err);
}
