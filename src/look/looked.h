/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What looks at the host have recorded: when a look last did not see a device, the types that a card's model listed,
 * and which device was at a configured address. Records are advisory, as those of state/history.h.
 */
#pragma once

#include "config/config.h"
#include "look/inventory.h"
#include "state/store.h"

/*
 * True if others made this leased device for its guest: a complete look less than `window_ms` ago (looked_note()) did
 * not see the device, and the device has no mdevctl definition older than that look. False if the device is older than
 * libvirt's daemon: then libvirt could not be starting a guest. A pool that others make right before its first guests
 * start looks the same, as neither libvirt nor the kernel records for whom a device was made.
 */
bool affinity_is_new(const struct store *store, const struct vgpu_ref *vgpu, int64_t window_ms);

/*
 * Records a complete look that began at `at_ms`: for each device, when a look last did not see it. Forgets the origin
 * of each device that has gone since the previous look and has no mdevctl definition. Needs the store's lock.
 */
void looked_note(const struct store *store, const struct inventory *inv, int64_t at_ms);

/*
 * Records types that cards of NVIDIA's variant driver listed, if the record of their model does not have them yet
 * (look/typelist.h). Needs the store's lock.
 */
void types_remember(const struct store *store, const struct inventory *inv);

/*
 * Records which device is at each unrecorded address of the [vf_NAME] sections, and drops the records of addresses that
 * no such section names any more (card_record_read()). Needs the store's lock.
 */
void cards_remember(const struct store *store, const struct config *config);

/* Records the device that is at this address now, in place of the recorded one. */
int card_confirm(const struct store *store, const char *address, struct err *err);
