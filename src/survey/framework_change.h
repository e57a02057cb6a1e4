/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A migration from one framework to another: a vGPU that is an mdev on the source and a VF here, or the other way
 * round.
 *
 * libvirt lets the hostdev change its type since 11.0, and leaves it to QEMU whether the state fits. Here it is asked
 * for only where nothing of the vGPU's own kind has its type's name, a device of the other kind has, and the policy
 * allows it (cross_framework).
 */
#pragma once

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "base/host.h"

/* What a domain asks for here: its request, with vGPUs of the other kind in the place of those that cross. */
struct framework_change {
	struct request request;
	struct vgpu_request *vgpus; /* owned */
};

/*
 * `request` must outlive the result, which the caller frees. -EPERM: a vGPU would have to cross over and may not, which
 * the error says.
 */
int framework_change_make(struct framework_change *framework_change, const struct request *request,
			  const struct config *config, const struct host *host, struct err *err);
void framework_change_free(struct framework_change *framework_change);
