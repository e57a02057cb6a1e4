/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Domains: reading and changing them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "virt/virt.h"
#include "internal.h"

static void free_domain(virDomainPtr *domain)
{
	if (*domain)
		virt_lib.virDomainFree(*domain);
}

#define autodomain __attribute__((cleanup(free_domain)))

static virDomainPtr lookup(struct virt *virt, const char *uuid, struct err *err)
{
	virDomainPtr domain = virt_lib.virDomainLookupByUUIDString(virt->conn, uuid);

	if (!domain)
		virt_error(virt, err, "domain %s", uuid);
	return domain;
}

/* Sets the error of an operation on `domain`; if that is NULL, lookup() has set it already. */
static int failed(struct virt *virt, virDomainPtr domain, const char *what, struct err *err)
{
	const char *name;

	if (!domain)
		return -err->code;
	/* virDomainGetName() resets the last error, so it comes second. */
	virt_error(virt, err, "%s", what);
	name = virt_lib.virDomainGetName(domain);
	return err_in(err, "domain %s", name ? name : "?");
}

void virt_domain_free(struct virt_domain *domain)
{
	free(domain->name);
	free(domain->xml);
	*domain = (struct virt_domain){ 0 };
}

void virt_list_free(struct virt_domain *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		virt_domain_free(&list[i]);
	free(list);
}

/* True if the domain is in no transition, so that a device missing from its XML really is detached. */
static bool is_settled(virDomainPtr domain)
{
	int state, reason;

	if (virt_lib.virDomainGetState(domain, &state, &reason, 0) < 0)
		return false;
	switch (state) {
	case VIR_DOMAIN_RUNNING:
	case VIR_DOMAIN_BLOCKED:
	case VIR_DOMAIN_PMSUSPENDED:
		return true;
	case VIR_DOMAIN_PAUSED:
		return reason == VIR_DOMAIN_PAUSED_USER || reason == VIR_DOMAIN_PAUSED_IOERROR ||
		       reason == VIR_DOMAIN_PAUSED_WATCHDOG || reason == VIR_DOMAIN_PAUSED_CRASHED ||
		       reason == VIR_DOMAIN_PAUSED_FROM_SNAPSHOT;
	default:
		return false;
	}
}

static int describe(struct virt *virt, virDomainPtr domain, struct virt_domain *out, struct err *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	const char *name = virt_lib.virDomainGetName(domain);
	int active = virt_lib.virDomainIsActive(domain), persistent = virt_lib.virDomainIsPersistent(domain);

	*out = (struct virt_domain){ .running = active == 1, .persistent = persistent == 1 };
	out->settled = out->running && is_settled(domain);
	if (!name || active < 0 || persistent < 0 || virt_lib.virDomainGetUUIDString(domain, uuid) < 0)
		return failed(virt, domain, "cannot read its state", err);
	if (!uuid_parse(out->uuid, uuid))
		return err_set(err, EIO, "domain %s: invalid UUID from libvirt: %s", name, uuid);
	out->name = mem_strdup(name);
	out->xml = virt_lib.virDomainGetXMLDesc(domain, 0);
	return out->xml ? 0 : failed(virt, domain, "cannot read its XML", err);
}

static int add_domain(struct virt *virt, virDomainPtr domain, bool running_only, struct virt_domain *list, size_t *n,
		      struct err *err)
{
	struct virt_domain *out = &list[*n];
	int r = describe(virt, domain, out, err);

	/* If one domain is busy, the others are still listed. */
	if (r < 0 && r != -ENOENT && r != -ENOTCONN && out->name)
		r = 0;
	if (r == 0 && (!running_only || out->running)) {
		++*n;
		return 0;
	}
	virt_domain_free(out);
	return r == -ENOENT ? 0 : r;
}

int virt_list(struct virt *virt, bool running_only, struct virt_domain **out, size_t *n, struct err *err)
{
	virDomainPtr *domains = NULL;
	int r = 0, found = virt_lib.virConnectListAllDomains(virt->conn, &domains,
							     running_only ? VIR_CONNECT_LIST_DOMAINS_ACTIVE : 0);

	*out = NULL;
	*n = 0;
	if (found < 0)
		return virt_error(virt, err, "cannot list the domains");
	*out = mem_new((size_t)found + 1, sizeof(**out));
	for (int i = 0; i < found && r == 0; i++)
		r = add_domain(virt, domains[i], running_only, *out, n, err);
	for (int i = 0; i < found; i++)
		virt_lib.virDomainFree(domains[i]);
	free(domains);
	if (r == 0)
		return 0;
	virt_list_free(*out, *n);
	*out = NULL;
	*n = 0;
	return r;
}

int virt_find(struct virt *virt, const char *name_or_uuid, struct virt_domain *out, struct err *err)
{
	char uuid[UUID_SIZE];
	/* A domain's name can equal the UUID of another. */
	autodomain virDomainPtr domain = uuid_parse(uuid, name_or_uuid)
						 ? virt_lib.virDomainLookupByUUIDString(virt->conn, uuid)
						 : virt_lib.virDomainLookupByName(virt->conn, name_or_uuid);
	int r;

	*out = (struct virt_domain){ 0 };
	if (!domain)
		return virt_error(virt, err, "domain %s", name_or_uuid);
	r = describe(virt, domain, out, err);
	if (r < 0)
		virt_domain_free(out);
	return r;
}

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	unsigned int flags = side == VIRT_CONFIG ? VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE : 0;

	*xml = domain ? virt_lib.virDomainGetXMLDesc(domain, flags) : NULL;
	return *xml ? 0 : failed(virt, domain, "cannot read its XML", err);
}

int virt_define(struct virt *virt, const char *xml, struct err *err)
{
	autodomain virDomainPtr domain = virt_lib.virDomainDefineXMLFlags(virt->conn, xml, 0);

	return domain ? 0 : virt_error(virt, err, "cannot define the domain");
}

static unsigned int affects(unsigned int sides)
{
	return (sides & VIRT_LIVE ? VIR_DOMAIN_AFFECT_LIVE : 0) | (sides & VIRT_CONFIG ? VIR_DOMAIN_AFFECT_CONFIG : 0);
}

int virt_attach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain && virt_lib.virDomainAttachDeviceFlags(domain, xml, affects(sides)) == 0)
		return 0;
	return failed(virt, domain, "cannot attach the device", err);
}

int virt_detach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain && virt_lib.virDomainDetachDeviceFlags(domain, xml, affects(sides)) == 0)
		return 0;
	return failed(virt, domain, "cannot detach the device", err);
}

int virt_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && virt_lib.virDomainManagedSave(domain, 0) == 0 ? 0
								       : failed(virt, domain, "cannot save it", err);
}

int virt_has_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	int r = domain ? virt_lib.virDomainHasManagedSaveImage(domain, 0) : -1;

	return r < 0 ? failed(virt, domain, "cannot tell whether it has a saved image", err) : r;
}

int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	*xml = domain ? virt_lib.virDomainManagedSaveGetXMLDesc(domain, 0) : NULL;
	return *xml ? 0 : failed(virt, domain, "cannot read the XML of its saved image", err);
}

int virt_start(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && virt_lib.virDomainCreate(domain) == 0 ? 0 : failed(virt, domain, "cannot start it", err);
}

int virt_set_metadata(struct virt *virt, const char *uuid, const struct virt_element *element, const char *xml,
		      unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain && virt_lib.virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, xml, element->key, element->ns,
						    affects(sides)) == 0)
		return 0;
	return failed(virt, domain, "cannot change its metadata", err);
}

/* --- waiting for a device to be detached --- */

struct detaching {
	const char *uuid, *alias;
	bool ended;
	int code; /* positive errno; 0: the device is detached */
	const char *text;
};

static void end_wait(struct detaching *detaching, int code, const char *text)
{
	if (!detaching->ended)
		*detaching = (struct detaching){ detaching->uuid, detaching->alias, true, code, text };
}

static void on_event(void *arg, const struct virt_event *event)
{
	struct detaching *detaching = arg;

	if (event->kind == VIRT_EVENT_DISCONNECTED)
		end_wait(detaching, ENOTCONN, "connection to libvirt lost");
	if (!event->uuid || strcmp(event->uuid, detaching->uuid) != 0)
		return;
	if (event->kind == VIRT_EVENT_STOPPED)
		end_wait(detaching, ESHUTDOWN, "the domain stopped");
	if (!event->alias || strcmp(event->alias, detaching->alias) != 0)
		return;
	if (event->kind == VIRT_EVENT_DEVICE_REMOVED)
		end_wait(detaching, 0, "");
	if (event->kind == VIRT_EVENT_REMOVAL_FAILED)
		end_wait(detaching, EAGAIN, "the guest refused to release the device");
}

static void on_late(void *arg)
{
	end_wait(arg, ETIMEDOUT, "the guest did not release the device in time");
}

int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err)
{
	struct detaching detaching = { .uuid = uuid, .alias = alias };
	int timer, r = virt_watch(virt, on_event, &detaching, err);

	if (r < 0)
		return r;
	timer = virt_loop_timer(-1, on_late, &detaching, err);
	if (timer < 0) {
		virt_unwatch(virt);
		return timer;
	}
	r = virt_detach_device(virt, uuid, xml, VIRT_LIVE, err);
	/* libvirt itself waits for a while in this call. Events of that time are handled before the timer fires. */
	virt_loop_set_timer(timer, wait_ms);
	while (r == 0 && !detaching.ended)
		r = virt_loop_step(err);
	virt_loop_forget_timer(timer);
	virt_unwatch(virt);
	return r == 0 && detaching.code ? err_set(err, detaching.code, "%s", detaching.text) : r;
}
