/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What becomes of leases, orphans and attached vGPUs, as three tables. The domain is D, its start_grace 100 s,
 * create_timeout 20 s, reclaim_grace 1,000 s; a lease is 500 s old unless the row says otherwise.
 */
#include "decide/fate.h"

#include "lib/tap.h"

#define D "dddddddd-0000-4000-8000-000000000001"
#define E "eeeeeeee-0000-4000-8000-000000000001"

enum { NOW = 10000000, LOOKED = NOW - 500, GRACE_S = 100, CREATE_S = 20, RECLAIM_S = 1000, USUAL_S = 500 };

static const struct policy policy = {
	.start_grace_s = GRACE_S, .create_timeout_s = CREATE_S, .reclaim_grace_s = RECLAIM_S, .reclaim_orphans = true
};

/* What is true of it, one letter each. */
enum {
	RUNS = 1,
	HAS = 2,
	HAD = 4,
	OPEN = 8,
	UNREAD = 16,
	WRITTEN = 64,
	LATE = 128, /* written after the host was looked at, however long ago */
	PLAIN_VF = 256,
	ARRIVES = 512,
};

static const struct lease_row {
	const char *says;
	enum lease_state state;
	int age_s;
	enum presence exists;
	unsigned int is;
	bool goes;
	int again_s; /* when it is judged again; 0: not before something happens */
} lease_rows[] = {
	{ "a reservation stays until its deadline", LEASE_RESERVED, -10, ABSENT, 0, false, 10 },
	{ "then it may go", LEASE_RESERVED, 1, ABSENT, 0, true },
	{ "also of a domain that runs", LEASE_RESERVED, 1, ABSENT, RUNS | HAS, true },
	{ "what is released may go at once", LEASE_RELEASING, 1, PRESENT, 0, true },
	{ "also of a domain that runs again", LEASE_RELEASING, 1, PRESENT, RUNS | HAS, true },
	{ "not while its domain arrives, which is to take it over", LEASE_RELEASING, -10, PRESENT, ARRIVES, false, 10 },
	{ "an open one is not looked at again and again", LEASE_RELEASING, 1, PRESENT, ARRIVES | OPEN, false },
	{ "it goes after that time", LEASE_RELEASING, 1, PRESENT, ARRIVES, true },
	{ "not while it is open", LEASE_RELEASING, USUAL_S, PRESENT, OPEN, false },
	{ "not where it is unknown whether it exists", LEASE_RELEASING, USUAL_S, PRESENCE_UNKNOWN, 0, false },
	{ "a creation that goes on stays", LEASE_CREATING, USUAL_S, PRESENT, WRITTEN, false, 5 },
	{ "so does one that has no device yet", LEASE_CREATING, USUAL_S, ABSENT, WRITTEN, false, 5 },
	{ "one that was cut off stays for create_timeout", LEASE_CREATING, CREATE_S - 5, PRESENT, 0, false, 5 },
	{ "and goes after it", LEASE_CREATING, CREATE_S + 5, PRESENT, 0, true },
	{ "or at once, where there is no device", LEASE_CREATING, 5, ABSENT, 0, true },
	{ "but not of a domain that runs with it", LEASE_CREATING, USUAL_S, PRESENT, RUNS | HAS, false, 5 },
	{ "nor where it is unknown whether its domain runs", LEASE_CREATING, USUAL_S, PRESENT, UNREAD, false, 5 },
	{ "a vGPU of a domain that runs stays", LEASE_ACTIVE, USUAL_S, PRESENT, RUNS | HAS, false },
	{ "also where its device is gone", LEASE_ACTIVE, USUAL_S, ABSENT, RUNS | HAS, false },
	{ "also where it is unknown whether its domain runs", LEASE_ACTIVE, USUAL_S, PRESENT, UNREAD, false },
	{ "one of a domain that does not stays for start_grace", LEASE_ACTIVE, GRACE_S - 5, PRESENT, 0, false, 5 },
	{ "and goes after it", LEASE_ACTIVE, GRACE_S + 5, PRESENT, 0, true },
	{ "not while it is open", LEASE_ACTIVE, USUAL_S, PRESENT, OPEN, false },
	{ "nor where it is unknown whether it exists", LEASE_ACTIVE, USUAL_S, PRESENCE_UNKNOWN, 0, false },
	{ "or at once, where its device is gone", LEASE_ACTIVE, 5, ABSENT, 0, true },
	{ "unless it is being made again", LEASE_ACTIVE, 5, ABSENT, WRITTEN, false, 95 },
	{ "a plain VF is never gone", LEASE_ACTIVE, 5, PRESENT, PLAIN_VF, false, 95 },
	{ "it goes after start_grace, too", LEASE_ACTIVE, GRACE_S + 5, PRESENT, PLAIN_VF, true },
	{ "while a process is at work on it, it stays", LEASE_ACTIVE, USUAL_S, PRESENT, WRITTEN, false },
	{ "a lease that is younger than what is known stays", LEASE_ACTIVE, USUAL_S, ABSENT, LATE, false, 1 },
	{ "one of a running domain that has lost the device is released", LEASE_ACTIVE, USUAL_S, PRESENT, RUNS, true },
	{ "not an open one, which is looked at again soon", LEASE_ACTIVE, USUAL_S, PRESENT, RUNS | OPEN, false, 5 },
	{ "not a young one: it may be on its way in", LEASE_ACTIVE, 5, PRESENT, RUNS, false, 95 },
	{ "nor one that a command is attaching", LEASE_ACTIVE, USUAL_S, PRESENT, RUNS | WRITTEN, false },
	{ "a young one is, when it had been seen in the domain", LEASE_ACTIVE, 5, PRESENT, RUNS | HAD, true },
	{ "seen or not, an open one stays", LEASE_ACTIVE, 5, PRESENT, RUNS | HAD | OPEN, false, 5 },
	{ "so does one of after libvirt was asked what the domain has", LEASE_ACTIVE, USUAL_S, PRESENT,
	  RUNS | HAD | LATE, false, 1 },
};

static struct lease lease_of(enum lease_state state, int age_s, const char *domain)
{
	struct lease lease = { .state = state, .since_ms = NOW - (int64_t)age_s * 1000, .name = "vm", .writer = 4711 };

	if (state == LEASE_RESERVED)
		lease.deadline_ms = lease.since_ms;
	memcpy(lease.domain, domain, UUID_SIZE);
	return lease;
}

static void lease(const struct lease_row *row)
{
	struct lease lease = lease_of(row->state, row->age_s, D);
	const struct lease_facts facts = { .lease = &lease,
					   .policy = &policy,
					   .now_ms = NOW,
					   .looked_ms = row->is & LATE ? lease.since_ms : LOOKED,
					   .exists = row->exists,
					   .unseen = "its card does not answer",
					   .open = row->is & OPEN ? "process 1 has it open" : NULL,
					   .runs = row->is & RUNS,
					   .has = row->is & HAS,
					   .had = row->is & HAD,
					   .unread = row->is & UNREAD ? "vm.xml" : NULL,
					   .at_work = row->is & WRITTEN };
	struct fate fate;
	int64_t again_s;

	if (row->is & ARRIVES)
		lease.deadline_ms = lease.since_ms;
	if (row->is & PLAIN_VF)
		lease.vgpu.framework = FW_VF;
	fate_of_lease(&fate, &facts);
	again_s = fate.again_ms ? (fate.again_ms - NOW) / 1000 : 0;
	ok(fate.goes == row->goes && *fate.why && again_s == row->again_s, "%s: %s", row->says, fate.why);
}

enum { ALONE = 1, TYPELESS = 2, NAMED = 4, USED = 8, KEPT = 16, POOLED = 32, UNUSED = 64, NEVER = 128 };

static const struct orphan_row {
	const char *says;
	unsigned int is;
	int idle_s, definition_age_s;
	bool goes;
	int64_t due_s; /* from now; FATE_KEPT; 0: not known */
} orphan_rows[] = {
	{ "what nobody has, names or starts may go", 0, RECLAIM_S + 5, 0, true, -5 },
	{ "not before reclaim_grace is over", 0, RECLAIM_S - 5, 0, false, 5 },
	{ "not before the kernel says its type", TYPELESS, RECLAIM_S + 5, 0, false },
	{ "not what a domain's XML names", NAMED, RECLAIM_S + 5, 0, false },
	{ "not what is open", USED, RECLAIM_S + 5, 0, false },
	{ "not what mdevctl starts at boot", KEPT, RECLAIM_S + 5, 0, false },
	{ "not what was not made for a guest", POOLED, RECLAIM_S + 5, 0, false, FATE_KEPT },
	{ "unless that is asked for", POOLED | UNUSED, RECLAIM_S + 5, 0, true, -5 },
	{ "nothing, with reclaim = never", NEVER, RECLAIM_S + 5, 0, false },
	{ "a definition without a device may go", ALONE, RECLAIM_S + 5, 3600, true, -5 },
	{ "not one that a domain names: a start creates its device", ALONE | NAMED, RECLAIM_S + 5, 3600, false },
	{ "not for a minute: its device may be on its way", ALONE, RECLAIM_S + 5, 10, false, 50 },
};

static void orphan(const struct orphan_row *row)
{
	struct policy never = policy;
	const struct orphan_facts facts = { .policy = row->is & NEVER ? &never : &policy,
					    .now_ms = NOW,
					    .alone = row->is & ALONE,
					    .typed = !(row->is & TYPELESS),
					    .named = row->is & NAMED ? "domain vm names it" : NULL,
					    .open = row->is & USED ? "process 1 has it open" : NULL,
					    .kept = row->is & KEPT ? "mdevctl starts it at boot" : NULL,
					    .for_guest = !(row->is & POOLED),
					    .unused = row->is & UNUSED,
					    .idle_ms = NOW - (int64_t)row->idle_s * 1000,
					    .definition_ms = NOW - (int64_t)row->definition_age_s * 1000 };
	struct fate fate;
	int64_t due_s;

	never.reclaim_orphans = false;
	fate_of_orphan(&fate, &facts);
	due_s = fate.due_ms > 0 ? (fate.due_ms - NOW) / 1000 : fate.due_ms;
	ok(fate.goes == row->goes && *fate.why && due_s == row->due_s, "%s: %s", row->says, fate.why);
}

enum { UNSETTLED = 1, NO_DEVICE = 2, CLOSED = 4, OPEN_UNTOLD = 8, AT_WORK = 16, FRESH = 32, AFTER = 64 };

static const struct attached_row {
	const char *says;
	const char *holder; /* NULL: in no lease */
	enum lease_state state;
	unsigned int is;
	enum attached fate;
} attached_rows[] = {
	{ "a device that runs in a domain and is in no lease is leased to it", NULL, 0, 0, ATTACHED_LEASE },
	{ "not while its domain is being started, moved or stopped", NULL, 0, UNSETTLED, ATTACHED_LEAVE },
	{ "not while nobody has it open", NULL, 0, CLOSED, ATTACHED_LEAVE },
	{ "not where it cannot be told who has it open", NULL, 0, OPEN_UNTOLD, ATTACHED_LEAVE },
	{ "not where the kernel has no such device", NULL, 0, NO_DEVICE | CLOSED, ATTACHED_LEAVE },
	{ "one that is leased to its domain stays so", D, LEASE_ACTIVE, 0, ATTACHED_LEAVE },
	{ "one that another domain has leased is reported, and left alone", E, LEASE_ACTIVE, 0, ATTACHED_REPORT },
	{ "so is one that is reserved for another domain", E, LEASE_RESERVED, 0, ATTACHED_REPORT },
	{ "but not while its domain arrives", E, LEASE_RESERVED, UNSETTLED, ATTACHED_LEAVE },
	{ "a reservation of its own domain ends by itself", D, LEASE_RESERVED, 0, ATTACHED_LEAVE },
	{ "a creation that goes on is left alone", D, LEASE_CREATING, AT_WORK, ATTACHED_LEAVE },
	{ "a creation that was cut off, of a domain that runs, is the domain's", D, LEASE_CREATING, 0, ATTACHED_LEASE },
	{ "a release whose domain has long been running with it is undone", D, LEASE_RELEASING, 0, ATTACHED_LEASE },
	{ "a recent release is not: its QEMU may be on its way out", D, LEASE_RELEASING, FRESH, ATTACHED_LEAVE },
	{ "nor one that is closed", D, LEASE_RELEASING, CLOSED, ATTACHED_LEAVE },
	{ "nor one that was marked after libvirt was asked, however late", D, LEASE_RELEASING, AFTER, ATTACHED_LEAVE },
	{ "a creation that began after that is nobody's to judge by it", D, LEASE_CREATING, AFTER, ATTACHED_LEAVE },
	{ "nor is another domain's lease of after that", E, LEASE_ACTIVE, AFTER, ATTACHED_LEAVE },
};

static void attached(const struct attached_row *row)
{
	struct lease lease = lease_of(row->state, row->is & FRESH ? 1 : USUAL_S, row->holder ? row->holder : D);
	const struct attached_facts facts = { .lease = row->holder ? &lease : NULL,
					      .domain = D,
					      .now_ms = NOW,
					      .grace_ms = GRACE_S * 1000,
					      .looked_ms = row->is & AFTER ? lease.since_ms : LOOKED,
					      .settled = !(row->is & UNSETTLED),
					      .exists = !(row->is & NO_DEVICE),
					      .open = row->is & OPEN_UNTOLD ? -1 : !(row->is & CLOSED),
					      .at_work = row->is & AT_WORK };
	char why[REASON_SIZE];

	ok(fate_of_attached(&facts, why) == row->fate && !*why == (row->fate == ATTACHED_LEAVE), "%s: %s", row->says,
	   why);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lease_rows); i++)
		lease(&lease_rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(orphan_rows); i++)
		orphan(&orphan_rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(attached_rows); i++)
		attached(&attached_rows[i]);
	return tap_done();
}
