/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of past looks at the host: when a look last did not see a device, the types that a model's cards listed, and
 * which device had a configured address. All records are advisory, as in state/history.h.
 */
#pragma once

#include "config/config.h"
#include "look/inventory.h"
#include "state/store.h"

/*
 * True if the device was made for a guest. Other devices were created in advance and are kept even if unused. After a
 * reboot, only an mdev that its mdevctl definition creates again still counts.
 */
bool affinity_is_for_guest(const struct store *store, const char *id);

/*
 * Did other software create this leased device for its guest? True if a look less than `window_ms` ago did not see the
 * device (looked_note()), and mdevctl has no definition of the device from before that look. False if the device is
 * older than libvirt's daemon, because no guest was being started then.
 *
 * Neither libvirt nor the kernel records for whom a device was created. So a pool of devices that other software
 * creates right before its first guests start is also taken for new.
 */
bool affinity_is_new(const struct store *store, const struct vgpu_ref *vgpu, int64_t window_ms);

/*
 * Records a complete look that began at `at_ms`: for each device, when a look last did not see the device. Forgets the
 * origin of each device that has gone since the previous look and has no mdevctl definition. Needs the store's lock.
 */
void looked_note(const struct store *store, const struct inventory *inv, int64_t at_ms);

/* Records the types that cards of NVIDIA's variant driver listed, unless they are recorded. Needs the store's lock. */
void types_remember(const struct store *store, const struct inventory *inv);

/*
 * Records the device at each address of the [vf_NAME] sections that has no record yet (card_record_read()). Drops the
 * records of addresses that no [vf_NAME] section names. Needs the store's lock.
 */
void cards_remember(const struct store *store, const struct config *config);

/* Records the device that has this address now, if any. */
int card_confirm(const struct store *store, const char *address, struct err *err);
