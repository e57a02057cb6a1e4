/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What QEMU itself says of a domain, through libvirt's monitor. That marks the domain as tainted: only where a person
 * asks for it.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "virt/virt.h"

enum { QEMU_REASONS = 16, QEMU_TEXT = 256 };

/* Why the domain cannot migrate, in QEMU's words: *n of them; none: it can. */
int qemu_blockers(struct virt *virt, const char *domain, char reasons[QEMU_REASONS][QEMU_TEXT], size_t *n,
		  struct err *err);

/* The host's device behind the vfio device that libvirt calls `alias`: a path of sysfs or an address; "" none. */
int qemu_device(struct virt *virt, const char *domain, const char *alias, char shown[QEMU_TEXT], struct err *err);
