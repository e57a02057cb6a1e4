/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Domains: reading and changing them, and waiting for a device to be detached, in libvirt's event loop. */
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
		virt_error(err, "domain %s", uuid);
	return domain;
}

/* Sets the error of an operation on `domain`; if that is NULL, lookup() has set it already. */
static int failed(virDomainPtr domain, const char *what, struct err *err)
{
	const char *name;

	if (!domain)
		return -err->code;
	/* virDomainGetName() resets the last error, so it comes second. */
	virt_error(err, "%s", what);
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

static int describe(virDomainPtr domain, struct virt_domain *out, struct err *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	const char *name = virt_lib.virDomainGetName(domain);
	int active = virt_lib.virDomainIsActive(domain), persistent = virt_lib.virDomainIsPersistent(domain);

	*out = (struct virt_domain){ .running = active == 1, .persistent = persistent == 1 };
	if (!name || active < 0 || persistent < 0 || virt_lib.virDomainGetUUIDString(domain, uuid) < 0)
		return failed(domain, "cannot read its state", err);
	if (!uuid_parse(out->uuid, uuid))
		return err_set(err, EIO, "domain %s: invalid UUID from libvirt: %s", name, uuid);
	out->name = mem_strdup(name);
	out->xml = virt_lib.virDomainGetXMLDesc(domain, 0);
	return out->xml ? 0 : failed(domain, "cannot read its XML", err);
}

static int add_domain(virDomainPtr domain, struct virt_domain **list, size_t *n, struct err *err)
{
	struct virt_domain *out = mem_add(list, n, sizeof(*out));
	int r = describe(domain, out, err);

	/* If one domain is busy, the others are still listed. */
	if (r < 0 && r != -ENOENT && r != -ENOTCONN && out->name)
		return 0;
	if (r < 0) {
		virt_domain_free(out);
		--*n;
	}
	return r == -ENOENT ? 0 : r;
}

int virt_list(struct virt *virt, struct virt_domain **out, size_t *n, struct err *err)
{
	virDomainPtr *domains = NULL;
	int r = 0, found = virt_lib.virConnectListAllDomains(virt->conn, &domains, 0);

	*out = NULL;
	*n = 0;
	if (found < 0)
		return virt_error(err, "cannot list the domains");
	for (int i = 0; i < found; i++) {
		if (r == 0)
			r = add_domain(domains[i], out, n, err);
		virt_lib.virDomainFree(domains[i]);
	}
	free(domains);
	if (r < 0) {
		virt_list_free(*out, *n);
		*out = NULL;
		*n = 0;
	}
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
		return virt_error(err, "domain %s", name_or_uuid);
	r = describe(domain, out, err);
	if (r < 0)
		virt_domain_free(out);
	return r;
}

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	unsigned int flags = side == VIRT_CONFIG ? VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE : 0;

	*xml = domain ? virt_lib.virDomainGetXMLDesc(domain, flags) : NULL;
	return *xml ? 0 : failed(domain, "cannot read its XML", err);
}

int virt_define(struct virt *virt, const char *xml, struct err *err)
{
	autodomain virDomainPtr domain = virt_lib.virDomainDefineXMLFlags(virt->conn, xml, 0);

	return domain ? 0 : virt_error(err, "cannot define the domain");
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
	return failed(domain, "cannot attach the device", err);
}

int virt_detach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain && virt_lib.virDomainDetachDeviceFlags(domain, xml, affects(sides)) == 0)
		return 0;
	return failed(domain, "cannot detach the device", err);
}

int virt_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && virt_lib.virDomainManagedSave(domain, 0) == 0 ? 0 : failed(domain, "cannot save it", err);
}

int virt_has_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	int r = domain ? virt_lib.virDomainHasManagedSaveImage(domain, 0) : -1;

	return r < 0 ? failed(domain, "cannot tell whether it has a saved image", err) : r;
}

int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	*xml = domain ? virt_lib.virDomainManagedSaveGetXMLDesc(domain, 0) : NULL;
	return *xml ? 0 : failed(domain, "cannot read the XML of its saved image", err);
}

int virt_start(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && virt_lib.virDomainCreate(domain) == 0 ? 0 : failed(domain, "cannot start it", err);
}

int virt_set_metadata(struct virt *virt, const char *uuid, const char *ns, const char *key, const char *xml,
		      unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain &&
	    virt_lib.virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, xml, key, ns, affects(sides)) == 0)
		return 0;
	return failed(domain, "cannot change its metadata", err);
}

enum { EVENTS = 3 };

struct detaching {
	const char *alias;
	bool ended;
	int code; /* positive errno; 0: the device is detached */
	const char *text;
	int events[EVENTS], timer; /* libvirt's IDs; -1: none */
	bool has_close;            /* the close callback is registered */
};

static void end_wait(struct detaching *d, int code, const char *text)
{
	if (d->ended)
		return;
	d->ended = true;
	d->code = code;
	d->text = text;
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int what, int detail, void *arg)
{
	(void)conn;
	(void)domain;
	(void)detail;
	if (what == VIR_DOMAIN_EVENT_STOPPED)
		end_wait(arg, ESHUTDOWN, "the domain stopped");
	return 0;
}

static void on_removed(virConnectPtr conn, virDomainPtr domain, const char *alias, void *arg)
{
	const struct detaching *d = arg;

	(void)conn;
	(void)domain;
	if (strcmp(alias, d->alias) == 0)
		end_wait(arg, 0, "");
}

static void on_refused(virConnectPtr conn, virDomainPtr domain, const char *alias, void *arg)
{
	const struct detaching *d = arg;

	(void)conn;
	(void)domain;
	if (strcmp(alias, d->alias) == 0)
		end_wait(arg, EAGAIN, "the guest refused to release the device");
}

static void on_close(virConnectPtr conn, int reason, void *arg)
{
	(void)conn;
	(void)reason;
	end_wait(arg, ENOTCONN, "connection to libvirt lost");
}

static void on_late(int timer, void *arg)
{
	(void)timer;
	end_wait(arg, ETIMEDOUT, "the guest did not release the device in time");
}

/* Call unlisten() even after a failure. */
static int listen_to(struct virt *virt, virDomainPtr domain, struct detaching *d, struct err *err)
{
	static const struct {
		int event;
		virConnectDomainEventGenericCallback on;
	} events[EVENTS] = {
		{ VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle) },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_removed) },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, VIR_DOMAIN_EVENT_CALLBACK(on_refused) },
	};
	bool fails = false;

	for (size_t i = 0; i < EVENTS; i++) {
		d->events[i] = virt_lib.virConnectDomainEventRegisterAny(virt->conn, domain, events[i].event,
									 events[i].on, d, NULL);
		fails |= d->events[i] < 0;
	}
	d->timer = virt_lib.virEventAddTimeout(-1, on_late, d, NULL);
	/* Ignore a failure: libvirt's drivers without a server have no connection to lose. */
	d->has_close = virt_lib.virConnectRegisterCloseCallback(virt->conn, on_close, d, NULL) == 0;
	return fails || d->timer < 0 ? virt_error(err, "cannot register for libvirt's events") : 0;
}

static void unlisten(struct virt *virt, const struct detaching *d)
{
	for (size_t i = 0; i < EVENTS; i++)
		if (d->events[i] >= 0)
			virt_lib.virConnectDomainEventDeregisterAny(virt->conn, d->events[i]);
	if (d->timer >= 0)
		virt_lib.virEventRemoveTimeout(d->timer);
	if (d->has_close)
		virt_lib.virConnectUnregisterCloseCallback(virt->conn, on_close);
}

int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	struct detaching d = { .alias = alias };
	int r;

	if (!domain)
		return -err->code;
	r = listen_to(virt, domain, &d, err);
	if (r == 0 && virt_lib.virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE) < 0)
		r = failed(domain, "cannot detach the device", err);
	/* This call of libvirt waits for a while. Events that arrive meanwhile are handled before the timer fires. */
	if (r == 0)
		virt_lib.virEventUpdateTimeout(d.timer, wait_ms);
	while (r == 0 && !d.ended)
		r = virt_lib.virEventRunDefaultImpl() < 0 ? virt_error(err, "libvirt's event loop") : 0;
	unlisten(virt, &d);
	return r == 0 && d.code ? err_set(err, d.code, "%s", d.text) : r;
}
