/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recorded identity of the device at a configured address. */
#include "host/card_record.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sys/sys.h"

bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address)
{
	struct inv_pgpu card;

	if (!inventory_read_card(host, address, &card) || !*card.vendor || !*card.device)
		return false;
	snprintf(text, INV_IDENTITY_SIZE, "%s:%s:%s", card.vendor, card.device, card.subsystem);
	return true;
}

bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address)
{
	char path[sizeof(CARD_RECORDS) + PARENT_SIZE], line[INV_IDENTITY_SIZE + 1];

	snprintf(path, sizeof(path), CARD_RECORDS "/%s", address);
	return sys_read(host->root, path, line, sizeof(line)) > 0 && line[strspn(line, "0123456789abcdef:")] == '\0' &&
	       text_copy(text, INV_IDENTITY_SIZE, line);
}
