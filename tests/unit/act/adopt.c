/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lease of a device that a domain runs with already: what can have one, and who removes it. */
#include "act/internal.h"

#include "lib/leases.h"
#include "unit/decide/world.h"

/* A card of mdevs, of which B has no type yet, and one of plain VFs. */
static const struct row host = { .cards = "84/1 s=15/16; f4d/0+1 flex=1", .there = A ":84:s " B ":84:" };
static struct setup w;
static struct request request = { .uuid = VM, .name = "vm" };

static void find(void)
{
	struct inv_device device;

	make_world(&w, &host);
	ok(adopt_find(&device, &w.inv, A) && strcmp(device.vgpu.id, A) == 0, "an mdev with a type can be leased");
	ok(!adopt_find(&device, &w.inv, B), "not before the kernel says its type");
	ok(!adopt_find(&device, &w.inv, C), "nor one that does not exist");
	ok(adopt_find(&device, &w.inv, "f4d.0") && device.vgpu.framework == FW_VF &&
		   strcmp(device.vgpu.pgpu, "f4d") == 0,
	   "a plain VF of the pool is no device, and can be");
	is(device.vgpu.type, "flex", "its type is the name of its section");
	ok(!adopt_find(&device, &w.inv, "84"), "a card that has mdevs is no VF");
}

/* Adopts A beside this lease of it, NULL none; what the lease says afterwards. */
static int adopt(const struct lease *there, struct lease *after)
{
	struct world world = { .store = &store, .inv = w.inv };
	int r;

	must(store_lock(&store, 60000, &err));
	r = adopt_device(&world, "test", &request, &w.devs[0], there, &err);
	*after = (struct lease){ 0 };
	if (lease_get(&store, A, after, &err) == 1)
		lease_drop(&store, A, &err);
	store_unlock(&store);
	return r;
}

static void lease(void)
{
	struct lease was = { .vgpu = w.devs[0].vgpu, .name = "other", .state = LEASE_ACTIVE, .origin = LEASE_CREATED };
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
	affinity_put(&store, &was, false, "");
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_CREATED,
	   "what the hook made in this boot is its own without a lease");
	affinity_gone(&store, A);
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "not after its removal");
	affinity_put(&store, &was, false, "");
	tree_add(&tree, "etc/mdevctl.d/84/" A " = {\"mdev_type\": \"s\", \"start\": \"manual\"}\n");
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "what mdevctl defines is mdevctl's");
	tree_remove(&tree, "etc/mdevctl.d");
	request.nova = true;
	ok(adopt(NULL, &now) == 1 && now.origin == LEASE_ADOPTED, "what an instance of Nova runs with is Nova's");
}

HOST_TESTS("proc/sys/kernel/random/boot_id = 11111111-2222-4333-8444-555555555555\nrun/\nvar/lib/\n", find, lease)
