/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt's guests, for the device handler: who runs, with what; and what is written to libvirt about them.
 *
 * The connection comes and goes with libvirtd (or virtqemud): it is tried again after a time that doubles each time,
 * and while there is none, nothing is known of who runs. An event is a reason to look, no more.
 *
 * Written is: what this host knows of each leased vGPU, into the live metadata of its domain, for the target of a
 * migration; only what is not there yet: so our own changes, of which libvirt tells us, too, come to rest. A definition
 * is the operator's, and never written.
 *
 * No lock is held while libvirt is asked: a hook that waits for one keeps libvirt waiting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/sys.h"
#include "daemon/reconcile.h"

struct guests;

/*
 * Of the libvirt at `uri` (NULL: that of this host's QEMU); no connection is made yet. `news` is called from its loop
 * where something happened that is a reason to look.
 */
struct guests *guests_new(const char *uri, void (*news)(void *arg), void *arg);
void guests_free(struct guests *guests);

/* Connects where there is no connection and its time has come. When to call it again, CLOCK_MONOTONIC; 0: no need. */
int64_t guests_connect(struct guests *guests);

/* "connected to libvirt", or why not. */
const char *guests_state(const struct guests *guests);

/* Who runs; valid until the next call. Nobody, and -ENOTCONN, while there is no connection. */
int guests_look(struct guests *guests, const struct live_domain **domains, size_t *n);

/* A reconcile_named(): all of them while there is no connection. Running domains, and all definitions. */
void guests_named(void *guests, const char *const *ids, bool *named, size_t n);

/* Writes what is to be written, after a pass over all that guests_look() gave. */
void guests_write(struct guests *guests, const struct host *host);
