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
	S(virConnectListAllDomains)                                                                                    \
	S(virDomainLookupByName)                                                                                       \
	S(virDomainLookupByUUIDString)                                                                                 \
	S(virDomainFree)                                                                                               \
	S(virDomainGetName)                                                                                            \
	S(virDomainGetUUIDString)                                                                                      \
	S(virDomainIsActive)                                                                                           \
	S(virDomainIsPersistent)                                                                                       \
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

struct virt {
	virConnectPtr conn;
};

/* Sets `err` to libvirt's last error, as "doing: libvirt's text", with a code of virt.h. Returns the negative code. */
int virt_error(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
