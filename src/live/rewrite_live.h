/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The placeholders in a domain's definition, replaced through libvirt: see ops/rewrite.h. */
#pragma once

#include "ops/rewrite.h"
#include "virt/virt.h"

/*
 * Defines the domain anew where that changes anything; `rewrite` has the caller's options and host. *xml is the
 * definition as it was, secrets included: the caller frees it after rewrite_end(). -ESTALE: somebody has edited it
 * meanwhile.
 */
int rewrite_live(struct rewrite *rewrite, char **xml, struct virt *virt, const struct virt_domain *domain,
		 const struct config *config, struct err *err);
