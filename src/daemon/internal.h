/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of guests. */
#pragma once

#include "domain/domxml.h"
#include "daemon/guests.h"
#include "virt/virt.h"

struct guest {
	struct domxml *doc;     /* its live XML; NULL: none, or invalid */
	struct domxml *taken;   /* the record of a suspend in `doc`; NULL: none, or invalid */
	struct request nothing; /* for a domain without a vGPU */
};

struct guests {
	const char *uri;
	void (*news)(void *arg);
	void *arg;
	struct virt *virt; /* NULL: no connection */
	char state[256];
	int64_t retry_at;
	int retry_ms;
	/* the last look */
	struct virt_domain *domains; /* the running ones */
	struct guest *guests;        /* one for each */
	struct live_domain *live;    /* likewise */
	size_t n;
};
