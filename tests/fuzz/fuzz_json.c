/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the reader of JSON: whatever comes, it stays inside the text, and what it gives back is a string. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char type[16] = "", start[8] = "";
	struct json_want wants[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				     { .key = "start", .value = start, .size = sizeof(start) } };
	const char *wrong = json_read((const char *)data, size, wants, ARRAY_SIZE(wants));

	if (strlen(type) >= sizeof(type) || strlen(start) >= sizeof(start))
		abort();
	if (!wrong && !wants[0].found && *type)
		abort();
	return 0;
}
