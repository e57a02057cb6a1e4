/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libvirt that are called, with the types of its headers. All versions since 3.7 have them. */
#pragma once

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
