/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As what a type is known; in a request: what asks for this very device, and what no vGPU of the domain can be. */
#include "model/vgpu.h"

#include "lib/names.h"
#include "lib/tap.h"

static const struct {
	const char *name, *word;
	bool named;
} rows[] = {
	{ "GRID T4-1B", "GRID T4-1B", true },
	{ "GRID T4-1B", "T4-1B", true },
	{ "NVIDIA L40S-2Q", "L40S-2Q", true },
	{ "NVIDIA L40S-2Q", "GRID L40S-2Q", false },
	{ "GRID T4-1B", "T4-1B4", false },
	{ "GRID T4-1B", "", false },
	{ "GRID T4-1B", "1B", false },
	{ "Dual port serial", "port serial", false },
	{ "", "T4-1B", false },
};

static void words(void)
{
	for (ROWS(row, rows))
		ok(type_is_named(row->name, row->word) == row->named, "'%s' is %sthe type '%s'", row->word,
		   row->named ? "" : "not ", row->name);
}

#define VF "0000:41:00.2"
#define PLACEHOLDER "00000000-0000-0000-0000-000000000001"

static void requests(void)
{
	struct vgpu_request vgpus[] = { { .id = PLACEHOLDER, .any = true }, { .kind = REQUEST_PCI, .id = VF } };
	char excluded[][ID_SIZE] = { C };
	const struct request request = { .vgpus = vgpus, .nvgpus = 2, .excluded = excluded, .nexcluded = 1 };
	const struct request nothing = { 0 };

	ok(request_find(&request, VF) == &vgpus[1], "a vGPU is found by its ID");
	ok(!request_find(&request, C) && !request_find(&nothing, VF), "one that is not requested is not");
	ok(request_names(&request, VF), "a VF asks for this very device");
	ok(request_find(&request, PLACEHOLDER) && !request_names(&request, PLACEHOLDER), "a placeholder does not");
	ok(!request_names(&request, C), "nor is a hostdev of another kind a request");
	ok(request_excludes(&request, C), "whose ID no vGPU can get");
	ok(!request_excludes(&request, VF), "that of a vGPU itself it can");
}

TESTS(words, requests)
