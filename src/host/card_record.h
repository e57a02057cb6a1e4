/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device that an address of a [vf_NAME] section was at first use: var/lib/vgpu-lease/cards/ADDRESS holds its
 * vendor, device and subsystem, "8086:56c0:8086:4905". Bus numbers can change, and a plain VF has no type to show it.
 */
#pragma once

#include <stdbool.h>

#include "host/inventory.h"

#define CARD_RECORDS "var/lib/vgpu-lease/cards"

/* The identity of the device at the address now; false: there is no PCI device. */
bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);

/* The recorded identity; false: there is no valid record. */
bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);
