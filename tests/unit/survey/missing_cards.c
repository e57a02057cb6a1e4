/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cards that the configuration means and that make no vGPUs here: for each pool, which are missed and how. */
#include "survey/missing_cards.h"

#include <stdlib.h>

#include "base/auto.h"
#include "lib/tap.h"
#include "lib/tree.h"

#define PCI(address, vendor, device, class)                                                                            \
	"sys/bus/pci/devices/" address "/vendor = 0x" vendor "\nsys/bus/pci/devices/" address "/device = 0x" device    \
	"\nsys/bus/pci/devices/" address "/class = 0x" class "\n"
#define TYPE "sys/bus/pci/devices/0000:84:00.0/mdev_supported_types/nvidia-222"

/* A T4 that makes vGPUs, one whose driver is not loaded with its sound, Intel's GPU, and the mainboard's VGA. */
static const char host_text[] = PCI("0000:84:00.0", "10de", "1eb8", "030200")
	PCI("0000:85:00.0", "10de", "1eb8", "030200") PCI("0000:85:00.1", "10de", "10f8", "040300")
		PCI("0000:41:00.0", "8086", "56c0", "038000") PCI("0000:07:00.0", "1a03", "2000", "030000") TYPE
	"/name = GRID T4-1B\n" TYPE "/device_api = vfio-pci\n" TYPE "/available_instances = 16\n"
	"sys/class/mdev_bus/0000:84:00.0 -> ../../bus/pci/devices/0000:84:00.0\n";

/* At most two sections: of each its type, and an address or a match. */
static const struct row {
	const char *says;
	struct {
		const char *type, *address;
		struct match match; /* where it has a vendor */
		bool vf;
	} sections[2];
	const char *missing;
} rows[] = {
	{ "a card that is named and makes its type is not missed",
	  { { .type = "nvidia-222", .address = "0000:84:00.0" } },
	  "" },
	{ "one that the host does not have is",
	  { { .type = "nvidia-222", .address = "0000:99:00.0" } },
	  "named 0000:99:00.0" },
	{ "so is one without its driver",
	  { { .type = "nvidia-222", .address = "0000:85:00.0" } },
	  "named 0000:85:00.0" },
	{ "also of plain VFs, of which a card with mdevs has none",
	  { { .type = "flex", .address = "0000:84:00.0", .vf = true } },
	  "named 0000:84:00.0" },
	{ "a match misses the GPUs of a vendor, not their sound",
	  { { .type = "nvidia-222", .match = { .vendor = "10de", .numa = -1 } } },
	  "matched 0000:85:00.0" },
	{ "but for a device that it names",
	  { { .type = "nvidia-222", .match = { .vendor = "10de", .device = "10f8", .numa = -1 } } },
	  "matched 0000:85:00.1" },
	{ "a type that a card makes and that takes all cards misses none", { { .type = "nvidia-222" } }, "" },
	{ "one that none makes misses the idle GPUs of its vendor", { { .type = "nvidia-999" } }, "idle 0000:85:00.0" },
	{ "which the type's name tells", { { .type = "i915-GVTg_V5_4" } }, "idle 0000:41:00.0" },
	{ "or does not, and then the mainboard's VGA is no GPU",
	  { { .type = "mtty-1" } },
	  "idle 0000:41:00.0, idle 0000:85:00.0" },
	{ "what another section names is missed there alone",
	  { { .type = "nvidia-999" }, { .type = "nvidia-222", .address = "0000:85:00.0" } },
	  "named 0000:85:00.0" },
};

static void run(const struct tree *tree, const struct row *row)
{
	static const char *const words[] = { [MISSING_NAMED] = "named",
					     [MISSING_MATCHED] = "matched",
					     [MISSING_IDLE] = "idle",
					     [MISSING_REMEMBERED] = "remembered" };
	struct section sections[2] = { 0 };
	struct item addresses[2] = { { .at = { .file = "test.conf", .line = 3 } },
				     { .at = { .file = "test.conf", .line = 5 } } };
	struct match matches[2];
	char got[256] = "";
	const struct config config = { .sections = sections, .nsections = row->sections[1].type ? 2 : 1 };
	const struct inv_query query = { .frameworks = INV_ALL, .name = pool_name, .arg = &config };
	autofree struct missing_card *missing = NULL;
	autoinventory struct inventory inv = { 0 };
	struct err err;
	size_t n;

	for (size_t i = 0; i < config.nsections; i++) {
		struct section *s = &sections[i];

		strcpy(s->type, row->sections[i].type);
		s->vf = row->sections[i].vf;
		s->max_instances = NO_LIMIT;
		addresses[i].text = row->sections[i].address;
		s->addresses = &addresses[i];
		s->naddresses = row->sections[i].address != NULL;
		matches[i] = row->sections[i].match;
		s->matches = &matches[i];
		s->nmatches = *matches[i].vendor != '\0';
	}
	if (inventory_read(&inv, &tree->host, &query, &err) < 0)
		tree_fail(err.text);
	pool_make(&inv, &config);
	if (missing_cards(&missing, &n, &tree->host, &inv, &err) < 0)
		tree_fail(err.text);
	for (size_t i = 0; i < n; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s %s", i ? ", " : "", words[missing[i].how],
			 missing[i].address);
		ok(*missing[i].reason, "%s: %s", missing[i].address, missing[i].reason);
		ok(missing[i].how != MISSING_NAMED ||
			   missing[i].at.line == addresses[missing[i].section - sections].at.line,
		   "it says where it is named");
	}
	is(got, row->missing, row->says);
}

int main(void)
{
	TREE(tree, host_text);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		run(&tree, &rows[i]);
	return tap_done();
}
