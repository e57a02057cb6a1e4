/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt's event loop, and the conversion of its events. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "virt/virt.h"
#include "internal.h"

/* --- the loop --- */

/* A caller's function and argument, stored because libvirt's callbacks have more parameters. */
struct call {
	void (*fn)(void *arg);
	void *arg;
};

static struct call *make_call(void (*fn)(void *arg), void *arg)
{
	struct call *call = mem_new(1, sizeof(*call));

	*call = (struct call){ .fn = fn, .arg = arg };
	return call;
}

static void on_fd(int watch, int fd, int events, void *opaque)
{
	const struct call *call = opaque;

	(void)watch;
	(void)fd;
	(void)events;
	call->fn(call->arg);
}

static void on_timer(int timer, void *opaque)
{
	const struct call *call = opaque;

	(void)timer;
	call->fn(call->arg);
}

int virt_loop_step(struct err *err)
{
	return virt_lib.virEventRunDefaultImpl() < 0 ? virt_error(NULL, err, "libvirt's event loop") : 0;
}

int virt_loop_fd(int fd, void (*ready)(void *arg), void *arg, struct err *err)
{
	struct call *call = make_call(ready, arg);
	int id = virt_lib.virEventAddHandle(fd, VIR_EVENT_HANDLE_READABLE, on_fd, call, free);

	if (id >= 0)
		return id;
	free(call);
	return virt_error(NULL, err, "cannot watch a descriptor");
}

int virt_loop_timer(int ms, void (*fire)(void *arg), void *arg, struct err *err)
{
	struct call *call = make_call(fire, arg);
	int id = virt_lib.virEventAddTimeout(ms, on_timer, call, free);

	if (id >= 0)
		return id;
	free(call);
	return virt_error(NULL, err, "cannot create a timer");
}

void virt_loop_set_timer(int id, int ms)
{
	virt_lib.virEventUpdateTimeout(id, ms);
}

void virt_loop_forget_timer(int id)
{
	virt_lib.virEventRemoveTimeout(id);
}

/* --- events --- */

void virt_hand_event(struct virt *virt, const struct virt_event *event)
{
	if (virt->on)
		virt->on(virt->arg, event);
}

static void hand_domain_event(struct virt *virt, virDomainPtr domain, enum virt_event_kind kind, const char *alias)
{
	char uuid[VIR_UUID_STRING_BUFLEN];

	if (virt_lib.virDomainGetUUIDString(domain, uuid) == 0)
		virt_hand_event(virt, &(struct virt_event){ .kind = kind, .uuid = uuid, .alias = alias });
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int what, int detail, void *arg)
{
	const struct virt_callback *callback = arg;

	(void)conn;
	(void)detail;
	switch (what) {
	case VIR_DOMAIN_EVENT_STARTED:
	case VIR_DOMAIN_EVENT_RESUMED:
	case VIR_DOMAIN_EVENT_DEFINED:
	case VIR_DOMAIN_EVENT_UNDEFINED:
		hand_domain_event(callback->virt, domain, VIRT_EVENT_CHANGED, NULL);
		break;
	case VIR_DOMAIN_EVENT_STOPPED:
		hand_domain_event(callback->virt, domain, VIRT_EVENT_STOPPED, NULL);
		break;
	default: /* paused, crashed but not stopped, and events of later versions */
		break;
	}
	return 0;
}

static void on_device(virConnectPtr conn, virDomainPtr domain, const char *alias, void *arg)
{
	const struct virt_callback *callback = arg;

	(void)conn;
	hand_domain_event(callback->virt, domain, callback->kind, alias);
}

static void on_node_device(virConnectPtr conn, virNodeDevicePtr device, int what, int detail, void *arg)
{
	(void)conn;
	(void)device;
	(void)what;
	(void)detail;
	virt_hand_event(arg, &(struct virt_event){ .kind = VIRT_EVENT_CHANGED });
}

int virt_watch(struct virt *virt, virt_on_event *on, void *arg, struct err *err)
{
	static const struct {
		int event;
		virConnectDomainEventGenericCallback on;
		enum virt_event_kind kind;
	} events[VIRT_DOMAIN_EVENTS] = {
		{ VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), 0 },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_device), VIRT_EVENT_CHANGED },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_device), VIRT_EVENT_DEVICE_REMOVED },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, VIR_DOMAIN_EVENT_CALLBACK(on_device),
		  VIRT_EVENT_REMOVAL_FAILED },
	};

	virt->on = on;
	virt->arg = arg;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct virt_callback *callback = &virt->domain_events[i];

		callback->virt = virt;
		callback->kind = events[i].kind;
		callback->id = virt_lib.virConnectDomainEventRegisterAny(virt->conn, NULL, events[i].event,
									 events[i].on, callback, NULL);
		if (callback->id < 0) {
			virt_error(virt, err, "cannot register for libvirt's events");
			virt_unwatch(virt);
			return -err->code;
		}
	}
	virt->node_event = virt_lib.virConnectNodeDeviceEventRegisterAny(
		virt->conn, NULL, VIR_NODE_DEVICE_EVENT_ID_LIFECYCLE, VIR_NODE_DEVICE_EVENT_CALLBACK(on_node_device),
		virt, NULL);
	return 0;
}

void virt_unwatch(struct virt *virt)
{
	for (size_t i = 0; i < ARRAY_SIZE(virt->domain_events); i++) {
		if (virt->domain_events[i].id >= 0)
			virt_lib.virConnectDomainEventDeregisterAny(virt->conn, virt->domain_events[i].id);
		virt->domain_events[i].id = -1;
	}
	if (virt->node_event >= 0)
		virt_lib.virConnectNodeDeviceEventDeregisterAny(virt->conn, virt->node_event);
	virt->node_event = -1;
	virt->on = NULL;
}
