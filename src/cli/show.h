/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `vgpu-lease show` takes: a domain, a vGPU or a pGPU. */
#pragma once

#include "cli/cmd.h"

enum show_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/* What the operand names. A UUID is a domain's only if no vGPU has it, now or earlier. */
enum show_kind show_kind(const struct cmd *cmd);

/* Prints a vGPU, or a pGPU. */
int show_object(struct cmd *cmd, bool is_vgpu, struct err *err);

/*
 * Whose the vGPU is, in a word; NULL: not known. `nova`: its domain is an instance of Nova's, or Nova counts it as its
 * own. `lease` is its lease, NULL without one.
 */
const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova);

/* Does the vGPU's device exist? A VF without a type is a vGPU only as a plain one, as its lease or its card says. */
enum presence show_presence(const struct host *host, const struct inventory *inv, const char *id,
			    const struct lease *lease);
