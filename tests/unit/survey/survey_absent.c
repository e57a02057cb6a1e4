/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases of VFs without a device: their driver is asked, but never under the store's lock, and only an answer that
 * still holds there decides anything.
 */
#include "base/auto.h"
#include "base/text.h"
#include "lib/asked.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "survey/survey.h"

#define CARD "0000:26:00.0"
#define VF "0000:26:00.4"
#define OWN_VF "0000:26:00.5"
#define DEVICES "sys/devices/pci0000:20/"
#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OTHER "67a42c8b-1111-4000-8000-000000000002"
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

static struct tree tree;
static struct store store;
static struct section sections[] = { { .type = "nvidia-1145", .max_instances = NO_LIMIT } };
static struct config config = { .sections = sections, .nsections = 1, .policy.create_timeout_s = 600 };
static struct vgpu_request vgpus[] = { { .id = OWN_VF, .kind = REQUEST_PCI, .facts.type = "nvidia-1145" } };
static struct request request = { .uuid = VM, .name = "vm", .vgpus = vgpus, .nvgpus = 1 };
static struct err err;
static int come_after; /* the VF gets its type after so many reads of what it has */

static void comes(void)
{
	if (come_after && --come_after == 0)
		tree_add(&tree, DEVICES VF "/nvidia/current_vgpu_type = 1145\n");
}

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

static void begin(struct survey *s, enum survey_depth depth)
{
	*s = (struct survey){ .host = &tree.host, .store = &store, .config = &config, .asked = &request };
	s->depth = depth;
	asked.reads = asked.locked = 0;
	if (survey_start(s, &err) < 0 || survey_read(s, &err) < 0)
		tree_fail(err.text);
}

static void under_lock(struct survey *s)
{
	if (store_lock(&store, 1000, &err) < 0 || survey_leases(s, &err) < 0)
		tree_fail(err.text);
	store_unlock(&store);
}

static void end(struct survey *s)
{
	survey_end(s);
	tree_add(&tree, DEVICES VF "/nvidia/current_vgpu_type = 0\n");
	if (lease_drop(&store, VF, &err) < 0)
		tree_fail(err.text);
}

/* At each depth: how long a driver takes to answer, or that it never does, delays no other hook. */
static void asked_without_lock(void)
{
	static const enum survey_depth depths[] = { SURVEY_START, SURVEY_EXPLAIN, SURVEY_RECLAIM };
	static const enum lease_state states[] = { LEASE_CREATING, LEASE_ACTIVE, LEASE_RELEASING, LEASE_RESERVED };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++)
		for (size_t j = 0; j < ARRAY_SIZE(states); j++) {
			struct survey s;

			put(states[j], "nvidia-1145");
			begin(&s, depths[i]);
			under_lock(&s);
			ok(asked.reads > 0 && asked.locked == 0,
			   "depth %d, a lease that is %s: of %d reads none is under the store's lock", (int)depths[i],
			   lease_state_word(states[j]), asked.reads);
			end(&s);
		}
}

/* An interrupted creation without a device is void. */
static void decided(void)
{
	struct survey s;
	int lock;

	put(LEASE_CREATING, "nvidia-1145");
	begin(&s, SURVEY_START);
	under_lock(&s);
	ok(s.void_leases.n == 1 && s.leases.n == 0 && !s.outdated,
	   "a creation that was cut off without a device is void");
	sys_sleep_ms(2);
	put(LEASE_CREATING, "nvidia-1145");
	under_lock(&s);
	ok(s.void_leases.n == 0 && s.leases.n == 1,
	   "not if its lease has been written anew since the driver was asked");
	end(&s);

	put(LEASE_CREATING, "nvidia-1145");
	lock = store_lock_pgpu(&store, CARD, 0, &err);
	begin(&s, SURVEY_START);
	close(lock);
	under_lock(&s);
	ok(s.void_leases.n == 0 && s.leases.n == 1,
	   "nor if somebody was at work on its pGPU when the driver was asked");
	ok(survey_read(&s, &err) == 0, "the host is read again");
	under_lock(&s);
	ok(s.void_leases.n == 1, "the next round finds it void");
	end(&s);

	put(LEASE_CREATING, "nvidia-1145");
	begin(&s, SURVEY_START);
	lock = store_lock_pgpu(&store, CARD, 0, &err);
	under_lock(&s);
	close(lock);
	ok(s.void_leases.n == 0 && s.leases.n == 1, "nor if somebody is at work on it now");
	end(&s);
}

static void outdated(void)
{
	struct survey s;
	int all;

	put(LEASE_ACTIVE, "nvidia-1145");
	begin(&s, SURVEY_START);
	under_lock(&s);
	ok(!s.outdated, "a lease whose device is gone does not outdate a survey");
	all = asked.reads;
	end(&s);

	/* The last read is that of the VF. */
	put(LEASE_CREATING, "nvidia-1145");
	come_after = all - 1;
	begin(&s, SURVEY_START);
	under_lock(&s);
	ok(s.outdated && s.inv.ndevices == 0, "a device that came after the host was read does");
	ok(survey_read(&s, &err) == 0, "the host is read again");
	under_lock(&s);
	ok(!s.outdated && s.inv.ndevices == 1, "then it is known");
	end(&s);

	put(LEASE_ACTIVE, "nvidia-1145");
	asked.silent = true;
	begin(&s, SURVEY_START);
	under_lock(&s);
	ok(s.inv.npgpus == 1 && !s.inv.pgpus[0]->ready, "a card that does not answer is not ready");
	ok(!s.outdated, "and its leases do not outdate a survey: another read would find out no more");
	asked.silent = false;
	end(&s);
}

int main(void)
{
	tree_begin(&tree, one_card);
	if (store_open(&store, &tree.host, true, &err) < 0)
		tree_fail(err.text);
	asked.host = &tree.host;
	asked.then = comes;
	asked_without_lock();
	decided();
	outdated();
	store_close(&store);
	tree_end(&tree);
	return tap_done();
}
