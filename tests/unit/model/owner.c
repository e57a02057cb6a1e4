/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose a vGPU is: each rule is a row. */
#include "model/lease.h"

#include <string.h>

#include "lib/tap.h"

static const struct {
	const char *says;
	struct owner_facts facts;
	enum owner owner;
} rows[] = {
	{ "what the hook created is the hook's", { FW_MDEV, .created = true }, OWNER_HOOK },
	{ "what was there is somebody else's", { FW_MDEV }, OWNER_OTHER },
	{ "what the hook created for a definition is mdevctl's",
	  { FW_MDEV, .created = true, .defined = true },
	  OWNER_MDEVCTL },
	{ "what was there with a definition is mdevctl's", { FW_MDEV, .defined = true }, OWNER_MDEVCTL },
	{ "what the hook created for an instance of Nova is Nova's",
	  { FW_MDEV, .created = true, .nova = true },
	  OWNER_NOVA },
	{ "what was there for an instance of Nova is Nova's", { FW_MDEV, .nova = true }, OWNER_NOVA },
	{ "so is what Nova has defined", { FW_MDEV, .created = true, .defined = true, .nova = true }, OWNER_NOVA },
	{ "a type that the hook set on a VF is the hook's, also for Nova",
	  { FW_VARIANT, .created = true, .nova = true },
	  OWNER_HOOK },
	{ "a type that was set is not", { FW_VARIANT, .nova = true }, OWNER_OTHER },
	{ "a plain VF that the hook leased is the hook's to release",
	  { FW_VF, .created = true, .nova = true },
	  OWNER_HOOK },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(owner_of(&rows[i].facts) == rows[i].owner, "%s", rows[i].says);
	ok(owner_origin(OWNER_HOOK) == LEASE_CREATED, "the hook's is removed at release");
	ok(owner_origin(OWNER_NOVA) == LEASE_ADOPTED && owner_origin(OWNER_MDEVCTL) == LEASE_ADOPTED &&
		   owner_origin(OWNER_OTHER) == LEASE_ADOPTED,
	   "all others' is kept");
	ok(owner_why_kept(OWNER_NOVA) && owner_why_kept(OWNER_MDEVCTL) && !owner_why_kept(OWNER_HOOK) &&
		   !owner_why_kept(OWNER_OTHER),
	   "a manager's is kept for a reason");
	ok(strcmp(owner_word(OWNER_HOOK), "vgpu-lease") == 0 && strcmp(owner_word(OWNER_NOVA), "nova") == 0 &&
		   strcmp(owner_word(OWNER_MDEVCTL), "mdevctl") == 0 && !owner_word(OWNER_OTHER),
	   "each but the unknown has a word");
	return tap_done();
}
