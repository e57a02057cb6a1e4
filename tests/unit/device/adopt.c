/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lease of a device that a domain runs with already: what can have one, and who removes it. */
#include "device/adopt.h"

#include <errno.h>

#include "lib/small_host.h"
#include "state/history.h"

#define T4 "0000:84:00.0"
#define FLEX "0000:4d:00.0"

static struct inv_type types[] = { { .id = "nvidia-222", .framebuffer_mib = 1024 },
				   { .id = "gpu-56c0", .framebuffer_mib = UNKNOWN } };
static struct inv_type *known[] = { &types[0], &types[1] };
static struct inv_offer plain = { .type = &types[1] };
static struct inv_parent parents[2], *vfs[] = { &parents[0], &parents[1] };
static struct inv_pgpu cards[] = {
	{ .address = FLEX,
	  .framework = FW_VF,
	  .numa = UNKNOWN,
	  .parents = &vfs[0],
	  .nparents = 1,
	  .offers = &plain,
	  .noffers = 1 },
	{ .address = T4, .numa = 1, .parents = &vfs[1], .nparents = 1 },
};
static struct inv_pgpu *pgpus[] = { &cards[0], &cards[1] };
static struct inv_parent parents[] = { { .name = "0000:4d:00.1", .card = &cards[0] },
				       { .name = T4, .card = &cards[1] } };
static struct inv_device devices[] = {
	{ .vgpu = { FW_MDEV, A, "nvidia-222", T4, T4 }, .parent = &parents[1] },
	{ .vgpu = { FW_MDEV, B, "", T4, T4 }, .parent = &parents[1] },
};
static const struct inventory inv = { .pgpus = pgpus,
				      .npgpus = 2,
				      .parents = vfs,
				      .nparents = 2,
				      .devices = devices,
				      .ndevices = 2,
				      .types = known,
				      .ntypes = 2 };
static struct request request = { .uuid = VM, .name = "vm" };

static void find(void)
{
	struct inv_device device;

	ok(adopt_find(&device, &inv, A) && strcmp(device.vgpu.id, A) == 0, "an mdev with a type can be leased");
	ok(!adopt_find(&device, &inv, B), "not before the kernel says its type");
	ok(!adopt_find(&device, &inv, C), "nor one that does not exist");
	ok(adopt_find(&device, &inv, "0000:4d:00.1") && device.vgpu.framework == FW_VF &&
		   strcmp(device.vgpu.pgpu, FLEX) == 0,
	   "a plain VF of the pool is no device, and can be");
	is(device.vgpu.type, "gpu-56c0", "its type is the name of its section");
	ok(!adopt_find(&device, &inv, T4), "a card that has mdevs is no VF");
}

/* Adopts A beside this lease of it, NULL none; what the lease says afterwards. */
static int adopt(const struct lease *there, struct lease *after)
{
	const struct adoption adoption = { &store, &inv, &request, "test" };
	int r;

	if (store_lock(&store, 1000, &err) < 0)
		tree_fail(err.text);
	r = adopt_device(&adoption, &devices[0], there, &err);
	*after = (struct lease){ 0 };
	if (lease_get(&store, A, after, &err) == 1)
		lease_drop(&store, A, &err);
	store_unlock(&store);
	return r;
}

static void lease(void)
{
	struct lease was = { .vgpu = devices[0].vgpu, .name = "other", .state = LEASE_ACTIVE, .origin = LEASE_CREATED };
	struct lease now;

	ok(adopt(NULL, &now) == 1 && now.state == LEASE_ACTIVE && now.origin == LEASE_ADOPTED,
	   "what somebody else gave the domain is recorded, and kept at release");
	is(now.domain, VM, "for the domain");
	ok(now.numa == 1 && now.framebuffer_mib == 1024, "with what is known of its card and type");
	text_copy(was.domain, sizeof(was.domain), OTHER);
	ok(adopt(&was, &now) == -EEXIST && !*now.domain, "what another domain has leased is refused");
	text_copy(was.domain, sizeof(was.domain), VM);
	ok(adopt(&was, &now) == 0 && !*now.domain, "a lease that is active already is not written anew");
	was.state = LEASE_RELEASING;
	ok(adopt(&was, &now) == 1 && now.state == LEASE_ACTIVE && now.origin == LEASE_CREATED,
	   "one that is being released is active again, and the device still the hook's");
	was.origin = LEASE_ADOPTED;
	ok(adopt(&was, &now) == 1 && now.origin == LEASE_ADOPTED, "or still somebody else's");
	was.origin = LEASE_CREATED;
	affinity_put(&store, &was, false);
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_CREATED,
	   "what the hook made in this boot is its own without a lease");
	affinity_gone(&store, A);
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "not after its removal");
	affinity_put(&store, &was, false);
	tree_add(&tree, "etc/mdevctl.d/" T4 "/" A " = {\"mdev_type\": \"nvidia-222\", \"start\": \"manual\"}\n");
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "what mdevctl defines is mdevctl's");
	tree_remove(&tree, "etc/mdevctl.d");
	request.nova = true;
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "what an instance of Nova runs with is Nova's");
}

HOST_TESTS("proc/sys/kernel/random/boot_id = 11111111-2222-4333-8444-555555555555\nrun/\nvar/lib/\n", find, lease)
