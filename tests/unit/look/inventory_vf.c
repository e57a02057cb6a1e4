/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cards whose vGPUs are VFs, or are on VFs: whose a VF is, what it offers, and which the driver has lost. */
#include "look/internal.h"

#include "lib/config_text.h"
#include "lib/inventory_host.h"
#include "lib/names.h"
#include "look/looked.h"

#define PCI "sys/bus/pci/devices/"
#define LIST "ID    : vGPU Name\\n"
#define ONE_GIB LIST "1145  : NVIDIA L40S-1B\\n1147  : NVIDIA L40S-1Q"
#define ALL ONE_GIB "\\n1156  : NVIDIA L40S-48Q\\n2164  : NVIDIA L40S-3B"

/* VF number `n` of the card; `type` as current_vgpu_type reads, NULL: another driver has it. */
static void add_vf(struct tree *tree, const char *card, int n, const char *vf, const char *type, const char *list)
{
	tree_addf(tree,
		  PCI "%1$s/virtfn%2$d -> ../%3$s\n" PCI "%3$s/\n physfn -> ../%1$s\n driver -> ../../drivers/%4$s\n"
		      " iommu_group -> ../../../kernel/iommu_groups/%2$d\n",
		  card, n, vf, type ? "nvidia" : "vfio-pci");
	if (!type)
		return;
	tree_addf(tree,
		  "sys/bus/pci/drivers/nvidia/%1$s -> ../../devices/%1$s\n" PCI
		  "%1$s/nvidia/\n current_vgpu_type = %2$s\n creatable_vgpu_types = %3$s\n",
		  vf, type, list);
}

static void add_l40s(struct tree *tree, const char *card)
{
	tree_addf(tree,
		  "sys/bus/pci/drivers/nvidia/%1$s -> ../../devices/%1$s\n" PCI "%1$s/\n numa_node = 1\n"
		  " modalias = pci:v000010DEd000026B9sv000010DEsd00001851bc03sc02i00\n",
		  card);
}

/* A T4, whose vGPUs are mdevs, beside two L40S: one empty, one with a vGPU of 1 GiB. */
static void add_cards(struct tree *tree)
{
	tree_add(tree, "sys/class/mdev_bus/0000:84:00.0 -> ../../bus/pci/devices/0000:84:00.0\n"
		       "sys/bus/pci/drivers/nvidia/bind = \nsys/module/nvidia/version = 550.90.05\n"
		       "sys/bus/pci/drivers/nvidia/0000:84:00.0 -> ../../devices/0000:84:00.0\n" PCI
		       "0000:84:00.0/\n modalias = pci:v000010DEd00001EB8\n"
		       " mdev_supported_types/nvidia-222/name = GRID T4-1B\n"
		       " mdev_supported_types/nvidia-222/available_instances = 16\n");
	add_l40s(tree, "0000:41:00.0");
	add_vf(tree, "0000:41:00.0", 0, "0000:41:00.4", "0", ALL);
	add_vf(tree, "0000:41:00.0", 1, "0000:41:00.5", "0", ALL);
	add_l40s(tree, "0001:c8:00.0");
	add_vf(tree, "0001:c8:00.0", 0, "0001:c8:00.4", "1145", "");
	add_vf(tree, "0001:c8:00.0", 1, "0001:c8:00.5", "0", ONE_GIB);
	add_vf(tree, "0001:c8:00.0", 2, "0001:c8:00.6", NULL, NULL);
}

static void two_frameworks(void)
{
	static const char cards[][PCI_SIZE] = { "0001:c8:00.0", "0000:99:00.0", "../x", "" };
	static const struct inv_query one_card = { .frameworks = INV_VARIANT, .cards = cards };
	const struct inv_device *d;
	const struct inv_type *t;
	const struct inv_pgpu *big, *used;
	TREE(tree, "");

	add_cards(&tree);
	ok(read_host(&tree.host, MDEVS(NULL)) == 0 && inv.npgpus == 1, "VFs are not read where only mdevs matter");
	ok(read_host(&tree.host, &one_card) == 0 && inv.npgpus == 1 && inv.nparents == 2 &&
		   strcmp(inv.pgpus[0]->address, "0001:c8:00.0") == 0 && inv.ndevices == 1,
	   "of cards with VFs only those that are named are, where some are");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 3, "three cards of two frameworks");
	big = inventory_pgpu(&inv, "0000:41:00.0");
	used = inventory_pgpu(&inv, "0001:c8:00.0");
	ok(big == inv.pgpus[0] && used == inv.pgpus[2] && inv.pgpus[1]->framework == FW_MDEV &&
		   big->framework == FW_VARIANT && used->framework == FW_VARIANT,
	   "each card has its own");
	ok(big->nvfs == 2 && big->nparents == 2 && big->sriov && big->numa == 1, "the card's VFs are its parents");
	is(big->device, "26b9", "the card has its model");
	ok(used->nvfs == 2 && !inventory_parent(&inv, "0001:c8:00.6"), "a VF that another driver has is none");
	d = inventory_device(&inv, "0001:c8:00.4");
	ok(inv.ndevices == 1 && d && d->vgpu.framework == FW_VARIANT &&
		   d->parent == inventory_parent(&inv, "0001:c8:00.4") && d->parent->ndevices == 1,
	   "a VF with a type is a vGPU, by its address");
	is(d ? d->vgpu.type : NULL, "nvidia-1145", "of its type");
	t = inventory_type(&inv, NULL, "nvidia-1147");
	ok(t && t->framebuffer_mib == 1024 && t->max_instance == 32,
	   "a type's size is told by its name, as is the most");
	is(t ? t->name : NULL, "NVIDIA L40S-1Q", "with its name");
	ok(offered(used, "nvidia-1147") == 1, "another type of that size fits beside it");
	ok(offered(used, "nvidia-1156") == 0, "one of another size is known from the card beside, and does not fit");
	ok(offered(big, "nvidia-1156") == 1, "on the empty card it does");
	ok(inventory_offer(inv.pgpus[1], "nvidia-1147") == NULL, "the T4 has types of its own");
}

static void memory(void)
{
	const struct inv_query query = { .frameworks = INV_VARIANT };
	const struct inv_offer *offer;
	struct store store;
	char text[512];
	TREE(tree, "");

	add_cards(&tree);
	tree_add(&tree, "run/\nvar/lib/\n");
	ok(read_host(&tree.host, &query) == 0 && store_open(&store, &tree.host, true, &err) == 0,
	   "cards whose types are not remembered");
	types_remember(&store, &inv);
	ok(sys_read(tree.host.root, "var/lib/vgpu-lease/types/10de:26b9:10de:1851@550.90.05", text, sizeof(text)) > 0,
	   "what they list is written down");
	is(text,
	   "vgpu-lease types 1 all\n1145 : NVIDIA L40S-1B\n1147 : NVIDIA L40S-1Q\n1156 : NVIDIA L40S-48Q\n"
	   "2164 : NVIDIA L40S-3B",
	   "each type once");
	tree_add(&tree, "var/lib/vgpu-lease/types/10de:26b9:10de:1851@550.90.05 = vgpu-lease types 1 all\\n"
			"2164 : NVIDIA L40S-3B\\n1156 : NVIDIA L40S-48Q\\n1147 : NVIDIA L40S-1Q\\n"
			"1145 : NVIDIA L40S-1B\n");
	ok(read_host(&tree.host, &query) == 0, "the next look finds what is written down");
	types_remember(&store, &inv);
	ok(sys_read(tree.host.root, "var/lib/vgpu-lease/types/10de:26b9:10de:1851@550.90.05", text, sizeof(text)) > 0 &&
		   strstr(text, "all\n2164"),
	   "nothing is written if another card listed the same types in another order");
	tree_remove(&tree, PCI "0000:41:00.0");
	tree_remove(&tree, "sys/bus/pci/drivers/nvidia/0000:41:00.0");
	tree_add(&tree, PCI "0001:c8:00.5/nvidia/creatable_vgpu_types = " LIST "\n");
	ok(read_host(&tree.host, &query) == 0 && inv.npgpus == 1, "a card that is full");
	ok(inv.pgpus[0]->model->types_whole, "is of a model whose types are all known");
	offer = inventory_offer(inv.pgpus[0], "nvidia-1156");
	ok(offer && offer->available == 0 && offer->type->framebuffer_mib == 49152,
	   "its types are remembered, with their sizes");
	tree_remove(&tree, "var/lib/vgpu-lease/types");
	ok(read_host(&tree.host, &query) == 0 && inv.ntypes == 1 && !inv.pgpus[0]->model->types_whole &&
		   inv.types[0]->framebuffer_mib == UNKNOWN && inv.types[0]->max_instance == UNKNOWN,
	   "without memory a full card says what it carries, and no more");
	is(inv.types[0]->name, "nvidia-1145", "by its number");
	types_remember(&store, &inv);
	ok(sys_read(tree.host.root, "var/lib/vgpu-lease/types/10de:26b9:10de:1851@550.90.05", text, sizeof(text)) ==
		   -ENOENT,
	   "which is nothing to write down");
	tree_add(&tree, PCI "0001:c8:00.4/nvidia/\n current_vgpu_type = 0\n creatable_vgpu_types = " ONE_GIB "\n");
	ok(read_host(&tree.host, &query) == 0 && inv.ndevices == 0 && !inv.pgpus[0]->model->types_whole &&
		   inv.types[0]->max_instance == UNKNOWN,
	   "types of one size may be what is left beside a vGPU that was made a moment ago");
	store_close(&store);
}

static void trouble(void)
{
	const struct inv_query query = { .frameworks = INV_VARIANT };
	TREE(tree, "");

	add_cards(&tree);
	tree_add(&tree, PCI "0000:41:00.5/nvidia/current_vgpu_type = many\n");
	tree_remove(&tree, PCI "0001:c8:00.5/nvidia/creatable_vgpu_types");
	ok(read_host(&tree.host, &query) == 0, "cards with trouble are read");
	ok(!inv.pgpus[0]->ready, "a VF with nonsense is not ready: %s", inv.pgpus[0]->reason);
	ok(!inv.pgpus[1]->ready, "one without a list: %s", inv.pgpus[1]->reason);
	tree_add(
		&tree, PCI
		"0000:42:00.0/\n modalias = pci:v000010DEd00000000sv00000000sd00000000bc03sc02i00\n driver -> ../../drivers/nvidia\n"
		" sriov_numvfs = 1\n virtfn0 -> ../0000:42:00.4\n" PCI
		"0000:42:00.4/\n driver -> ../../drivers/nvidia\n nvidia/\nsys/module/nvidia_vgpu_vfio/\n"
		"sys/bus/pci/drivers/nvidia/0000:42:00.0 -> ../../devices/0000:42:00.0\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inventory_pgpu(&inv, "0000:42:00.0") == inv.pgpus[1],
	   "a card whose VFs are not registered yet is read");
	ok(!inv.pgpus[1]->ready && strstr(inv.pgpus[1]->reason, "nvidia-vgpud"), "and not ready: %s",
	   inv.pgpus[1]->reason);
	EXPLAINED(&tree, "0000:42:00.0", true, "[mdev_TYPE]", "NVIDIA's VFs are no plain ones");
	tree_add(&tree, PCI "0000:03:00.0/sriov_totalvfs = 31\n");
	EXPLAINED(&tree, "0000:03:00.0", true, "{M_VFS_NOT_ENABLED}", "plain VFs that are off");
	EXPLAINED(&tree, "0000:84:00.0", true, "SR-IOV", "a card without");
}

static void plain_vfs(void)
{
	static const char text[] = "[vf_flex]\ndevice_match = 8086:56c0\n[vf_one]\ndevice_addresses = 0000:05:00.2\n";
	struct config config;
	const struct inv_query query = { .frameworks = INV_VF, .config = &config };
	autofree struct missing_card *missing = NULL;
	const struct inv_pgpu *flex, *one;

	ok(config_of_text(&config, "f", text, sizeof(text) - 1, &err) == 0 && config.nsections == 2 &&
		   config.sections[0].vf,
	   "sections of plain VFs enable themselves");
	TREE(tree, PCI "0000:03:00.0/\n modalias = pci:v00008086d000056C0\n numa_node = 0\n");
	add_vf(&tree, "0000:03:00.0", 0, "0000:03:00.1", NULL, NULL);
	add_vf(&tree, "0000:03:00.0", 1, "0000:03:00.2", NULL, NULL);
	add_vf(&tree, "0000:04:00.0", 0, "0000:04:00.1", NULL, NULL);
	add_vf(&tree, "0000:05:00.0", 0, "0000:05:00.1", NULL, NULL);
	add_vf(&tree, "0000:05:00.0", 1, "0000:05:00.2", NULL, NULL);
	ok(read_host(&tree.host, &query) == 0 && inv.npgpus == 2,
	   "only the cards that the configuration names are read");
	flex = inventory_pgpu(&inv, "0000:03:00.0");
	one = inventory_pgpu(&inv, "0000:05:00.0");
	ok(flex == inv.pgpus[0] && one == inv.pgpus[1] && flex->framework == FW_VF && flex->nvfs == 2,
	   "with their VFs");
	is(inv.parents[0]->driver, "vfio-pci", "whose driver is known");
	ok(inventory_offer(flex, "flex") && inventory_offer(one, "one"), "their section's name is their type");
	ok(inv.ndevices == 0, "no VF is a device by itself");
	ok(flex->pool.in_pool && flex->pool.whole && pool_has_parent(inv.parents[0]), "they are in the pool");
	ok(one->pool.in_pool && !pool_has_parent(inventory_parent(&inv, "0000:05:00.1")) &&
		   pool_has_parent(inventory_parent(&inv, "0000:05:00.2")),
	   "of a card whose VFs are named only those");
	ok(missing_cards(&missing, &tree.host, &inv) == 0, "what is there is not missing");
	config_free(&config);
}

static void same_reason(void)
{
	TREE(tree, "sys/bus/pci/drivers/nvidia/bind = \n");
	add_l40s(&tree, "0000:41:00.0");
	add_vf(&tree, "0000:41:00.0", 0, "0000:41:00.4", "none", ALL);
	add_l40s(&tree, "0000:42:00.0");
	add_vf(&tree, "0000:42:00.0", 0, "0000:42:00.5", "none", ALL);
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 2 && !inv.pgpus[0]->ready,
	   "cards whose VFs read no type");
	ok(*inv.pgpus[0]->reason && strcmp(inv.pgpus[0]->reason, inv.pgpus[1]->reason) == 0, "have one reason: %s",
	   inv.pgpus[0]->reason);
}

/* VFs are disabled in order. One that a guest still has has lost its link to the card, and the kernel waits. */
static void vf_that_goes(void)
{
	TREE(tree, PCI
	     "0000:03:00.0/\n modalias = pci:v00001B36d00000000\n sriov_totalvfs = 4\n" PCI
	     "0000:03:00.1/\n modalias = pci:v00001B36d00000000sv00000000sd00000000bc03sc00i00\n sriov_vf_msix_count = \n");
	ok(read_host(&tree.host, EVERYTHING) == 0, "the host's PCI devices are read");
	ok(inv.npci == 1 && strcmp(inv.pci[0]->address, "0000:03:00.0") == 0,
	   "a VF that lost its link to the card is no card: %zu", inv.npci);
	EXPLAINED(&tree, "0000:03:00.1", true, "{M_BEING_DISABLED}", "where it is named, that is said");
	EXPLAINED(&tree, "0000:03:00.1", false, "{M_BEING_DISABLED}", "also where a domain names it");
	EXPLAINED(&tree, "0000:03:00.0", true, "{M_VFS_NOT_ENABLED}", "a card whose last VF goes has none");
	ok(inventory_kind(&tree.host, "0000:03:00.1") == PCI_GOING_VF &&
		   inventory_kind(&tree.host, "0000:03:00.0") == PCI_DEVICE &&
		   inventory_kind(&tree.host, "0000:03:00.2") == PCI_MISSING,
	   "the VF goes, not its card, nor what is not there");
	tree_add(&tree, PCI "0000:03:00.0/virtfn3 -> ../0000:03:00.4\n" PCI "0000:03:00.4/physfn -> ../0000:03:00.0\n");
	for (const char *const *at = (const char *const[]){ "0000:03:00.0", "0000:03:00.4", NULL }; *at; at++)
		EXPLAINED(&tree, *at, true, "{M_VFS_BEING_DISABLED}", "while later VFs exist, they are being disabled");
}

#define CARDS "sys/devices/pci0000:40/"

/* VF number `number` of the card 0000:41:00.0, with the type nvidia-742. */
static void add_mdev_vf(struct tree *tree, const char *vf, int number, const char *available)
{
	tree_addf(tree,
		  "sys/class/mdev_bus/%s -> ../../devices/pci0000:40/%s\n" CARDS
		  "0000:41:00.0/virtfn%d -> ../%s\n" CARDS "%s/\n physfn -> ../0000:41:00.0\n"
		  " mdev_supported_types/nvidia-742/name = NVIDIA A2-1B\n"
		  " mdev_supported_types/nvidia-742/available_instances = %s\n",
		  vf, vf, number, vf, vf, available);
}

static void add_device(struct tree *tree, const char *vf, const char *uuid)
{
	tree_addf(tree,
		  CARDS "%1$s/%2$s/mdev_type -> ../mdev_supported_types/nvidia-742\n"
			"sys/bus/mdev/devices/%2$s -> ../../../devices/pci0000:40/%1$s/%2$s\n",
		  vf, uuid);
}

static const char sriov_card[] = CARDS
	"0000:41:00.0/\n modalias = pci:v000010DEd000025B6sv00000000sd00000000bc03sc02i00\n numa_node = -1\n";

static void a_card_with_vfs(const char *numvfs, const char *what, const char *const vfs[4])
{
	const char *one[] = { "nvidia-742", NULL };

	TREE(tree, sriov_card);
	if (numvfs)
		tree_add(&tree, numvfs);
	for (int i = 0; i < 4; i++)
		add_mdev_vf(&tree, vfs[i], i, i == 1 ? "1" : "0");
	add_device(&tree, vfs[0], A);
	/* A card of its own amid the VFs' addresses, where there is capacity for one. */
	if (strcmp(vfs[1], "0000:41:00.6") == 0)
		tree_add(&tree, "sys/class/mdev_bus/0000:41:00.5 -> ../../devices/pci0000:40/0000:41:00.5\n" CARDS
				"0000:41:00.5/\n modalias = pci:v000010DEd00000000\n"
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

static const char *const dense[] = { "0000:41:00.4", "0000:41:00.5", "0000:41:00.6", "0000:41:00.7" };

static void vfs_are_grouped(void)
{
	static const char *const across[] = { "0000:41:00.6", "0000:41:00.7", "0000:41:01.0", "0000:41:01.1" };
	static const char *const apart[] = { "0000:41:00.4", "0000:41:00.6", "0000:41:01.0", "0000:41:01.2" };
	static const char number[] = "sys/devices/pci0000:40/0000:41:00.0/sriov_numvfs = 4\n";

	a_card_with_vfs(number, "side by side", dense);
	a_card_with_vfs(number, "into the next device", across);
	a_card_with_vfs(number, "two apart", apart);
	a_card_with_vfs(NULL, "of an unknown number", dense);
}

/* Four VFs, what each offers of a type of which `max` fit; the first one carries a vGPU where `used`. */
static void add_vfs(struct tree *tree, const char *const available[4], const char *max, bool used)
{
	tree_add(tree, sriov_card);
	for (int i = 0; i < 4; i++) {
		add_mdev_vf(tree, dense[i], i, available[i]);
		tree_addf(tree,
			  CARDS "%s/mdev_supported_types/nvidia-742/description = framebuffer=1024M, max_instance=%s\n",
			  dense[i], max);
	}
	if (used)
		add_device(tree, dense[0], A);
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
		char result[32];
		TREE(tree, "");

		add_vfs(&tree, row->available, row->max, strstr(row->how, "used"));
		read_host(&tree.host, strstr(row->how, "all") ? EVERYTHING : MDEVS(one));
		snprintf(result, sizeof(result), "%d ", offered(inv.pgpus[0], "nvidia-742"));
		for (size_t p = 0; p < inv.nparents; p++)
			strcat(result, inv.parents[p]->lost ? "L" : ".");
		is(result, row->result, row->says);
	}
}

TESTS(same_reason, vf_that_goes, two_frameworks, memory, trouble, plain_vfs, vfs_are_grouped, lost_vfs_are_passed_over)
