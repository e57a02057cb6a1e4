/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which types a request may have, and what it becomes where its type is made in the other framework. A row:
 *
 *   asks     the metadata's type; "@name" behind: what the source calls it; "v" before a hostdev of type pci, else mdev
 *   recalls  "=s" from its mdevctl definition, "~s" from its last lease; "" nothing; "none" on a
 *            host without types
 *   result   the types; "no: ..." the refusal
 *
 * The host has nvidia-1 "One" and nvidia-2 "Two" as mdevs, nvidia-2 "Zwei" and nvidia-3 "Three" as VFs. The
 * configuration enables nvidia-1 of class C, nvidia-2 of class C and, for plain VFs, flex; nvidia-3 is not enabled.
 */
#include "look/resolve.h"

#include "lib/messages.h"
#include "lib/leases.h"

static struct inv_type names[] = {
	{ .id = "nvidia-1", .name = "One", .framework = FW_MDEV },
	{ .id = "nvidia-2", .name = "Two", .framework = FW_MDEV },
	{ .id = "nvidia-2", .name = "Zwei", .framework = FW_VARIANT },
	{ .id = "nvidia-3", .name = "Three", .framework = FW_VARIANT },
	{ .id = "nvidia-4", .name = "NVIDIA Four-1Q", .framework = FW_VARIANT },
};
static struct section sections[] = {
	{ .type = "nvidia-1", .class = "C" },
	{ .type = "nvidia-2", .class = "C" },
	{ .type = "flex", .vf = true },
};
static struct config config = { .sections = sections, .nsections = 3 };
static const struct request request = { .uuid = VM };

struct row {
	const char *says, *asks, *recalls, *result;
};

static const struct row of_types[] = {
	{ "an enabled type needs no name", "nvidia-1", "", "nvidia-1" },
	{ "nor does a class, which is all its types", "C", "", "nvidia-1 nvidia-2" },
	{ "a name is found among those of its kind", "Two", "", "nvidia-2" },
	{ "of a VF, too", "v Three", "", "nvidia-3" },
	{ "without NVIDIA's brand, as its documents have it", "v Four-1Q", "", "nvidia-4" },
	{ "an id that is not enabled is known to the host", "v nvidia-3", "", "nvidia-3" },
	{ "a host without types knows none", "nvidia-9", "none",
	  "no: {M_UNKNOWN_TYPE|nvidia-9|}; known: (none: no pGPU here has types for a hostdev of type='mdev')" },
	{ "an unknown type is refused with the known ones", "nvidia-9", "",
	  "no: {M_UNKNOWN_TYPE|nvidia-9|}; {M_ENABLED_TYPES|nvidia-1}; {M_SEE_TYPES}" },
	{ "a name is answered with names", "Nine", "",
	  "no: {M_UNKNOWN_TYPE|Nine|}; {M_ENABLED_TYPES|nvidia-1 (One)}; {M_SEE_TYPES}" },
	{ "with what the source says of it", "nvidia-9@Nine", "",
	  "no: {M_UNKNOWN_TYPE|nvidia-9| (on the source: Nine)}; {M_ENABLED_TYPES|nvidia-1}; {M_SEE_TYPES}" },
	{ "an id that only the source knows is found by its name there", "nvidia-9@Two", "", "nvidia-2" },
	{ "a type of the other kind of hostdev is named as such", "nvidia-3", "", "no: {M_MADE_AS_VFS_DO|nvidia-3}" },
	{ "so is a pool of plain VFs", "flex", "", "no: {M_MADE_AS_VFS_DO|flex}" },
	{ "which a VF can have", "v flex", "", "flex" },
	{ "what an mdevctl definition says holds, enabled or not", "", "=nvidia-3", "nvidia-3" },
	{ "what was leased last, too", "", "~nvidia-2", "nvidia-2" },
	{ "unless it is not enabled any more", "", "~nvidia-3", "" },
	{ "the metadata go before both", "nvidia-1", "=nvidia-2", "nvidia-1" },
	{ "nothing is left to the plan", "", "", "" },
};

static const struct row of_frameworks[] = {
	{ "a type of its own kind stays", "@One", "", "mdev One" },
	{ "so does one that this host does not know", "@Three", "none", "mdev Three" },
	{ "a type that is made as VFs here becomes any VF", "@Three", "", "any VF Three" },
	{ "and the other way round", "v@One", "", "any mdev One" },
	{ "without a name of the source, by the metadata's", "Three", "", "any VF Three" },
	{ "an id is no name", "nvidia-3", "", "mdev nvidia-3" },
	{ "where nobody says a name nothing changes", "", "", "mdev " },
	{ "where the policy does not allow it, it is refused", "@Three", "never",
	  "no: {M_MDEV_THERE_VF_HERE|Three|nvidia-3}{M_CROSS_FRAMEWORK}" },
	{ "nor if the ID is to stay", "@Three", "keep", "no: {M_MDEV_THERE_VF_HERE|Three|nvidia-3}{M_KEEP_NO_CHANGE}" },
	{ "in either direction", "v@One", "keep", "no: {M_VF_THERE_MDEV_HERE|One|nvidia-1}{M_KEEP_NO_CHANGE}" },
	{ "likewise under a libvirt that cannot", "@Three", "10010000",
	  "no: {M_MDEV_THERE_VF_HERE|Three|nvidia-3}, {M_LIBVIRT_TOO_OLD|10.10.0}" },
	{ "one that can does", "@Three", "11000000", "any VF Three" },
};

static struct world facts_of(const struct row *row)
{
	bool none = strcmp(row->recalls, "none") == 0;

	return (struct world){ .host = &tree.host,
			       .store = &store,
			       .config = &config,
			       .request = &request,
			       .names = none ? NULL : names,
			       .nnames = none ? 0 : ARRAY_SIZE(names),
			       .names_known = INV_ALL };
}

static void make_request(struct vgpu_request *req, const char *asks)
{
	const char *at = strchrnul(asks, '@');

	*req = (struct vgpu_request){ .id = A, .kind = *asks == 'v' ? REQUEST_PCI : REQUEST_MDEV };
	asks += *asks == 'v';
	asks += *asks == ' ';
	snprintf(req->facts.type, sizeof(req->facts.type), "%.*s", (int)(at - asks), asks);
	snprintf(req->facts.name, sizeof(req->facts.name), "%s", *at ? at + 1 : "");
}

/* What must come of it is a refusal with the error `code`, or else what it becomes. */
static void check(const struct row *row, int r, int code, const char *becomes)
{
	static const char subject[] = "vGPU " A ": ";
	autofree char *refusal = mem_format("no: %s", r < 0 ? err.text + strlen(subject) : "");

	ok(r == 0 || (r == code && strncmp(err.text, subject, strlen(subject)) == 0), "%s: done or refused", row->says);
	is(r < 0 ? refusal : becomes, message_in(row->result), row->says);
}

static void recall(const char *recalls)
{
	const struct lease last = lease_of(A, *recalls ? recalls + 1 : "", "0000:84:00.0", LEASE_ACTIVE, VM);

	tree_remove(&tree, "etc/mdevctl.d");
	tree_remove(&tree, "var/lib/vgpu-lease/affinity/" A);
	if (*recalls == '=')
		tree_addf(&tree, "etc/mdevctl.d/0000:84:00.0/" A " = {\"mdev_type\": \"%s\"}\n", recalls + 1);
	if (*recalls == '~')
		affinity_put(&store, &last, true, "");
}

static void test_own_names_first(void)
{
	struct world facts = facts_of(&of_frameworks[0]);
	struct resolved_request resolved;
	struct vgpu_request req;

	facts.names_known = INV_MDEV;
	make_request(&req, "One");
	ok(resolve_vgpu(&resolved, &req, &facts, &err) == 0 && facts.names_known == INV_MDEV &&
		   resolve_framework(&req, &facts, &err) == 0 && facts.names_known == INV_MDEV,
	   "the drivers of the other framework are not asked for names while those of its own have the type");
}

static void test_types(void)
{
	for (ROWS(row, of_types)) {
		struct world facts = facts_of(row);
		struct vgpu_request req;
		struct resolved_request resolved;
		char becomes[256] = "";
		int r;

		make_request(&req, row->asks);
		recall(row->recalls);
		r = resolve_vgpu(&resolved, &req, &facts, &err);
		for (int t = 0; t < resolved.ntypes; t++)
			text_add(becomes, sizeof(becomes), "%s%s", t ? " " : "", resolved.types[t]);
		ok(r == 0 || !*becomes, "%s: refused or resolved", row->says);
		check(row, r, -ENOENT, becomes);
	}
}

static void test_frameworks(void)
{
	for (ROWS(row, of_frameworks)) {
		struct world facts = facts_of(row);
		struct vgpu_request req;
		char becomes[256];
		int r;

		config.policy.cross_framework = strcmp(row->recalls, "never") != 0;
		config.policy.migrate_keep = strcmp(row->recalls, "keep") == 0;
		facts.libvirt = atoi(row->recalls);
		make_request(&req, row->asks);
		r = resolve_framework(&req, &facts, &err);
		snprintf(becomes, sizeof(becomes), "%s%s %s", req.any ? "any " : "",
			 req.kind == REQUEST_MDEV ? "mdev" : "VF",
			 req.any || !*req.facts.name ? req.facts.type : req.facts.name);
		is(req.id, A, "its ID stays");
		check(row, r, -EPERM, becomes);
	}
}

HOST_TESTS("sys/class/mdev_bus/\nsys/bus/mdev/devices/\nsys/bus/pci/devices/\nrun/\nvar/lib/\n", test_types,
	   test_own_names_first, test_frameworks)
