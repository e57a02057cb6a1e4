/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for a device to be detached, in libvirt's event loop. */
#include <errno.h>
#include <string.h>

#include "internal.h"

enum { EVENTS = 3 };

struct detaching {
	const char *uuid, *alias;
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

static bool is_domain(const struct detaching *d, virDomainPtr domain)
{
	char uuid[VIR_UUID_STRING_BUFLEN];

	return virt_lib.virDomainGetUUIDString(domain, uuid) == 0 && strcmp(uuid, d->uuid) == 0;
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int what, int detail, void *arg)
{
	(void)conn;
	(void)detail;
	if (what == VIR_DOMAIN_EVENT_STOPPED && is_domain(arg, domain))
		end_wait(arg, ESHUTDOWN, "the domain stopped");
	return 0;
}

static void on_removed(virConnectPtr conn, virDomainPtr domain, const char *alias, void *arg)
{
	const struct detaching *d = arg;

	(void)conn;
	if (is_domain(d, domain) && strcmp(alias, d->alias) == 0)
		end_wait(arg, 0, "");
}

static void on_refused(virConnectPtr conn, virDomainPtr domain, const char *alias, void *arg)
{
	const struct detaching *d = arg;

	(void)conn;
	if (is_domain(d, domain) && strcmp(alias, d->alias) == 0)
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
static int listen_to(struct virt *virt, struct detaching *d, struct err *err)
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
		d->events[i] = virt_lib.virConnectDomainEventRegisterAny(virt->conn, NULL, events[i].event,
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
	struct detaching d = { .uuid = uuid, .alias = alias };
	int r = listen_to(virt, &d, err);

	if (r == 0)
		r = virt_detach_device(virt, uuid, xml, VIRT_LIVE, err);
	/* This call of libvirt waits for a while. Events that arrive meanwhile are handled before the timer fires. */
	if (r == 0)
		virt_lib.virEventUpdateTimeout(d.timer, wait_ms);
	while (r == 0 && !d.ended)
		r = virt_lib.virEventRunDefaultImpl() < 0 ? virt_error(err, "libvirt's event loop") : 0;
	unlisten(virt, &d);
	return r == 0 && d.code ? err_set(err, d.code, "%s", d.text) : r;
}
