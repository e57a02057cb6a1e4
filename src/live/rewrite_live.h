/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replaces the placeholders in a domain's definition through libvirt; see ops/rewrite.h. */
#pragma once

#include "ops/rewrite.h"
#include "virt/virt.h"

/*
 * Redefines the domain if anything changes. `rewrite` has the caller's options and host. *xml: the previous definition,
 * secrets included; the caller frees it after rewrite_end(). -ESTALE: the definition was edited meanwhile.
 */
int rewrite_live(struct rewrite *rewrite, char **xml, struct virt *virt, const struct virt_domain *domain,
		 const struct config *config, struct err *err);
