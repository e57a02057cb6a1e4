/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of reconcile, as two tables. The domain is D, its grace 100 s, a lease 1,000 s old unless the row says
 * otherwise.
 */
#include "daemon/reconcile.h"

#include <stdlib.h>

#include "lib/tap.h"

#define D "dddddddd-0000-4000-8000-000000000001"
#define E "eeeeeeee-0000-4000-8000-000000000001"
#define NOW 10000000
#define GRACE 100000
#define YOUNG (NOW - 1000)
#define OLD (NOW - 1000000)

/* What is true of a device or a lease, one letter each. */
enum {
	UNSETTLED = 1,
	NO_DEVICE = 2,
	CLOSED = 4,
	OPEN_UNTOLD = 8,
	AT_WORK = 16,
	UNKNOWN_XML = 32,
	NAMED = 64,
	SEEN = 128,
	IS_OPEN = 256,
	FRESH = 512,
	TAKEN = 1024,
	LATE = 2048,
};

struct device_row {
	const char *says;
	const char *holder; /* NULL: in no lease */
	enum lease_state state;
	unsigned int is;
	enum reconcile_verdict req;
};

static const struct device_row device_rows[] = {
	{ "a device that runs in a domain and is in no lease is adopted", NULL, 0, 0, RECONCILE_ADOPT },
	{ "not while its domain is being started, moved or stopped", NULL, 0, UNSETTLED, RECONCILE_LEAVE },
	{ "not while nobody has it open", NULL, 0, CLOSED, RECONCILE_LEAVE },
	{ "not where it cannot be told who has it open", NULL, 0, OPEN_UNTOLD, RECONCILE_LEAVE },
	{ "not where the kernel has no such device", NULL, 0, NO_DEVICE | CLOSED, RECONCILE_LEAVE },
	{ "one that is leased to its domain stays so", D, LEASE_ACTIVE, 0, RECONCILE_LEAVE },
	{ "one that another domain has leased is reported, and left alone", E, LEASE_ACTIVE, 0, RECONCILE_REPORT },
	{ "so is one that is reserved for another domain", E, LEASE_RESERVED, 0, RECONCILE_REPORT },
	{ "but not while its domain arrives", E, LEASE_RESERVED, UNSETTLED, RECONCILE_LEAVE },
	{ "a reservation of its own domain ends by itself", D, LEASE_RESERVED, 0, RECONCILE_LEAVE },
	{ "a creation that goes on is left alone", D, LEASE_CREATING, AT_WORK, RECONCILE_LEAVE },
	{ "a creation that was cut off, whose domain runs all the same, is its domain's", D, LEASE_CREATING, 0,
	  RECONCILE_ADOPT },
	{ "a release whose domain has been running with it for long is taken back", D, LEASE_RELEASING, 0,
	  RECONCILE_ADOPT },
	{ "a release of a moment ago is not: its QEMU may be on its way out", D, LEASE_RELEASING, FRESH,
	  RECONCILE_LEAVE },
	{ "nor one that is closed", D, LEASE_RELEASING, CLOSED, RECONCILE_LEAVE },
	{ "nor one that was marked after libvirt was asked who runs, however long ago", D, LEASE_RELEASING, LATE,
	  RECONCILE_LEAVE },
	{ "a creation that began after that is nobody's to judge by it", D, LEASE_CREATING, LATE, RECONCILE_LEAVE },
	{ "nor is another domain's lease of after that", E, LEASE_ACTIVE, LATE, RECONCILE_LEAVE },
};

struct lease_row {
	const char *says;
	enum lease_state state;
	unsigned int is;
	enum reconcile_verdict req;
};

static const struct lease_row lease_rows[] = {
	{ "a lease of a running domain that no longer has the device is released", LEASE_ACTIVE, 0, RECONCILE_RELEASE },
	{ "not while the domain has it", LEASE_ACTIVE, NAMED, RECONCILE_LEAVE },
	{ "not while it is open", LEASE_ACTIVE, IS_OPEN, RECONCILE_LEAVE },
	{ "not where it cannot be told who has it open", LEASE_ACTIVE, OPEN_UNTOLD, RECONCILE_LEAVE },
	{ "not where the domain's XML is not to be had", LEASE_ACTIVE, UNKNOWN_XML, RECONCILE_LEAVE },
	{ "not while the domain is being started, moved or stopped", LEASE_ACTIVE, UNSETTLED, RECONCILE_LEAVE },
	{ "not a young one: it may be on its way in", LEASE_ACTIVE, FRESH, RECONCILE_LEAVE },
	{ "nor one whose writer is still at it, as a command that attaches is", LEASE_ACTIVE, AT_WORK,
	  RECONCILE_LEAVE },
	{ "a young one is, when it had been seen in the domain", LEASE_ACTIVE, FRESH | SEEN, RECONCILE_RELEASE },
	{ "seen or not, an open one stays", LEASE_ACTIVE, SEEN | IS_OPEN, RECONCILE_LEAVE },
	{ "nor does a suspend lose what it has taken so far, should it fail", LEASE_ACTIVE, SEEN | TAKEN,
	  RECONCILE_LEAVE },
	{ "not one of after libvirt was asked what the domain has, however old it is by now", LEASE_ACTIVE, LATE,
	  RECONCILE_LEAVE },
	{ "seen in it or not", LEASE_ACTIVE, LATE | SEEN, RECONCILE_LEAVE },
	{ "a creation is none of this rule's", LEASE_CREATING, 0, RECONCILE_LEAVE },
	{ "nor is a reservation", LEASE_RESERVED, 0, RECONCILE_LEAVE },
	{ "nor a release", LEASE_RELEASING, 0, RECONCILE_LEAVE },
};

static struct lease lease_of(const char *domain, enum lease_state state, unsigned int traits)
{
	struct lease lease = { .state = state, .since_ms = traits & FRESH ? YOUNG : OLD, .name = "vm" };

	memcpy(lease.domain, domain, UUID_SIZE);
	return lease;
}

/* When libvirt was asked: a moment ago, or before the lease was written. */
static int64_t looked(const struct lease *lease, unsigned int traits)
{
	return traits & LATE ? lease->since_ms : NOW - 500;
}

static int opened(unsigned int traits, bool usual)
{
	if (traits & OPEN_UNTOLD)
		return -1;
	return usual ? !(traits & CLOSED) : (traits & IS_OPEN) != 0;
}

int main(void)
{
	char why[REASON_SIZE];

	for (size_t i = 0; i < sizeof(device_rows) / sizeof(device_rows[0]); i++) {
		const struct device_row *row = &device_rows[i];
		struct lease lease = lease_of(row->holder ? row->holder : D, row->state, row->is);
		struct reconcile_view view = { .settled = !(row->is & UNSETTLED),
					       .domain = D,
					       .lease = row->holder ? &lease : NULL,
					       .at_work = (row->is & AT_WORK) != 0,
					       .exists = !(row->is & NO_DEVICE),
					       .open = opened(row->is, true),
					       .now_ms = NOW,
					       .grace_ms = GRACE,
					       .looked_ms = looked(&lease, row->is) };

		*why = '\0';
		ok(reconcile_device(&view, why) == row->req && *why, "%s: %s", row->says, why);
	}
	for (size_t i = 0; i < sizeof(lease_rows) / sizeof(lease_rows[0]); i++) {
		const struct lease_row *row = &lease_rows[i];
		struct lease lease = lease_of(D, row->state, row->is);
		struct reconcile_view view = { .lease = &lease,
					       .known = !(row->is & UNKNOWN_XML),
					       .settled = !(row->is & UNSETTLED),
					       .at_work = (row->is & AT_WORK) != 0,
					       .named = (row->is & NAMED) != 0,
					       .taken = (row->is & TAKEN) != 0,
					       .seen = (row->is & SEEN) != 0,
					       .open = opened(row->is, false),
					       .now_ms = NOW,
					       .grace_ms = GRACE,
					       .looked_ms = looked(&lease, row->is) };

		*why = '\0';
		ok(reconcile_lease(&view, why) == row->req && *why, "%s: %s", row->says, why);
	}
	return tap_done();
}
