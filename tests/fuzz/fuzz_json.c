/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the reader of JSON: whatever comes, it stays inside the text, and what it releases is a string. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char type[16] = "", start[8] = "";
	struct json_field fields[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				       { .key = "start", .value = start, .size = sizeof(start) } };
	const char *wrong = json_read((const char *)data, size, fields, ARRAY_SIZE(fields));
	char raw[256];
	struct json_field any = { .key = "start", .value = raw, .size = sizeof(raw), .raw = true };

	/* What a member is, as it stands, is one value: read as the only member of another object it is the same. */
	if (!json_read((const char *)data, size, &any, 1) && any.found) {
		char again[300], copy[256];

		snprintf(again, sizeof(again), "{\"start\":%s}", raw);
		any.value = copy;
		if (json_read(again, strlen(again), &any, 1) || strcmp(raw, copy) != 0)
			abort();
	}

	if (strlen(type) >= sizeof(type) || strlen(start) >= sizeof(start))
		abort();
	if (!wrong && !fields[0].found && *type)
		abort();
	return 0;
}
