/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt's guests, for the device handler: which domains run with which devices, and what is written to libvirt about
 * them.
 *
 * If libvirtd (or virtqemud) ends, reconnects after an interval that doubles each time. Without a connection nothing is
 * known about running domains. An event only prompts a look.
 *
 * For the target of a migration, writes this host's facts about each leased vGPU into its domain's live metadata.
 * Writes only missing facts, because libvirt reports our own changes to us too. Never changes a definition: it is the
 * operator's.
 *
 * No lock is held while libvirt is asked, because libvirt waits for a hook that waits for a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/sys.h"
#include "daemon/device_handler.h"

struct guests;

/* For the libvirt at `uri` (NULL: its default). Does not connect yet. The loop calls `news` to prompt a look. */
struct guests *guests_new(const char *uri, void (*news)(void *arg), void *arg);
void guests_free(struct guests *guests);

/* Connects if there is no connection and a retry is due. Returns when to call it again, CLOCK_MONOTONIC; 0: no need. */
int64_t guests_connect(struct guests *guests);

/* "connected to libvirt", or the reason why not. */
const char *guests_state(const struct guests *guests);

/* The running domains, valid until the next call. Without a connection: none, and -ENOTCONN. */
int guests_look(struct guests *guests, const struct live_domain **domains, size_t *n);

/* An orphans_named() for running domains and all definitions. Without a connection, sets all of `named`. */
void guests_named(void *guests, const char *const *ids, bool *named, size_t n);

/* A running_told() that writes the missing facts about the vGPUs of guests_look()'s domains. */
void guests_tell(void *guests, const struct store *store, const struct inventory *inv);
