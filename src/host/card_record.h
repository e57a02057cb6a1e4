/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records which device was at a [vf_NAME] section's address at first use: var/lib/vgpu-lease/cards/ADDRESS has its
 * vendor, device and subsystem, "8086:56c0:8086:4905". If bus numbers change, a plain VF has no type to show that.
 */
#pragma once

#include <stdbool.h>

#include "host/inventory.h"

#define CARD_RECORDS "var/lib/vgpu-lease/cards"

/* The identity of the device that is at the address now; false: there is none. */
bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);

/* The recorded identity; false: there is no valid record. */
bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);
