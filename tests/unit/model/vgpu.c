/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of a vGPU: as what its type is known. */
#include "model/vgpu.h"

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

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(type_is_named(rows[i].name, rows[i].word) == rows[i].named, "'%s' is %sthe type '%s'", rows[i].word,
		   rows[i].named ? "" : "not ", rows[i].name);
	return tap_done();
}
