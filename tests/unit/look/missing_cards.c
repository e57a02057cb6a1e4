/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cards that the configuration means and that make no vGPUs here: for each pool, which are missed and how. */
#include "look/internal.h"

#include "lib/config_text.h"
#include "lib/tree.h"

#define PCI(address, vendor, device, class)                                                                            \
	"sys/bus/pci/devices/" address "/modalias = pci:v0000" vendor "d0000" device "sv00000000sd00000000bc" class "\n"

/* A T4 that makes vGPUs, one whose driver is not loaded with its sound, Intel's GPU, and the mainboard's VGA. */
static const char host_text[] = "sys/class/mdev_bus/0000:84:00.0 -> ../../bus/pci/devices/0000:84:00.0\n"
				"sys/bus/pci/devices/0000:84:00.0/mdev_supported_types/nvidia-222/\n"
				" name = GRID T4-1B\n device_api = vfio-pci\n available_instances = 16\n" PCI(
					"0000:84:00.0", "10de", "1eb8", "03") PCI("0000:85:00.0", "10de", "1eb8", "03")
					PCI("0000:85:00.1", "10de", "10f8", "04")
						PCI("0000:41:00.0", "8086", "56c0", "03")
							PCI("0000:07:00.0", "1a03", "2000", "03");

static const struct row {
	const char *says, *config, *missing;
} rows[] = {
	{ "a card that is named and makes its type is not missed", "nvidia-222@0000:84:00.0", "" },
	{ "one that the host does not have is", "nvidia-222@0000:99:00.0", "named 0000:99:00.0" },
	{ "so is one without its driver", "nvidia-222@0000:85:00.0", "named 0000:85:00.0" },
	{ "also of plain VFs, of which a card with mdevs has none", "vf_flex@0000:84:00.0", "named 0000:84:00.0" },
	{ "a match misses the GPUs of a vendor, not their sound", "nvidia-222@10de:*", "matched 0000:85:00.0" },
	{ "but for a device that it names", "nvidia-222@10de:10f8", "matched 0000:85:00.1" },
	{ "a type that a card makes and that takes all cards misses none", "nvidia-222", "" },
	{ "one that none makes misses the idle GPUs of its vendor", "nvidia-999", "idle 0000:85:00.0" },
	{ "which the type's name tells", "i915-GVTg_V5_4", "idle 0000:41:00.0" },
	{ "or does not, and then the mainboard's VGA is no GPU", "mtty-1", "idle 0000:41:00.0, idle 0000:85:00.0" },
	{ "another section's card is missed there alone", "nvidia-999 nvidia-222@0000:85:00.0", "named 0000:85:00.0" },
};

static void run(const struct tree *tree, const struct row *row)
{
	static const char *const words[] = { [MISSING_NAMED] = "named",
					     [MISSING_MATCHED] = "matched",
					     [MISSING_IDLE] = "idle",
					     [MISSING_REMEMBERED] = "remembered" };
	char got[256] = "";
	struct config config;
	const struct inv_query query = { .frameworks = INV_ALL, .config = &config };
	autofree struct missing_card *missing = NULL;
	autoinventory struct inventory inv = { 0 };
	struct err err;
	size_t n;

	config_of_words(&config, row->config);
	if (inventory_read(&inv, &tree->host, &query, &err) < 0)
		tree_fail(err.text);
	n = missing_cards(&missing, &tree->host, &inv);
	for (size_t i = 0; i < n; i++) {
		text_add(got, sizeof(got), "%s%s %s", i ? ", " : "", words[missing[i].how], missing[i].card.address);
		ok(*missing[i].card.reason, "%s: %s", missing[i].card.address, missing[i].card.reason);
		ok(missing[i].how != MISSING_NAMED || missing[i].at.line == missing[i].section->addresses[0].at.line,
		   "it says where it is named");
	}
	is(got, row->missing, row->says);
	config_free(&config);
}

int main(void)
{
	TREE(tree, host_text);
	for (ROWS(row, rows))
		run(&tree, row);
	return tap_done();
}
