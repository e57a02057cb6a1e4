/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of vGPUs in the log, with a MESSAGE_ID (see etc/catalog), and fields for `vgpu-lease log`. */
#pragma once

#include "model/lease.h"
#include "model/vgpu.h"

enum event {
	EVENT_CREATED,
	EVENT_ADOPTED,  /* an existing vGPU is leased */
	EVENT_RESERVED, /* for a domain that migrates to this host or is restored */
	EVENT_RESTORED, /* a running domain gets a lease that was lost or not written yet */
	EVENT_REFUSED,
	EVENT_FAILED, /* a creation or a guest's start failed on a pGPU, which is then tried last for five minutes */
	EVENT_RELEASED,
	EVENT_DELAYED,
	EVENT_RECLAIMED,
	EVENT_DECIDED, /* how a request was decided, at debug level; the only one without word and MESSAGE_ID */
};

/* What an event is about. NULL or "": unknown or not applicable. */
struct event_about {
	const struct vgpu_ref *vgpu;
	const struct request *asked; /* for a refusal: all requested vGPUs */
	const char *domain, *name;   /* the domain's UUID and name */
	const char *reason;          /* one word, for programs to read */
};

struct event_about event_of(const struct lease *lease);

/* `vgpu` NULL: about the domain only. */
struct event_about event_for(const struct request *request, const struct vgpu_ref *vgpu);

/* The value of VGPU_LEASE_EVENT. */
const char *event_word(enum event event);

/* Logs an event, as a warning if an operator must look into it. */
void event_log(enum event event, struct event_about about, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
