/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a plan says to people: the reasons of a refusal in one line.
 */
#pragma once

#include "plan/plan.h"

/* "nvidia-222, nvidia-231": the enabled types that a hostdev of this kind can have here; "" none. */
void plan_text_types(const struct world *world, enum vgpu_request_kind kind, char *buf, size_t size);

/*
 * "nvidia-222", or "VGPU (nvidia-222, nvidia-231)" where several types would do; and where it is not the metadata that
 * say so, who does.
 */
void plan_text_request(const struct resolved_request *resolved, char *buf, size_t size);

/*
 * Why no pGPU has capacity for a request: pGPUs with the same cause together; what does not fit ends in "and N more". It
 * fits, with the domain's name and the device's id before it, into the line that libvirt shows. Returns how many bytes
 * are the causes; what to do is behind them.
 */
size_t plan_text_no_capacity(const struct plan *plan, const struct world *world, const struct leases *promised,
			     size_t req, char *buf, size_t size);

/*
 * "; free: 0000:41:00.5, 0000:41:00.6 and 12 more": the VFs that would do for a request, or nothing. False: the pool has
 * VFs for it, and none is free.
 */
bool plan_text_free_vfs(const struct world *world, const struct leases *promised, size_t req, char *buf, size_t size);
