/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which device an address of a [vf_NAME] section was when it was first used: var/lib/vgpu-lease/cards/ADDRESS, with
 * "8086:56c0:8086:4905", the vendor, device and subsystem. Bus numbers shift; a plain VF has no type that would show it.
 */
#pragma once

#include <stdbool.h>

#include "host/inventory.h"

#define CARD_RECORDS "var/lib/vgpu-lease/cards"

/* What is at the address now; false: no PCI device. */
bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);

/* What was there; false: nothing that can be trusted is remembered. */
bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);
