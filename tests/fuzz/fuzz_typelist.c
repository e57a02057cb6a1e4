/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text as a list of types: limited, printable, and the same when it is remembered. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "look/typelist.h"
#include "lib/stand_in.h"

static void check(const struct typelist *list)
{
	if (list->n > TYPELIST_MAX)
		abort();
	for (size_t i = 0; i < list->n; i++) {
		const struct typelist_item *item = &list->items[i];
		int slices, mib = typelist_framebuffer(item->name, &slices);

		if (!typelist_number(item->type) || !item->name[0] || strpbrk(item->name, "\n\r\033") ||
		    typelist_find(list, item->type) != item || mib == 0 || mib < -1 || slices < 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *again, *third;
	struct typelist list = { 0 }, back = { 0 };

	typelist_parse(&list, text);
	check(&list);
	again = typelist_format(&list);
	third = strdup(again);
	typelist_parse(&back, third);
	free(third);
	third = typelist_format(&back);
	if (strcmp(again, third) != 0)
		abort();
	free(list.items);
	free(back.items);
	free(again);
	free(third);
	free(text);
	return 0;
}
