/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where libvirt, the lease and the kernel differ about a vGPU. */
#include "libvirt/hotplug.h"

#include "lib/names.h"
#include "lib/messages.h"

#define MTTY { .id = A, .type = "mtty-2", .parent = "mtty" }

static const struct lease active = { .vgpu = MTTY, .domain = VM, .name = "vm1", .state = LEASE_ACTIVE };
static const struct lease releasing = { .vgpu = MTTY, .domain = VM, .name = "vm1", .state = LEASE_RELEASING };
static const struct lease others = { .vgpu = MTTY, .domain = OTHER, .name = "vm2", .state = LEASE_ACTIVE };

#define LEASED true, "mtty-2", "mtty"
#define CHANGED true, "mtty-1", "other"
#define GONE false, "", ""

static const struct {
	const char *sentence, *req; /* a part of each difference, separated by | */
	bool runs, live;
	const struct lease *lease;
	bool exists;
	const char *type, *parent;
	int open;
	pid_t by; /* of what is not open: who is exiting */
} rows[] = {
	{ "all are of one mind", "", true, true, &active, LEASED, 1, 77 },
	{ "a domain that does not run", "", false, false, NULL, GONE },
	{ "one that was plugged in by somebody else", "{M_SHOW_NOT_LEASED}", true, true, NULL, LEASED, 1, 77 },
	{ "another domain's lease", "{M_SHOW_LEASED_TO_OTHER|vm2}", true, true, &others, LEASED, 1, 77 },
	{ "a lease that was to end", "{M_SHOW_RELEASING|releasing}", true, true, &releasing, LEASED, 1, 77 },
	{ "a device that went away", "{M_SHOW_GONE|}", true, true, &active, GONE },
	{ "one that was never there", "{M_SHOW_NOT_LEASED}|{M_SHOW_ABSENT}", true, true, NULL, GONE },
	{ "a device that was made anew", "{M_SHOW_OTHER_TYPE|mtty-2|mtty-1}|{M_SHOW_OTHER_PARENT|mtty|other}", true,
	  true, &active, CHANGED, 1, 77 },
	{ "one that QEMU has lost", "{M_SHOW_NOT_OPEN|}", true, true, &active, LEASED },
	{ "one that a QEMU is still closing", "{M_SHOW_EXITING|77}", true, true, &active, LEASED, 0, 77 },
	{ "a stranger that has it open", "{M_SHOW_STRANGER|78|77}", true, true, &active, LEASED, 1, 78 },
	{ "handles that cannot be told", "{M_SHOW_UNKNOWN}", true, true, &active, LEASED, -13 },
	{ "a lease of what is not plugged in", "{M_SHOW_NOT_PLUGGED|vm1|" A "}", true, false, &active, LEASED },
	{ "what went away, and from the domain, too", "{M_SHOW_NOT_PLUGGED|vm1|" A "}", true, false, &active, GONE },
	{ "a device that is unplugged and open", "{M_SHOW_STILL_OPEN|77}", true, false, &active, LEASED, 1, 77 },
	{ "one that waits", "{M_SHOW_PENDING|in a while}", true, false, &releasing, LEASED },
	{ "a lease of a domain that ended", "{M_SHOW_ENDED|in a while}", false, false, &active, LEASED },
	{ "a definition with another's device", "{M_SHOW_DEFINED_ELSEWHERE|vm2}", false, false, &others, LEASED },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compare view = { .id = A,
					.domain = VM,
					.name = "vm1",
					.runs = rows[i].runs,
					.live = rows[i].live,
					.config = true,
					.lease = rows[i].lease,
					.exists = rows[i].exists,
					.type = rows[i].type,
					.parent = rows[i].parent,
					.open = rows[i].open,
					.by = rows[i].by,
					.qemu = 77,
					.gc = "in a while",
					.exiting = rows[i].open == 0 && rows[i].by == 77 };
		char req[MESSAGE_SIZE], said[4096] = "";
		char *rest = req, *part;
		size_t n = 0;
		bool good = true;

		compare_views(&view);
		snprintf(req, sizeof(req), "%s", message_in(rows[i].req));
		for (size_t k = 0; k < view.n; k++)
			snprintf(said + strlen(said), sizeof(said) - strlen(said), "; %s", view.differences[k]);
		while (*req && (part = strsep(&rest, "|")))
			good &= n < view.n && strstr(view.differences[n++], part);
		ok(good && n == view.n, "%s%s", rows[i].sentence, said);
		for (size_t k = 0; k < view.n; k++)
			ok(strstr(view.differences[k], "; ") && strlen(view.differences[k]) < REASON_SIZE - 1,
			   "with what to do: %s", view.differences[k]);
	}
	return tap_done();
}
