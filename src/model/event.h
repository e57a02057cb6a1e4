/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What happens to vGPUs, as the log has it: each event with a MESSAGE_ID of its own, explained in the journal's catalog
 * (etc/catalog), and with the vGPU, its domain and its pGPU as fields. `vgpu-lease log` reads them back.
 */
#pragma once

#include <stddef.h>

#include "model/lease.h"
#include "model/request.h"
#include "model/vgpu.h"

enum event {
	EVENT_CREATED,
	EVENT_ADOPTED,  /* a vGPU that existed is leased */
	EVENT_RESERVED, /* for a domain that arrives */
	EVENT_RESTORED, /* the lease of a running domain that was lost, or not written yet */
	EVENT_REFUSED,
	EVENT_FAILED, /* a pGPU could not create a vGPU, and is tried last for a while */
	EVENT_RELEASED,
	EVENT_DELAYED,   /* a release that cannot be completed yet */
	EVENT_RECLAIMED, /* what no domain uses is removed */
	EVENTS,
};

/* What an event is about; NULL or "": not known, or none in particular. */
struct event_about {
	const struct vgpu_ref *vgpu;
	const struct request *asked; /* of a refusal: each vGPU that is requested */
	const char *domain, *name;   /* the domain's UUID and name */
	const char *reason;          /* a word for programs */
};

/* That of a lease. */
struct event_about event_of(const struct lease *lease);

/* The word of VGPU_LEASE_EVENT, and the MESSAGE_ID: 32 hex digits. */
const char *event_word(enum event event);
const char *event_message_id(enum event event);

/* Logs it; a warning where somebody has to look after it. */
void event_log(enum event event, const struct event_about *about, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
