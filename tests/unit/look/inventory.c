/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel has, read from small trees in the form that drivers give them. */
#include "look/inventory.h"

#include "look/internal.h"
#include "lib/inventory_host.h"
#include "lib/names.h"

#define PCI "sys/devices/pci0000:80/"
#define T4 PCI "0000:84:00.0"
#define CARD "0000:41:00.0"
#define BUS "sys/bus/pci/devices/"
#define A40 "pci:v000010DEd00002235sv00000000sd00000000bc03sc02i00"
#define ON_BUS(card) "sys/class/mdev_bus/" card " -> ../../devices/pci0000:80/" card "\n"
#define T4_TYPE(id, name, framebuffer, max, available)                                                                 \
	T4 "/mdev_supported_types/" id "/\n name = " name                                                              \
	   "\n device_api = vfio-pci\n available_instances = " available                                               \
	   "\n description = num_heads=4, frl_config=60, framebuffer=" framebuffer                                     \
	   "M, max_resolution=5120x2880, max_instance=" max "\n"

/* One card whose vGPUs are on itself, with one of them. */
static const char one_t4[] = ON_BUS("0000:84:00.0") T4_TYPE("nvidia-222", "GRID T4-1B", "1024", "16", "15")
	T4_TYPE("nvidia-231", "GRID T4-2Q", "2048", "8", "0") T4_TYPE("nvidia-9", "GRID T4-1Q", "1024", "16", "-3") T4
	"/\n modalias = pci:v000010DEd00001EB8\n numa_node = 1\n " A
	"/mdev_type -> ../mdev_supported_types/nvidia-222\n"
	"sys/bus/mdev/devices/" A " -> ../../../devices/pci0000:80/0000:84:00.0/" A "\n"
	"sys/module/nvidia/version = 550.90.05\n";

static void a_card_with_vgpus_on_itself(void)
{
	const char *one[] = { "nvidia-222", "nvidia-999", NULL };
	const struct inv_device *device;
	const struct inv_type *type;

	TREE(tree, one_t4);
	ok(read_host(&tree.host, EVERYTHING) == 0, "a host with one card is read");
	ok(inv.npgpus == 1 && inv.nparents == 1 && inv.ndevices == 1 && inv.ntypes == 3,
	   "one of each, and three types");
	is(inv.pgpus[0]->address, "0000:84:00.0", "the card has its address");
	ok(inv.pgpus[0]->ready && inv.pgpus[0]->nvidia && !inv.pgpus[0]->sriov && inv.pgpus[0]->nvfs == 0,
	   "it is NVIDIA's, ready and without VFs");
	is(inv.pgpus[0]->vendor, "10de", "its vendor is four digits");
	is(inv.pgpus[0]->device, "1eb8", "and so is its model");
	ok(inv.pgpus[0]->numa == 1, "it is on its NUMA node");
	is(inv.nvidia_driver, "550.90.05", "the driver's version is known");
	type = inventory_type(&inv, NULL, "nvidia-222");
	ok(type && type->framebuffer_mib == 1024 && type->heads == 4 && type->max_instance == 16,
	   "the description gives the numbers");
	is(type ? type->resolution : NULL, "5120x2880", "and the resolution");
	is(type ? type->name : NULL, "GRID T4-1B", "the type has its name");
	ok(offered(inv.pgpus[0], "nvidia-222") == 15, "what the card offers is the kernel's number");
	ok(offered(inv.pgpus[0], "nvidia-9") == 0, "a negative number is none");
	is(inv.pgpus[0]->offers[0].type->id, "nvidia-9", "types are sorted by their numbers");
	device = inventory_device(&inv, A);
	ok(device && device->parent == inv.parents[0] && inv.parents[0]->ndevices == 1, "the vGPU is on the card");
	is(device ? device->vgpu.type : NULL, "nvidia-222", "and has its type");
	ok(inventory_pgpu(&inv, "0000:84:00.0") == inv.pgpus[0] && !inventory_pgpu(&inv, "0000:85:00.0"),
	   "a pGPU is found by its address");
	ok(inventory_parent(&inv, "0000:84:00.0") == inv.parents[0] && !inventory_parent(&inv, "mtty"),
	   "a parent is found by its name");
	ok(inventory_offer(NULL, "nvidia-222") == NULL, "no pGPU offers nothing");

	ok(read_host(&tree.host, MDEVS(one)) == 0 && inv.ntypes == 1 && inv.pgpus[0]->noffers == 1,
	   "only the types that matter are read, and one that no card has is no error");
	ok(read_host(&tree.host, MDEVS(one + 1)) == 0 && inv.ntypes == 1 && inventory_offer(inv.pgpus[0], "nvidia-222"),
	   "the type of a vGPU that is there matters, too");
	ok(read_host(&tree.host, MDEVS(one + 2)) == 0 && inv.ntypes == 1 && inv.pgpus[0]->ready,
	   "also where nothing was asked for");
}

static void a_virtual_parent(void)
{
	TREE(tree, "sys/class/mdev_bus/mtty -> ../../devices/virtual/mtty/mtty\n"
		   "sys/devices/virtual/mtty/mtty/mdev_supported_types/\n"
		   " mtty-2/name = Dual port serial\n mtty-2/available_instances = 12\n"
		   " mtty-3/available_instances = 1\n"
		   "sys/class/mdev_bus/.hidden/\nsys/class/mdev_bus/a b/\nsys/bus/mdev/devices/no-uuid/\n"
		   "sys/bus/mdev/devices/C6F1A2B3-0000-4000-8000-00000000000A -> ../../../devices/virtual/mtty/mtty/x\n"
		   "sys/bus/mdev/devices/" B " -> ../../../devices/virtual/gone/" B "\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1, "a virtual parent is a pGPU");
	is(inv.pgpus[0]->address, "mtty", "its address is its name");
	is(inv.pgpus[0]->vendor, "", "it has no vendor");
	ok(inv.pgpus[0]->ready && !inv.pgpus[0]->nvidia && inv.pgpus[0]->numa == UNKNOWN,
	   "it is ready, and on no NUMA node");
	ok(inv.types[0]->framebuffer_mib == UNKNOWN && inv.types[0]->max_instance == UNKNOWN,
	   "without a description the numbers are unknown");
	is(inv.types[1]->name, "mtty-3", "a type without a name is called by its id");
	ok(inv.nparents == 1 && inv.ndevices == 1, "names that are no parent's or no UUID are passed over");
	ok(!inv.devices[0].parent, "a vGPU on a parent that is not registered has none");
	is(inv.devices[0].vgpu.parent, "gone", "but the parent's name is known");
	is(inv.devices[0].vgpu.type, "", "and before its mdev_type appears it has no type");
}

/* A parent with one mdev; its path is below sys/devices. */
#define ONE_OF(path, parent, type, api, id)                                                                            \
	"sys/class/mdev_bus/" parent " -> ../../devices/" path "/" parent "\n"                                         \
	"sys/bus/mdev/devices/" id " -> ../../../devices/" path "/" parent "/" id "\n"                                 \
	"sys/devices/" path "/" parent "/\n mdev_supported_types/" type "/device_api = " api "\n"                      \
	" mdev_supported_types/" type "/available_instances = 1\n " id "/mdev_type -> ../mdev_supported_types/" type   \
	"\n"

static void mdevs_of_other_kinds(void)
{
	TREE(tree, ONE_OF("vfio_ap", "matrix", "vfio_ap-passthrough", "vfio-ap", B)
			   ONE_OF("css0", "0.0.0313", "vfio_ccw-io", "vfio-ccw", C)
				   ONE_OF("virtual/mtty", "mtty", "mtty-2", "vfio-pci", A));
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1 && inventory_pgpu(&inv, "mtty"),
	   "the adapters and channels of s390x are no pGPUs");
	ok(inv.ndevices == 1 && inventory_device(&inv, A), "their mdevs are no vGPUs");
	ok(inv.ntypes == 1, "and nobody is offered their types");
	EXPLAINED(&tree, "matrix", false, "{M_NO_VGPU_PARENT}", "which somebody who names one is told");
	tree_remove(&tree, "sys/class/mdev_bus/matrix");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.ndevices == 1, "also while their parent is unregistered");
	tree_add(&tree, ONE_OF("virtual/hct", "hct", "hct-1", "vfio-pci", U(d)));
	ok(read_host(&tree.host, EVERYTHING) == 0 && inventory_pgpu(&inv, "mtty")->gpu && inv.npgpus == 2 &&
		   !inventory_pgpu(&inv, "hct")->gpu,
	   "of virtual parents only the kernel's samples are GPUs: Hygon's crypto engines are none");
}

static void descriptions(void)
{
	static const struct inv_type unknown = { .framebuffer_mib = UNKNOWN,
						 .heads = UNKNOWN,
						 .max_instance = UNKNOWN };
	struct inv_type t = unknown;
	char nvidia[] = "num_heads=4, frl_config=45, framebuffer=2048M, max_resolution=7680x4320, max_instance=8";
	char gvtg[] = "low_gm_size: 128MB\nhigh_gm_size: 512MB\nfence: 4\nresolution: 1920x1200\nweight: 4";
	char bad[] = "num_heads=four, framebuffer=99999999999999M, max_resolution=wide, max_instance=-1, =, x=, ,";
	char prose[] = "virtual display, 640x480 framebuffer";

	inv_parse_description(&t, nvidia);
	ok(t.framebuffer_mib == 2048 && t.heads == 4 && t.max_instance == 8, "NVIDIA's description is read");
	is(t.resolution, "7680x4320", "with its resolution");
	t = unknown;
	inv_parse_description(&t, gvtg);
	ok(t.framebuffer_mib == UNKNOWN && t.heads == UNKNOWN, "GVT-g's apertures are no framebuffer");
	is(t.resolution, "1920x1200", "its lines have a resolution");
	t = unknown;
	inv_parse_description(&t, bad);
	ok(t.framebuffer_mib == UNKNOWN && t.heads == UNKNOWN && t.max_instance == UNKNOWN && !*t.resolution,
	   "what is no number is unknown");
	t = unknown;
	inv_parse_description(&t, prose);
	ok(t.framebuffer_mib == UNKNOWN && !*t.resolution, "prose says nothing");
}

static void names_from_outside(void)
{
	const struct inv_type *type;

	TREE(tree, one_t4);
	tree_add(&tree, T4 "/mdev_supported_types/nvidia-222/name = GRID\033[2J T4\n" T4
			   "/mdev_supported_types/nvidia-231/available_instances = many\n");
	ok(read_host(&tree.host, EVERYTHING) == 0, "a card with a number that is none is read");
	type = inventory_type(&inv, NULL, "nvidia-222");
	is(type ? type->name : NULL, "GRID\033[2J T4", "a name is what the driver says");
	ok(!inv.pgpus[0]->ready && strstr(inv.pgpus[0]->reason, "nvidia-231"), "the card is not ready: %s",
	   inv.pgpus[0]->reason);
}

static void cards_that_are_not_up(void)
{
	const char *one[] = { "nvidia-742", NULL };

	TREE(tree,
	     "sys/bus/pci/devices/0000:41:00.0 -> ../../../devices/pci0000:80/0000:41:00.0\n" PCI "0000:41:00.0/\n"
	     " modalias = pci:v000010DEd000025B6sv00000000sd00000000bc03sc02i00\n sriov_totalvfs = 16\n sriov_numvfs = 0\n"
	     " driver -> ../../../bus/pci/drivers/nvidia\n"
	     "sys/bus/pci/drivers/nvidia/\nsys/module/nvidia_vgpu_vfio/\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1, "a card without its VFs is looked for");
	ok(!inv.pgpus[0]->ready && inv.pgpus[0]->nparents == 0 &&
		   strstr(inv.pgpus[0]->reason, "restart vgpu-sriov@0000:41:00.0"),
	   "it is not ready: %s", inv.pgpus[0]->reason);
	ok(read_host(&tree.host, MDEVS(one)) == 0 && inv.npgpus == 0, "but not where only some types matter");
	EXPLAINED(&tree, CARD, false, "{M_VFS_NOT_ENABLED}", "somebody who names it is told");
	tree_add(&tree, PCI "0000:41:00.0/sriov_numvfs = 2\n");
	EXPLAINED(&tree, CARD, false, "nvidia-vgpud", "with VFs, but without types");
	tree_remove(&tree, PCI "0000:41:00.0/driver");
	EXPLAINED(&tree, CARD, false, "{M_DRIVER_NOT_BOUND|nvidia}", "without a driver");
	tree_remove(&tree, "sys/bus/pci/drivers/nvidia");
	EXPLAINED(&tree, CARD, false, "{M_NO_DRIVER}; {M_LOAD_DRIVER}", "without any that is loaded");
	tree_add(&tree, PCI "0000:41:00.0/driver -> ../../../bus/pci/drivers/vfio-pci\n");
	EXPLAINED(&tree, CARD, false, "vfio-pci", "with another driver");
	EXPLAINED(&tree, "0000:42:00.0", false, "{M_NO_PCI_DEVICE}", "one that is not there");
	EXPLAINED(&tree, "mtty", false, "{M_NO_PARENT}", "a virtual one that is not there");
	tree_add(&tree, ON_BUS("0000:41:00.0") PCI "0000:41:00.0/mdev_supported_types/\n");
	ok(read_host(&tree.host, MDEVS(one)) == 0 && inv.npgpus == 1, "a parent without any type is read");
	ok(!inv.pgpus[0]->ready, "and not ready: %s", inv.pgpus[0]->reason);
}

static void other_reasons(void)
{
	TREE(tree, "sys/module/nvidia_vgpu_vfio/\nsys/bus/pci/devices/\n"
		   " 0000:00:02.0/modalias = pci:v00008086d00003E98\n"
		   " 0000:00:02.0/driver -> ../../drivers/i915\n"
		   " 0000:03:00.0/driver -> ../../drivers/xe\n"
		   " 0000:41:00.4/physfn -> ../0000:41:00.0\n 0000:41:00.4/driver -> ../../drivers/nvidia\n"
		   " 0000:41:00.5/physfn -> ../0000:41:00.0\n 0000:41:00.5/driver -> ../../drivers/nvidia\n"
		   " 0000:41:00.5/nvidia/current_vgpu_type = 0\n"
		   " 0000:41:00.6/physfn -> ../0000:41:00.0\n 0000:41:00.6/driver -> ../../drivers/vfio-pci\n"
		   "sys/bus/pci/devices/0000:84:00.0/\n modalias = pci:v000010DEd00001EB8\n"
		   " driver -> ../../drivers/nvidia\n sriov_totalvfs = 16\n sriov_numvfs = 0\n"
		   "sys/bus/pci/devices/0000:85:00.0/\n modalias = pci:v000010DEd00002187\n"
		   " driver -> ../../drivers/nvidia\n sriov_totalvfs = 16\n sriov_numvfs = 0\n");
	EXPLAINED(&tree, "0000:85:00.0", false, "nvidia-vgpud", "a later Turing board needs no VFs");
	EXPLAINED(&tree, "0000:00:02.0", false, "kvmgt", "Intel's graphics need kvmgt");
	EXPLAINED(&tree, "0000:03:00.0", false, "xe", "another driver without types is named");
	EXPLAINED(&tree, "0000:41:00.4", false, "nvidia-vgpud", "a VF of NVIDIA's can still come up");
	EXPLAINED(&tree, "0000:41:00.6", false, "{M_BOUND_ELSEWHERE|vfio-pci}", "unless another driver has it");
	EXPLAINED(&tree, "00000000:41:00.5", false, "framework", "a VF of the other framework is told apart");
	EXPLAINED(&tree, "0000:84:00.0", false, "nvidia-vgpud", "a T4 can have VFs, but does not need them");
}

#define VF(n, number, more)                                                                                            \
	BUS CARD "/virtfn" n " -> ../0000:41:00." number "\n" BUS "0000:41:00." number "/\n physfn -> ../" CARD        \
		 "\n modalias = " A40 "\n" more
#define VFS(first, second)                                                                                             \
	BUS CARD "/\n sriov_totalvfs = 4\n sriov_numvfs = 2\n" VF("0", "4", first) VF("1", "5", second)
#define ON(driver) " driver -> ../../drivers/" driver "\n"
#define MODULE "sys/module/nvidia_vgpu_vfio/\n"

/* An A40 that the driver nvidia has: what else there is, and the reason in the inventory. */
static const struct {
	const char *says, *more, *reason;
} without_vgpus[] = {
	{ "VFs without a driver", MODULE VFS("", ""), "{M_VFS_NO_DRIVER}" },
	{ "VFs on vfio-pci", MODULE VFS(ON("vfio-pci"), ON("vfio-pci")), "{M_VFS_OTHER_DRIVER|vfio-pci}" },
	{ "a driver without vGPUs", VFS(ON("nvidia"), ON("nvidia")), "{M_NO_VGPU_MODULE}" },
	{ "types that are not registered yet", MODULE VFS(ON("nvidia"), ON("nvidia")), "{M_NVIDIA_VGPUD}" },
	{ "one VF on vfio-pci beside it", MODULE VFS(ON("vfio-pci"), ON("nvidia")), "{M_NVIDIA_VGPUD}" },
	{ "a card without SR-IOV", MODULE, "{M_NO_SRIOV}" },
	{ "SR-IOV without VFs", MODULE BUS CARD "/sriov_totalvfs = 0\n", "{M_NO_VFS_ALLOWED}" },
	{ "a driver without vGPUs, of a card without SR-IOV", "", "{M_NO_VGPU_MODULE}" },
};

static void cards_without_vgpus(void)
{
	for (ROWS(row, without_vgpus)) {
		TREE(tree, BUS CARD "/\n modalias = " A40 "\n driver -> ../../drivers/nvidia\n");
		tree_add(&tree, row->more);
		ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1, "%s: no VF is a pGPU", row->says);
		ok(strstr(inv.pgpus[0]->reason, message_in(row->reason)) != NULL, "%s: %s", row->says,
		   inv.pgpus[0]->reason);
	}
}

static void two_of_a_kind(void)
{
	TREE(tree, one_t4);
	tree_add(&tree, ON_BUS("0000:05:00.0") ON_BUS("0000:06:00.0") ON_BUS("0000:07:00.0") PCI
		 "0000:05:00.0/\n"
		 " modalias = pci:v000010DEd00001EB8\n"
		 " mdev_supported_types/nvidia-222/available_instances = 16\n"
		 " mdev_supported_types/nvidia-222/name = another name\n" PCI
		 "0000:07:00.0/mdev_supported_types/nvidia-222/available_instances/\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 4, "four cards are read");
	ok(inventory_pgpu(&inv, "0000:05:00.0") == inv.pgpus[0] && inventory_pgpu(&inv, "0000:84:00.0") == inv.pgpus[3],
	   "in the order of their addresses");
	ok(inventory_offer(inv.pgpus[0], "nvidia-222")->type == inventory_offer(inv.pgpus[3], "nvidia-222")->type,
	   "what a type is is read once for two cards of one model");
	ok(inventory_offer(inv.pgpus[0], "nvidia-222")->available == 16 &&
		   inventory_offer(inv.pgpus[3], "nvidia-222")->available == 15,
	   "what they offer of it is each card's own");
	ok(inventory_device(&inv, A)->parent == inv.parents[3], "the vGPU is where it was");
	ok(!inv.pgpus[1]->ready, "a card that went away meanwhile is not ready: %s", inv.pgpus[1]->reason);
	ok(!inv.pgpus[2]->ready, "nor is one whose driver gives an error: %s", inv.pgpus[2]->reason);
}

static void lists_of_types(void)
{
	struct inv_type *all = NULL;
	size_t n;

	TREE(tree, one_t4);
	ok(inventory_names(&tree.host, INV_ALL, &all, &n, &err) == 0 && n == 3, "all types are listed");
	is(n == 3 ? all[2].id : NULL, "nvidia-231", "in order");
	is(n == 3 ? all[2].name : NULL, "GRID T4-2Q", "each with its name");
	free(all);
	tree_add(&tree, T4 "/physfn = no link\n");
	ok(inventory_names(&tree.host, INV_ALL, &all, &n, &err) == 0 && n == 3,
	   "also those of a card that is not ready");
	free(all);
	tree_remove(&tree, T4 "/physfn");
	tree_remove(&tree, T4 "/mdev_supported_types/nvidia-231/available_instances");
	ok(inventory_names(&tree.host, INV_ALL, &all, &n, &err) == 0 && n == 3,
	   "nothing but its name is read of a type");
	free(all);
}

static void doubt_about_a_vf(void)
{
	TREE(tree, one_t4);
	tree_add(&tree, T4 "/physfn = no link\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1, "a parent with an odd physfn is read");
	ok(!inv.pgpus[0]->ready, "a parent of which nobody can tell whether it is a VF is not ready: %s",
	   inv.pgpus[0]->reason);
	tree_remove(&tree, T4 "/physfn");
	tree_add(&tree, T4 "/physfn -> ../not an address\n");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 1, "and with another");
	ok(!inv.pgpus[0]->ready, "nor is one of a card without an address: %s", inv.pgpus[0]->reason);
}

static void nothing_there(void)
{
	struct inv_type *names;
	size_t n;

	TREE(tree, "");
	ok(read_host(&tree.host, EVERYTHING) == 0 && inv.npgpus == 0 && inv.ndevices == 0,
	   "a host without the mdev framework is an empty inventory");
	ok(inventory_device(&inv, A) == NULL && !inventory_pgpu(&inv, "mtty"), "in which nothing is found");
	ok(inventory_names(&tree.host, INV_ALL, &names, &n, &err) == 0 && n == 0, "and which has no types");
	tree_add(&tree, "sys/class/mdev_bus = no directory\n");
	ok_err(read_host(&tree.host, EVERYTHING) == -ENOTDIR, "one that cannot be read is an error");
}

static uint64_t nodes_of(const struct host *host, const char *list)
{
	uint64_t cpus[CPU_WORDS] = { 0 };

	return text_cpuset(list, cpus, CPUS_MAX) ? inventory_cpu_nodes(host, cpus) : 0;
}

static void nodes_of_cpus(void)
{
	TREE(tree, "sys/devices/system/node/node0/cpulist = 0-3,8-11\n"
		   "sys/devices/system/node/node1/cpulist = 4-7,12-15\n"
		   "sys/devices/system/node/node2/cpulist = \n"
		   "sys/devices/system/node/possible = 0-2\n");
	ok(nodes_of(&tree.host, "1,9") == 1, "CPUs of node 0 are on it");
	ok(nodes_of(&tree.host, "3-4") == 3, "CPUs of two nodes are on both");
	ok(nodes_of(&tree.host, "99") == 0, "CPUs that are not there are on none");
}

TESTS(a_card_with_vgpus_on_itself, a_virtual_parent, mdevs_of_other_kinds, descriptions, names_from_outside,
      cards_that_are_not_up, other_reasons, cards_without_vgpus, two_of_a_kind, lists_of_types, doubt_about_a_vf,
      nothing_there, nodes_of_cpus)
