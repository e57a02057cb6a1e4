/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leases of VFs without a device: a creation that was cut off is void, but not while somebody may still be at it. */
#include "lib/small_host.h"
#include "survey/survey.h"

#define CARD "0000:26:00.0"
#define VF "0000:26:00.4"
#define OWN_VF "0000:26:00.5"
#define DEVICES "sys/devices/pci0000:20/"
#define VF_OF_CARD(vf, n)                                                                                              \
	"sys/bus/pci/devices/" vf " -> ../../../devices/pci0000:20/" vf "\n" DEVICES vf "/physfn -> ../" CARD          \
	"\n" DEVICES CARD "/virtfn" n " -> ../" vf "\n" DEVICES vf "/nvidia/current_vgpu_type = 0\n" DEVICES vf        \
	"/nvidia/creatable_vgpu_types = ID : vGPU Name\\n1145 : NVIDIA L40S-1B\n"

static const char one_card[] = "proc/\nrun/\nsys/bus/pci/drivers/nvidia/" CARD
			       " -> ../../../../devices/pci0000:20/" CARD "\n"
			       "sys/bus/pci/devices/" CARD " -> ../../../devices/pci0000:20/" CARD "\n" DEVICES CARD
			       "/vendor = 0x10de\n" DEVICES CARD "/device = 0x26b9\n" DEVICES CARD
			       "/class = 0x030200\n" DEVICES CARD "/numa_node = 0\n" VF_OF_CARD(VF, "0")
				       VF_OF_CARD(OWN_VF, "1");

static struct section sections[] = { { .type = "nvidia-1145", .max_instances = NO_LIMIT } };
static struct config config = { .sections = sections, .nsections = 1, .policy.create_timeout_s = 600 };
static struct vgpu_request vgpus[] = { { .id = OWN_VF, .kind = REQUEST_PCI, .facts.type = "nvidia-1145" } };
static struct request request = { .uuid = VM, .name = "vm", .vgpus = vgpus, .nvgpus = 1 };
/* By a process that has ended. */
static void put(enum lease_state state, const char *type)
{
	struct lease lease = { .vgpu = { .framework = FW_VARIANT, .id = VF, .parent = VF, .pgpu = CARD },
			       .domain = OTHER,
			       .name = "other",
			       .state = state,
			       .numa = UNKNOWN,
			       .framebuffer_mib = 1024 };

	text_copy(lease.vgpu.type, sizeof(lease.vgpu.type), type);
	store.resident = true;
	if (lease_put(&store, &lease, &err) < 0)
		tree_fail(err.text);
	store.resident = false;
}

static void look(struct world *s)
{
	*s = (struct world){ .host = &tree.host, .store = &store, .config = &config, .asked = &request };
	if (survey_start(s, &err) < 0 || store_lock(&store, 1000, &err) < 0 || survey_read(s, &err) < 0)
		tree_fail(err.text);
	store_unlock(&store);
}

static void decided(void)
{
	struct world s;
	int lock;

	put(LEASE_CREATING, "nvidia-1145");
	look(&s);
	ok(s.void_leases.n == 1 && s.leases.n == 0, "a creation that was cut off without a device is void");
	survey_end(&s);

	lock = store_lock_pgpu(&store, CARD, 0, &err);
	look(&s);
	close(lock);
	ok(s.void_leases.n == 0 && s.leases.n == 1 && s.leases.list[0].device == PRESENCE_UNKNOWN,
	   "not while somebody is at work on its pGPU: its device may be about to come");
	survey_end(&s);

	tree_add(&tree, DEVICES VF "/nvidia/current_vgpu_type = 1145\n");
	look(&s);
	ok(s.void_leases.n == 0 && s.inv.ndevices == 1 && s.leases.list[0].device == PRESENT,
	   "nor where its device is there");
	survey_end(&s);
	tree_add(&tree, DEVICES VF "/nvidia/current_vgpu_type = 0\n");

	put(LEASE_ACTIVE, "nvidia-1145");
	look(&s);
	ok(s.leases.n == 1 && s.leases.list[0].device == ABSENT, "a lease whose device is gone is no void one");
	survey_end(&s);
	if (lease_drop(&store, VF, &err) < 0)
		tree_fail(err.text);
}

HOST_TESTS(one_card, decided)
