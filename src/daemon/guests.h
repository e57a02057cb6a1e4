/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt, as a pass of the device handler uses it: to ask whether a domain names an orphan, and to write this host's
 * facts about each leased vGPU into the live metadata of its domain, for the target of a migration. Never changes a
 * definition: it is the operator's.
 *
 * It connects for the rest of a pass, and only if there is something to ask or to write, or if the last attempt failed,
 * so that an idle libvirtd can exit. No lock is held while libvirt is asked, because libvirt waits for a hook that
 * waits for a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/gc.h"
#include "virt/virt.h"

struct guests {
	const char *uri; /* NULL: libvirt's default */
	bool asks;       /* false: libvirt is never asked */
	/* Kept from one pass to the next. */
	bool connected;  /* the last attempt to connect succeeded */
	char state[256]; /* "connected to libvirt", or why not, printable */
	/* Of this pass. */
	bool tried;        /* a connection */
	struct virt *virt; /* NULL: no connection */
	/* Since when the pass waits for libvirt (ms; 0: it does not wait), shared with the loop. NULL: no loop. */
	_Atomic int64_t *asking_ms;
};

/* Connects unless this pass has tried before. */
bool guests_connect(struct guests *guests);

/* Sets whether libvirt answers, and the state to `text`, which is logged if it is new. */
void guests_set_state(struct guests *guests, bool connected, const char *text);
void guests_hang_up(struct guests *guests);

/* Sets named[i] if a domain of libvirt, running or defined, names ids[i]; sets all if libvirt does not answer. */
void guests_named(struct guests *guests, const char *const *ids, bool *named, size_t n);

/* Writes missing migration facts to the metadata of the domains that the pass has seen running. */
void guests_tell(struct guests *guests, const struct gc *pass);

/*
 * orphans.c: removes Nova's orphans, and definitions without a device, after reclaim_grace: Nova counts each as a
 * device, even if its type is no longer enabled, and removes none. Removes those that this pass has found and libvirt
 * does not name (if libvirt is never asked, only its files count). The removals take a few seconds at most. Returns
 * when another pass must remove the rest (CLOCK_MONOTONIC ms); 0: nothing is left.
 */
int64_t orphans_remove(struct gc *pass, struct guests *guests);
