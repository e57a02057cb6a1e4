/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text as a list of types: limited, printable, and the same when it is remembered. */
#include "fuzz/fuzz.h"

#include "look/typelist.h"

static void check(const struct typelist *list)
{
	MUST(list->n <= TYPELIST_MAX);
	for (size_t i = 0; i < list->n; i++) {
		const struct typelist_item *item = &list->items[i];
		int slices, mib = typelist_framebuffer(item->name, &slices);

		MUST(typelist_number(item->type) && typelist_find(list, item->type) == item);
		MUST(item->name[0] && !strpbrk(item->name, "\n\r\033") && mib != 0 && mib >= -1 && slices >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autofree char *text = mem_strndup((const char *)data, size), *again = NULL, *copy = NULL, *third = NULL;
	struct typelist list = { 0 }, back = { 0 };

	typelist_parse(&list, text);
	check(&list);
	again = typelist_format(&list);
	copy = mem_strdup(again);
	typelist_parse(&back, copy);
	third = typelist_format(&back);
	MUST(strcmp(again, third) == 0);
	free(list.items);
	free(back.items);
	return 0;
}
