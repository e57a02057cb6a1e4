/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The objects of `vgpu-lease show`: a domain, a vGPU or a pGPU. */
#pragma once

#include "cli/cmd.h"

enum show_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/* The kind of object that the operand names. A UUID is a domain's, unless a vGPU has or had it. */
enum show_kind show_kind(const struct cmd *cmd);

/* Prints a vGPU, or a pGPU. */
int show_object(struct cmd *cmd, bool is_vgpu, struct err *err);

/*
 * The vGPU's owner in a word; NULL: not known. `nova`: its domain is an instance of Nova, or Nova counts the vGPU as
 * its own. `lease` may be NULL.
 */
const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova);

/* Does the vGPU's device exist? A VF without a type does only if its lease, or else its card, is for plain VFs. */
enum presence show_presence(const struct host *host, const struct inventory *inv, const char *id,
			    const struct lease *lease);
