/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types, requests and owners of vGPUs, a row each; and each event is in the journal's catalog, by its MESSAGE_ID. */
#include "model/vgpu.h"

#include "lib/names.h"
#include "lib/tap.h"
#include "lib/source.h"
#include "model/event.h"

static const struct {
	const char *name, *word;
	bool named;
} type_names[] = {
	{ "GRID T4-1B", "GRID T4-1B", true },
	{ "GRID T4-1B", "T4-1B", true },
	{ "NVIDIA L40S-2Q", "L40S-2Q", true },
	{ "NVIDIA L40S-2Q", "GRID L40S-2Q", false },
	{ "GRID T4-1B", "T4-1B4", false },
	{ "GRID T4-1B", "", false },
	{ "GRID T4-1B", "1B", false },
	{ "Dual port serial", "port serial", false },
	{ "", "T4-1B", false },
};

static void words(void)
{
	for (ROWS(row, type_names))
		ok(type_is_named(row->name, row->word) == row->named, "'%s' is %sthe type '%s'", row->word,
		   row->named ? "" : "not ", row->name);
}

#define VF "0000:41:00.2"
#define PLACEHOLDER "00000000-0000-0000-0000-000000000001"

static void requests(void)
{
	struct vgpu_request vgpus[] = { { .id = PLACEHOLDER, .any = true }, { .kind = REQUEST_PCI, .id = VF } };
	char excluded[][ID_SIZE] = { C };
	const struct request request = { .vgpus = vgpus, .nvgpus = 2, .excluded = excluded, .nexcluded = 1 };
	const struct request nothing = { 0 };

	ok(request_find(&request, VF) == &vgpus[1], "a vGPU is found by its ID");
	ok(!request_find(&request, C) && !request_find(&nothing, VF), "one that is not requested is not");
	ok(request_names(&request, VF), "a VF asks for this very device");
	ok(request_find(&request, PLACEHOLDER) && !request_names(&request, PLACEHOLDER), "a placeholder does not");
	ok(!request_names(&request, C), "nor is a hostdev of another kind a request");
	ok(request_excludes(&request, C), "whose ID no vGPU can get");
	ok(!request_excludes(&request, VF), "that of a vGPU itself it can");
}

static const struct {
	const char *says;
	struct owner_facts facts;
	enum owner owner;
} whose[] = {
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

static void owners(void)
{
	for (size_t i = 0; i < sizeof(whose) / sizeof(whose[0]); i++)
		ok(owner_of(&whose[i].facts) == whose[i].owner, "%s", whose[i].says);
	ok(owner_origin(OWNER_HOOK) == LEASE_CREATED, "the hook's is removed at release");
	ok(owner_origin(OWNER_NOVA) == LEASE_ADOPTED && owner_origin(OWNER_MDEVCTL) == LEASE_ADOPTED &&
		   owner_origin(OWNER_OTHER) == LEASE_ADOPTED,
	   "all others' is kept");
	ok(owner_why_kept(OWNER_NOVA) && owner_why_kept(OWNER_MDEVCTL) && !owner_why_kept(OWNER_HOOK) &&
		   !owner_why_kept(OWNER_OTHER),
	   "a manager's is kept for a reason");
	ok(strcmp(owner_words[OWNER_HOOK], "vgpu-lease") == 0 && strcmp(owner_words[OWNER_NOVA], "nova") == 0 &&
		   strcmp(owner_words[OWNER_MDEVCTL], "mdevctl") == 0 && !owner_words[OWNER_OTHER],
	   "each but the unknown has a word");
}

static char *catalog, *source;

/* The MESSAGE_ID beside the event's word in the table; "": none. */
static void find_message_id(enum event event, char id[33])
{
	char row[64];
	const char *at;

	snprintf(row, sizeof(row), "{ \"%s\", \"", event_word(event));
	at = strstr(source, row);
	snprintf(id, 33, "%.32s", at ? at + strlen(row) : "");
}

static void events(void)
{
	catalog = source_text("etc/catalog/vgpu-lease.catalog");
	source = source_text("src/model/event.c");
	for (enum event event = 0; event < EVENT_DECIDED; event++) {
		char heading[64], id[33], its[33];
		const char *entry;

		find_message_id(event, id);
		snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", id);
		entry = strstr(catalog, heading);
		ok(strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32, "%s has a MESSAGE_ID", event_word(event));
		ok(entry != NULL, "which the catalog explains");
		ok(entry && !strstr(entry + 1, heading), "once");
		for (enum event other = 0; other < event; other++) {
			find_message_id(other, its);
			ok(strcmp(its, id) != 0, "and is not that of %s", event_word(other));
		}
	}
}

TESTS(words, requests, owners, events)
