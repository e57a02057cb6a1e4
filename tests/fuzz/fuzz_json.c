/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the reader of JSON: whatever comes, it stays inside the text, and what it releases is a string. */
#include "fuzz/fuzz.h"

#include "base/json.h"

static bool pair(void *arg, const char *name, const char *value)
{
	MUST(strlen(name) < 64 && strlen(value) < 1024);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char type[16] = "", start[8] = "";
	struct json_field fields[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				       { .key = "start", .value = start, .size = sizeof(start) },
				       { .key = "attrs", .pair = pair } };
	autofree char *text = mem_strndup((const char *)data, size);
	const char *wrong = json_read(text, fields, ARRAY_SIZE(fields));

	MUST(strlen(type) < sizeof(type) && strlen(start) < sizeof(start));
	MUST(wrong || fields[0].found || !*type);
	return 0;
}
