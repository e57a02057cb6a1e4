/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a release would do to the leases of a domain; plans are in tests/system/cli/plan.sh. */
#include "ops/preview.h"

#include "lib/small_host.h"

static void releases(void)
{
	static const struct {
		const char *id, *domain;
		enum lease_state state;
		enum lease_origin origin;
	} rows[] = {
		{ A, VM, LEASE_ACTIVE, LEASE_CREATED },
		{ B, VM, LEASE_ACTIVE, LEASE_ADOPTED },
		{ C, VM, LEASE_RESERVED, LEASE_CREATED },
		{ "c6f1a2b3-0000-4000-8000-00000000000d", A, LEASE_ACTIVE, LEASE_CREATED },
		{ E, VM, LEASE_ACTIVE, LEASE_CREATED },
	};
	autofree char *text = NULL, *one = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lease lease = lease_of(rows[i].id, "t", "p", rows[i].state, rows[i].domain);

		lease.origin = rows[i].origin;
		put_lease(lease);
	}
	ok(preview_release(f, &store, VM, NULL, &err) == 0, "the leases are read");
	fclose(f);
	is(text,
	   "remove " A ", t on p\nkeep the device and drop the lease of " B ", t on p\ndrop the reservation of " C
	   ", t on p\ndrop the lease of " E ", t on p\n",
	   "of the domain's leases, each by its state and origin, and whether its device exists");
	f = open_memstream(&one, &len);
	ok(f && preview_release(f, &store, VM, B, &err) == 0, "of one alone");
	fclose(f);
	is(one, "keep the device and drop the lease of " B ", t on p\n", "that one alone");
}

HOST_TESTS("run/\nvar/lib/\nsys/bus/mdev/devices/" A "/\nsys/bus/mdev/devices/" B "/", releases)
