/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libvirt, loaded at run time, and the connection. */
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "virt/virt.h"

/* All functions of libvirt that are called; its headers give their types. Every version since 3.7 has them. */
#define VIRT_SYMBOLS(S)                                                                                                \
	S(virInitialize)                                                                                               \
	S(virGetLastError)                                                                                             \
	S(virSetErrorFunc)                                                                                             \
	S(virEventRegisterDefaultImpl)                                                                                 \
	S(virEventRunDefaultImpl)                                                                                      \
	S(virEventAddHandle)                                                                                           \
	S(virEventAddTimeout)                                                                                          \
	S(virEventUpdateTimeout)                                                                                       \
	S(virEventRemoveTimeout)                                                                                       \
	S(virConnectOpen)                                                                                              \
	S(virConnectClose)                                                                                             \
	S(virConnectSetKeepAlive)                                                                                      \
	S(virConnectRegisterCloseCallback)                                                                             \
	S(virConnectUnregisterCloseCallback)                                                                           \
	S(virConnectDomainEventRegisterAny)                                                                            \
	S(virConnectDomainEventDeregisterAny)                                                                          \
	S(virConnectNodeDeviceEventRegisterAny)                                                                        \
	S(virConnectNodeDeviceEventDeregisterAny)                                                                      \
	S(virConnectListAllDomains)                                                                                    \
	S(virDomainLookupByName)                                                                                       \
	S(virDomainLookupByUUIDString)                                                                                 \
	S(virDomainFree)                                                                                               \
	S(virDomainGetName)                                                                                            \
	S(virDomainGetUUIDString)                                                                                      \
	S(virDomainIsActive)                                                                                           \
	S(virDomainIsPersistent)                                                                                       \
	S(virDomainGetState)                                                                                           \
	S(virDomainGetXMLDesc)                                                                                         \
	S(virDomainDefineXMLFlags)                                                                                     \
	S(virDomainAttachDeviceFlags)                                                                                  \
	S(virDomainDetachDeviceFlags)                                                                                  \
	S(virDomainManagedSave)                                                                                        \
	S(virDomainHasManagedSaveImage)                                                                                \
	S(virDomainManagedSaveGetXMLDesc)                                                                              \
	S(virDomainCreate)                                                                                             \
	S(virDomainSetMetadata)

struct virt_lib {
	void *handle;
#define VIRT_MEMBER(name) __typeof__(name) *(name);
	VIRT_SYMBOLS(VIRT_MEMBER)
#undef VIRT_MEMBER
};
extern struct virt_lib virt_lib;

enum { VIRT_DOMAIN_EVENTS = 4 };

struct virt {
	virConnectPtr conn;
	bool lost;      /* libvirtd went away */
	bool has_close; /* the close callback is registered */
	virt_on_event *on;
	void *arg;
	struct virt_callback {
		struct virt *virt;
		enum virt_event_kind kind; /* for device events */
		int id;                    /* -1 none */
	} domain_events[VIRT_DOMAIN_EVENTS];
	int node_event; /* registration ID; -1 none */
};

/* Sets `err` to libvirt's last error, as "doing: libvirt's text", with a code of virt.h. Returns the negative code. */
int virt_error(struct virt *virt, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void virt_unwatch(struct virt *virt);

void virt_hand_event(struct virt *virt, const struct virt_event *event);
