/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lists of NVIDIA's variant driver, what a name says, and what is remembered of a model. */
#include "look/typelist.h"

#include "lib/tree.h"

static void add_text(struct typelist *list, const char *text)
{
	char *copy = strdup(text);

	typelist_parse(list, copy);
	free(copy);
}

static void clear(struct typelist *list)
{
	free(list->items);
	*list = (struct typelist){ 0 };
}

static void lists(void)
{
	struct typelist list = { 0 };
	char type[TYPE_SIZE];

	add_text(&list, "ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n2164  : NVIDIA L40S-3B\n");
	ok(list.n == 2 && strcmp(list.items[0].type, "nvidia-1145") == 0 &&
		   strcmp(list.items[1].type, "nvidia-2164") == 0,
	   "a list has its numbers");
	is(list.items[0].name, "NVIDIA L40S-1B", "and names, without the blanks");
	clear(&list);
	add_text(&list, "1428 : NVIDIA H200X-141C\n100001:NVIDIA X: Y-1Q\n");
	ok(list.n == 2 && strcmp(list.items[1].type, "nvidia-100001") == 0,
	   "a header can be missing, and a number wide");
	is(list.items[1].name, "NVIDIA X: Y-1Q", "the first colon ends the number");
	clear(&list);
	add_text(&list, "ID    : vGPU Name\n");
	ok(list.n == 0, "a list of a full card is empty");
	add_text(&list, "x : y\n-1 : z\n0 : none\n99999999999 : big\n12 :\nnonsense\n: \n12 : a\033[2J\n");
	ok(list.n == 1 && strcmp(list.items[0].type, "nvidia-12") == 0, "what is no number and name is passed over");
	is(list.items[0].name, "a\033[2J", "a name is what the driver says");
	typelist_add(&list, "nvidia-12", "b");
	ok(list.n == 1 && strcmp(list.items[0].name, "b") == 0, "a later name of a number stands");
	for (int i = 1; i < 2 * TYPELIST_MAX; i++) {
		snprintf(type, sizeof(type), "nvidia-%d", i);
		typelist_add(&list, type, "n");
	}
	ok(list.n == TYPELIST_MAX, "there is a bound");
	clear(&list);
}

static void numbers(void)
{
	is(typelist_number("nvidia-1145"), "1145", "the number of a type");
	ok(!typelist_number("nvidia-") && !typelist_number("nvidia-0") && !typelist_number("nvidia-1x") &&
		   !typelist_number("i915-GVTg_V5_4") && !typelist_number("1145") && !typelist_number("mtty-1"),
	   "what is no type of NVIDIA's has none");
}

static void names(void)
{
	static const struct {
		const char *name;
		int mib, slices;
	} rows[] = {
		{ "NVIDIA L40S-1B", 1024, 0 },
		{ "NVIDIA RTX Pro 6000 Blackwell DC-24Q", 24576, 0 },
		{ "NVIDIA RTX Pro 6000 Blackwell DC-1-24Q", 24576, 1 },
		{ "NVIDIA RTX6000-Ada-1Q", 1024, 0 },
		{ "GRID A100-1-5CME", 5120, 1 },
		{ "GRID A100D-7-80C", 81920, 7 },
		{ "NVIDIA H200X-1-18C", 18432, 1 },
		{ "GRID M60-0B", 512, 0 },
		{ "GRID M60-2B4", 2048, 0 },
		{ "Quadro RTX 6000", -1, 0 },
		{ "GRID T4-", -1, 0 },
		{ "GRID T4-Q", -1, 0 },
		{ "GRID T4-12", -1, 0 },
		{ "GRID T4-99999999999Q", -1, 0 },
		{ "-1Q", 1024, 0 },
		{ "", -1, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int slices, mib = typelist_framebuffer(rows[i].name, &slices);

		ok(mib == rows[i].mib && slices == rows[i].slices, "'%s' says %d MiB, %d slices", rows[i].name, mib,
		   slices);
	}
}

static void memory(void)
{
	struct typelist list = { 0 };
	char key[TYPELIST_KEY_SIZE];

	TREE(tree, "var/lib/vgpu-lease/types/10de:26ba:@ = vgpu-lease types 1 some\\n1145 : NVIDIA L40S-1B\n"
		   "var/lib/vgpu-lease/types/10de:26bb:@ = vgpu-lease types 9\\n1145 : NVIDIA L40S-1B\n");
	typelist_recall(&list, &tree.host, "10de:26ba:@");
	ok(list.n == 1 && !list.whole, "a list from a card in use is known to be one");
	clear(&list);
	typelist_recall(&list, &tree.host, "10de:26bb:@");
	typelist_key(key, "../x", "26b9", "", "");
	typelist_recall(&list, &tree.host, key);
	ok(list.n == 0, "another form, or another place, is not read");
}

TESTS(lists, numbers, names, memory)
