/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The snapshot of a round: what it has, what is void in it, and that reading it changes nothing. */
#include "look/resolve.h"
#include "look/survey.h"
#include "act/fate_facts.h"

#include "lib/cards.h"
#include "lib/leases.h"

#define CARD "0000:84:00.0"
#define T4_TYPE(id, name) OFFERS(CARD, id, name, "8") FRAMEBUFFER(CARD, id, "1024", "16")

static const char one_card[] = "proc/\nrun/\n" CARD_OF(CARD, "1eb8") T4_TYPE("nvidia-222", "GRID T4-1B")
	T4_TYPE("nvidia-231", "GRID T4-2Q") MDEV_ON(CARD, "nvidia-222", A);

static struct section sections[] = { { .type = "nvidia-222", .max_instances = NO_LIMIT } };
static struct config config = { .sections = sections, .nsections = 1 };
static struct vgpu_request vgpus[] = { { .id = B, .facts.type = "nvidia-222" } };
static struct request request = { .uuid = VM, .name = "vm", .vgpus = vgpus, .nvgpus = 1 };
static void put(const char *id, const char *type, enum lease_state state, const char *domain)
{
	put_lease(lease_of(id, type, "0000:84:00.0", state, domain));
}

static void drop(const char *id)
{
	must(lease_drop(&store, id, &err));
}

static size_t leased(void)
{
	autoleases struct leases leases = { 0 };

	return lease_list(&store, &leases, &err) == 0 ? leases.n : 0;
}

static struct world s;

static void anew(void)
{
	survey_end(&s);
	s = (struct world){ .host = &tree.host, .store = &store, .config = &config, .asked = &request };
}

static void look(bool wide)
{
	anew();
	s.wide = wide;
	must(resolve_request(&s, &err));
	must(survey_ahead(&s, INT64_MAX, &err));
	must(store_lock(&store, 60000, &err));
	must(survey_read(&s, &err));
	if (wide)
		fate_mark(&s);
	store_unlock(&store);
}

static void types(void)
{
	look(false);
	ok(s.inv.ndevices == 1 && s.inv.npgpus == 1 && inventory_offer(s.inv.pgpus[0], "nvidia-222"),
	   "it has the device and the type that is asked for");
	ok(!inventory_type(&s.inv, NULL, "nvidia-231"), "and for a start no other type");
	put(C, "nvidia-231", LEASE_ACTIVE, OTHER);
	look(false);
	ok(inventory_type(&s.inv, NULL, "nvidia-231"), "but those of the leases, which take capacity");
	put(C, "nvidia-999", LEASE_ACTIVE, OTHER);
	look(false);
	ok(s.leases.n == 1 && !inventory_type(&s.inv, NULL, "nvidia-999"), "a type of no card is asked for once");
	drop(C);
}

static void drivers(void)
{
	const struct vgpu_ref vf = { .id = "0000:26:00.4", .framework = FW_VARIANT };

	look(false);
	ok(inventory_presence(&s.inv, &tree.host, &vf) == PRESENCE_UNKNOWN,
	   "the driver of VFs, which may hang, is asked nothing for an mdev");
	look(true);
	ok(inventory_presence(&s.inv, &tree.host, &vf) == ABSENT, "but if all is read");
}

static void openers(void)
{
	strcpy(vgpus[0].id, A);
	look(false);
	ok(s.inv.devices[0].facts.opened == OPEN_NO, "of a device that is asked for it is known who has it open");
	put(A, "nvidia-222", LEASE_ACTIVE, VM);
	look(false);
	ok(!s.users, "of one that the domain has leased already nobody asks");
	drop(A);

	strcpy(vgpus[0].id, B);
	look(false);
	ok(!s.users, "nor of one that is not there");
	tree_add(&tree, MDEV_ON(CARD, "nvidia-222", B));
	ok(store_lock(&store, 60000, &err) == 0 && survey_read(&s, &err) == 1 &&
		   s.inv.devices[1].facts.opened == OPEN_UNKNOWN,
	   "one that came after the search may be open, and under the lock there is no search");
	store_unlock(&store);
	ok(survey_see(&s, &err) == 0 && s.inv.devices[1].facts.opened == OPEN_NO, "until there is another one");
	tree_remove(&tree, "sys/bus/mdev/devices/" B);
	tree_remove(&tree, ON_CARD(CARD) "/" B "/mdev_type");
}

static size_t nreclaimable(void)
{
	size_t n = 0;

	fate_mark(&s);
	for (size_t i = 0; i < s.inv.ndevices; i++)
		n += s.inv.devices[i].facts.reclaimable;
	for (size_t i = 0; i < s.leases.n; i++)
		n += s.leases.list[i].reclaimable;
	return n;
}

static void voids(void)
{
	struct config none;

	put(C, "nvidia-222", LEASE_RESERVED, OTHER);
	put(A, "nvidia-222", LEASE_RESERVED, OTHER);
	anew();
	s.wide = true;
	ok(survey_see(&s, &err) == 0 && s.leases.n == 0 && s.void_leases.n == 2,
	   "reservations past their deadline are set apart");
	ok(leased() == 2, "and stay where they are without the lock: a reader changes nothing");
	ok(nreclaimable() == 0, "the foreign device that one was for may not go with it");
	look(true);
	ok(s.leases.n == 0 && leased() == 0, "who decides drops them");

	config_default(&none);
	err_set(&none.why, ENOENT, "no configuration");
	anew();
	s.wide = true;
	s.config = &none;
	put(C, "nvidia-222", LEASE_RELEASING, OTHER);
	ok(survey_see(&s, &err) == 0, "without a configuration there is a survey, too");
	ok(nreclaimable() == 1 && lease_find(&s.leases, C)->reclaimable, "it knows what waits to be released");
	ok(!s.inv.pgpus[0]->pool.in_pool, "it has no pool");
	drop(C);
}

static void requests(void)
{
	anew();
	strcpy(vgpus[0].facts.type, "GRID T4-2Q");
	ok(resolve_request(&s, &err) == 0 && strcmp(s.resolved_requests[0].types[0], "nvidia-231") == 0,
	   "a type's name is looked for on the host");
	anew();
	strcpy(vgpus[0].facts.type, "GRID T4-9Q");
	ok_err(resolve_request(&s, &err) == -ENOENT, "one that no card has is an error");
	vgpus[0].facts.type[0] = '\0';
	tree_add(&tree, "etc/mdevctl.d/0000:84:00.0/" B " = {\"mdev_type\": \"nvidia-231\", \"start\": \"manual\"}\n");
	anew();
	ok(resolve_request(&s, &err) == 0 && s.resolved_requests[0].source == TYPE_DEFINED &&
		   strcmp(s.resolved_requests[0].types[0], "nvidia-231") == 0,
	   "an mdevctl definition says the type");
	is(s.resolved_requests[0].last_parent, "0000:84:00.0", "and the parent");
	vgpus[0].any = true;
	anew();
	ok(resolve_request(&s, &err) == 0 && s.resolved_requests[0].ntypes == 0,
	   "of a vGPU that may be any, nothing is remembered");
	survey_end(&s);
}

#define VF_OF(card, vf)                                                                                                \
	PARENT(vf)                                                                                                     \
	ON_CARD(vf)                                                                                                    \
	"/physfn -> ../" card "\n" OFFERS(vf, "nvidia-222", "GRID A40-1B", "1")                                        \
		FRAMEBUFFER(vf, "nvidia-222", "1024", "16")

static void definitions(void)
{
	tree_add(&tree, ON_CARD("0000:41:00.0") "/modalias = pci:v000010ded00002235\n" VF_OF(
				"0000:41:00.0", "0000:41:00.4") VF_OF("0000:41:00.0", "0000:41:00.5"));
	tree_add(&tree, "etc/mdevctl.d/0000:41:00.4/" C " = {\"mdev_type\": \"nvidia-222\", \"start\": \"manual\"}\n");
	tree_add(&tree, "etc/mdevctl.d/0000:41:00.5/readme = none\n");
	strcpy(vgpus[0].facts.type, "nvidia-222");
	vgpus[0].any = false;
	look(false);
	ok(inventory_parent(&s.inv, "0000:41:00.4")->facts.is_named, "a VF that a definition names is known");
	ok(!inventory_parent(&s.inv, "0000:41:00.5")->facts.is_named, "from one that none names");
	survey_end(&s);
}

HOST_TESTS(one_card, types, drivers, openers, voids, requests, definitions)
