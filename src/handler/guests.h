/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt, as a pass of the device handler uses it: to ask whether a domain names an orphan, and to write the migration
 * facts of leased vGPUs into the live metadata of their domains. Never changes a definition, which is the operator's.
 *
 * It connects for the rest of a pass, so that an idle libvirtd can exit, and only with something to ask or to write, or
 * after a failed attempt. No lock is held while libvirt is asked, because libvirt can wait for a hook that waits for
 * that lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "act/gc.h"
#include "libvirt/virt.h"

struct guests {
	const char *uri; /* NULL: libvirt's default */
	bool asks;       /* false: libvirt is never asked */
	/* Kept from one pass to the next: */
	bool connected;  /* the last attempt to connect succeeded */
	char state[256]; /* "connected to libvirt", or the reason for no connection; printable */
	/* Of the current pass: */
	bool tried;        /* this pass has tried to connect */
	struct virt *virt; /* NULL: no connection */
	/* Since when the pass waits for libvirt, in ms; 0: it does not wait. Shared with the loop; NULL: no loop. */
	_Atomic int64_t *asking_ms;
};

/* Connects, if this pass has not tried yet. Returns whether there is a connection. */
bool guests_connect(struct guests *guests);

/* Sets `connected` and the state. Logs the state if it is new. */
void guests_set_state(struct guests *guests, bool connected, const char *text);
void guests_hang_up(struct guests *guests);

/* Sets named[i] if a running or defined domain of libvirt names ids[i]. Sets all if libvirt does not answer. */
void guests_named(struct guests *guests, const char *const *ids, bool *named, size_t n);

/* Writes missing migration facts to the metadata of the domains that the pass has seen running. */
void guests_tell(struct guests *guests, const struct gc *pass);

/*
 * orphans.c: removes Nova's orphans, and mdevctl definitions without a device, after reclaim_grace. Nova counts each as
 * a device, even if its type is no longer enabled, and removes none. Removes only what this pass has judged and libvirt
 * does not name; if libvirt is never asked, its files decide. Takes a few seconds at most.
 *
 * Returns when another pass must remove the rest (CLOCK_MONOTONIC ms); 0: nothing is left.
 */
int64_t orphans_remove(struct gc *pass, struct guests *guests);
