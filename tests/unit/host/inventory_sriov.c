/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cards whose mdevs are on VFs: which VFs are one card's, what it offers, and which of them the driver has lost. */
#include "base/auto.h"
#include "lib/inventory_host.h"
#include "lib/names.h"

#define CARDS "sys/devices/pci0000:40/"

/* VF number `number` of the card 0000:41:00.0, with the type nvidia-742. */
static void add_vf(struct tree *tree, const char *vf, int number, const char *available)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "sys/class/mdev_bus/%s -> ../../devices/pci0000:40/%s\n" CARDS "0000:41:00.0/virtfn%d -> ../%s\n" CARDS
		 "%s/\n physfn -> ../0000:41:00.0\n"
		 " mdev_supported_types/nvidia-742/name = NVIDIA A2-1B\n"
		 " mdev_supported_types/nvidia-742/available_instances = %s\n",
		 vf, vf, number, vf, vf, available);
	tree_add(tree, text);
}

static void add_device(struct tree *tree, const char *vf, const char *uuid)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 CARDS "%1$s/%2$s/mdev_type -> ../mdev_supported_types/nvidia-742\n"
		       "sys/bus/mdev/devices/%2$s -> ../../../devices/pci0000:40/%1$s/%2$s\n",
		 vf, uuid);
	tree_add(tree, text);
}

static const char sriov_card[] = CARDS
	"0000:41:00.0/\n vendor = 0x10de\n device = 0x25b6\n class = 0x030200\n numa_node = -1\n";

static void a_card_with_vfs(const char *numvfs, const char *what, const char *const vfs[4])
{
	const char *one[] = { "nvidia-742", NULL };

	TREE(tree, sriov_card);
	if (numvfs)
		tree_add(&tree, numvfs);
	for (int i = 0; i < 4; i++)
		add_vf(&tree, vfs[i], i, i == 1 ? "1" : "0");
	add_device(&tree, vfs[0], A);
	/* A card of its own amid the VFs' addresses, where there is capacity for one. */
	if (strcmp(vfs[1], "0000:41:00.6") == 0)
		tree_add(&tree, "sys/class/mdev_bus/0000:41:00.5 -> ../../devices/pci0000:40/0000:41:00.5\n" CARDS
				"0000:41:00.5/\n vendor = 0x10de\n"
				" mdev_supported_types/nvidia-742/available_instances = 7\n");
	ok(read_host(&tree.host, MDEVS(one)) == 0, "VFs, %s: read", what);
	ok(inventory_pgpu(&inv, "0000:41:00.0") == inv.pgpus[0],
	   "VFs, %s: they have one pGPU, which is no parent itself", what);
	ok(inv.pgpus[0]->sriov && inv.pgpus[0]->nvfs == 4 && inv.pgpus[0]->nparents == 4, "VFs, %s: all four are there",
	   what);
	for (int i = 0; i < 4; i++)
		ok(inventory_parent(&inv, vfs[i]) == inv.parents[i] && inv.parents[i]->card == inv.pgpus[0],
		   "VFs, %s: %s is one of them", what, vfs[i]);
	ok(offered(inv.pgpus[0], "nvidia-742") == 1, "VFs, %s: a free one says what can be made", what);
	ok(inv.pgpus[0]->numa == UNKNOWN, "VFs, %s: NUMA node -1 is none", what);
	ok(inv.npgpus == 1 || inventory_parent(&inv, "0000:41:00.5") == inv.parents[4],
	   "VFs, %s: another card is not taken for one", what);
	for (int i = 1; i < 4; i++) {
		char uuid[UUID_SIZE];

		snprintf(uuid, sizeof(uuid), "c6f1a2b3-0000-4000-8000-0000000000%02d", i);
		add_device(&tree, vfs[i], uuid);
	}
	ok(read_host(&tree.host, MDEVS(one)) == 0 && inv.ndevices == 4, "VFs, %s: with a vGPU on each", what);
	ok(offered(inv.pgpus[0], "nvidia-742") == 0, "VFs, %s: the type is offered, and none can be made", what);
	ok(inv.parents[3]->ndevices == 1, "VFs, %s: the vGPUs are on the VFs", what);
}

static void vfs_are_grouped(void)
{
	static const char *const dense[] = { "0000:41:00.4", "0000:41:00.5", "0000:41:00.6", "0000:41:00.7" };
	static const char *const across[] = { "0000:41:00.6", "0000:41:00.7", "0000:41:01.0", "0000:41:01.1" };
	static const char *const apart[] = { "0000:41:00.4", "0000:41:00.6", "0000:41:01.0", "0000:41:01.2" };
	static const char number[] = "sys/devices/pci0000:40/0000:41:00.0/sriov_numvfs = 4\n";

	a_card_with_vfs(number, "side by side", dense);
	a_card_with_vfs(number, "into the next device", across);
	a_card_with_vfs(number, "two apart", apart);
	a_card_with_vfs(NULL, "of an unknown number", dense);
}

/* Four VFs, what each offers of a type of which `max` fit; the first one carries a vGPU where `used`. */
static void begin_vfs(struct tree *tree, const char *const available[4], const char *max, bool used)
{
	static const char *const vfs[] = { "0000:41:00.4", "0000:41:00.5", "0000:41:00.6", "0000:41:00.7" };
	char text[512];

	tree_begin(tree, sriov_card);
	for (int i = 0; i < 4; i++) {
		add_vf(tree, vfs[i], i, available[i]);
		snprintf(text, sizeof(text),
			 CARDS "%s/mdev_supported_types/nvidia-742/description = framebuffer=1024M, max_instance=%s\n",
			 vfs[i], max);
		tree_add(tree, text);
	}
	if (used)
		add_device(tree, vfs[0], A);
}

/* `how`: "used", and "all" where all types are read. `result`: what is offered, and which of the VFs are lost. */
static const struct {
	const char *says, *available[4], *max, *how, *result;
} lost_vfs[] = {
	{ "a VF that offers one is believed, and no other is asked", { "1", "x", "x", "x" }, "4", "", "1 ...." },
	{ "the first one offers none: the next one tells of the card", { "0", "1", "0", "1" }, "4", "", "1 L..." },
	{ "so on, until one does", { "0", "0", "-1", "1" }, "4", "", "1 LLL." },
	{ "none does: none of them is lost", { "0", "0", "0", "0" }, "4", "", "0 ...." },
	{ "a VF with a vGPU is never lost", { "0", "0", "1", "1" }, "4", "used", "1 .L.." },
	{ "a card that is full is not asked on", { "0", "0", "1", "1" }, "1", "used", "0 ...." },
	{ "where nothing says how many fit it is", { "0", "0", "1", "1" }, "x", "used", "1 .L.." },
	{ "what is no number offers none", { "0", "x", "1", "1" }, "4", "", "1 LL.." },
	{ "for people each VF is asked", { "1", "0", "1", "0" }, "4", "all", "1 .L.L" },
	{ "also where the first one is lost", { "0", "1", "x", "-1" }, "4", "all", "1 L..L" },
	{ "one with a vGPU is not", { "0", "1", "0", "1" }, "4", "used all", "1 ..L." },
	{ "of a full card none is", { "0", "0", "0", "0" }, "1", "used all", "0 ...." },
};

static void lost_vfs_are_passed_over(void)
{
	const char *one[] = { "nvidia-742", NULL };

	for (ROWS(row, lost_vfs)) {
		struct tree tree;
		char result[32];

		begin_vfs(&tree, row->available, row->max, strstr(row->how, "used"));
		read_host(&tree.host, strstr(row->how, "all") ? EVERYTHING : MDEVS(one));
		snprintf(result, sizeof(result), "%d ", offered(inv.pgpus[0], "nvidia-742"));
		for (size_t p = 0; p < inv.nparents; p++)
			strcat(result, inv.parents[p]->lost ? "L" : ".");
		is(result, row->result, row->says);
		tree_end(&tree);
	}
}

TESTS(vfs_are_grouped, lost_vfs_are_passed_over)
