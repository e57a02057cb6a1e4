/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first pGPU of a row, for one type: how many more fit, on which parent, or the cause; what people see of it. */
#include "decide/capacity.h"

#include "lib/tap.h"
#include "unit/decide/world.h"

enum { RESULT_SIZE = 512 };

static const char *cause_word(enum cause cause)
{
	static const char *const words[] = { "in use",   "cap",        "blocked", "no instance", "unsuited",  "failed",
					     "no offer", "other kind", "unready", "absent",      "other type" };

	return words[cause];
}

/* "3 on 40.1 | 4 1 3" */
static void measure(const struct setup *w, const char *type, char result[RESULT_SIZE])
{
	const struct capacity_query query = { .world = &w->facts };
	const struct inv_offer *offer = inventory_offer(&w->cards[0], type);
	struct capacity_count count = { 0 };
	struct capacity space;

	capacity_on(&space, &query, &w->cards[0], type);
	if (offer)
		capacity_count(&count, &w->facts, &w->cards[0], offer);
	if (space.has)
		snprintf(result, RESULT_SIZE, "%d on %s | %d %d %d", space.left,
			 space.parent ? space.parent->name : "?", count.capacity, count.used, count.available);
	else
		snprintf(result, RESULT_SIZE, "%s%s | %d %d %d", cause_word(space.cause), space.in_flight ? " yet" : "",
			 count.capacity, count.used, count.available);
}

static const struct row rows[] = {
	{ "an empty card takes as many as the driver offers", "84 s=16/16", "", "s: 16 on 84 | 16 0 16" },
	{ "what is on it is in use", "84 s=14/16", "u1:84:s u2:84:s", "s: 14 on 84 | 16 2 14" },
	{ "a promise is neither available nor used", "84 s=16/16", "u1:84:s:reserved:E", "s: 15 on 84 | 16 0 15" },
	{ "a lease whose device is there counts once", "84 s=15/16", "u1:84:s+active:E", "s: 15 on 84 | 16 1 15" },
	{ "a released one without a device does not", "84 s=16/16", "u1:84:s:releasing:E", "s: 16 on 84 | 16 0 16" },
	{ "a full card may have capacity soon", "84 s=0/1", "u1:84:s+releasing:E*", "s: in use yet | 1 1 0" },
	{ "but not where the driver hangs", "84 s=0/1", "u1:84:s+releasing:E**", "s: in use | 1 1 0" },
	{ "the cap is lower than the card", "84 s=15/16", "u1:84:s", "s: 2 on 84 | 16 1 2", "s<3" },
	{ "and is the cause where it is reached", "84 s=15/16", "u1:84:s", "s: cap | 16 1 0", "s<1" },
	{ "a plain VF in release counts", "f3+4 flex=4", "f3.0:flex:releasing:E", "flex: cap | 4 1 0", "flex@f3<1" },
	{ "it counts that type alone", "v84 s=4 l=1", "u1:v84:s", "l: 1 on v84 | 1 0 1", "l<1" },
	{ "the type's maximum holds, whatever is offered", "84 s=14/2", "u1:84:s u2:84:s", "s: in use | 2 2 0" },
	{ "another size blocks an NVIDIA card", "84 s=15/16 l=0/4", "u1:84:s", "l: blocked | 4 0 0", "l" },
	{ "also one that is only promised", "84 s=16/16 l=4/4", "u1:84:s:reserved:E", "l: blocked | 4 0 0", "l" },
	{ "in mixed-size mode framebuffer decides", "84 s=2/16 l=2/4", "u1:84:s u2:84:l", "l: 2 on 84 | 4 1 2", "l" },
	{ "a promise uses up the last offer", "84 s=1/4 l=0/3", "u1:84:l u2:84:l u3:84:l u4:84:s:reserved:E",
	  "s: in use | 4 0 0" },
	{ "another vendor's card is not blocked", "v84 s=4 l=1", "u1:v84:s", "l: 1 on v84 | 1 0 1", "l" },
	{ "nor by one that is only promised", "v84 s=4 l=2", "u1:v84:s:reserved:E", "l: 1 on v84 | 2 0 1", "l" },
	{ "types cost each other instances", "v84 m1=4 m2=2", "u1:v84:m2:reserved:E", "m1: 2 on v84 | 4 0 2", "m1" },
	{ "by whole instances, also if a part of one is left over", "v84 m1=23 m2=11", "u1:v84:m2:reserved:E",
	  "m1: 21 on v84 | 23 0 21", "m1" },
	{ "VFs limit a card", "40+2 s=1/8", "", "s: 2 on 40.0 | 2 0 2" },
	{ "so does max_instance", "40+8 s=1/2", "", "s: 2 on 40.0 | 2 0 2" },
	{ "the first VF that is free is the parent", "40+3 s=1/8", "u1:40.0:s", "s: 2 on 40.1 | 3 1 2" },
	{ "a VF that the driver has lost is not", "40+3 s=1/8", "u1:40.0:s", "s: 1 on 40.2 | 3 1 1", "s; lost=40.1" },
	{ "nor one that failed in this run", "40+3 s=1/8", "", "s: 2 on 40.1 | 3 0 2", "s; failed=40.0" },
	{ "without the last ones it is full", "40+2 s=1/8", "u1:40.0:s", "s: in use | 2 1 0", "s; lost=40.1" },
	{ "a vGPU outside the pool counts", "40+4 s=1/4", "u1:40.2:s", "s: 2 on 40.0 | 3 1 2", "s@40.0,40.1" },
	{ "a cap does not change what a card holds", "40+4 m=0", "u1:40.0:m u2:40.1:m", "m: cap | 4 2 0", "m<2" },
	{ "without a free VF it is full", "40+1 s=0/8", "u1:40.0:s", "s: in use | 1 1 0" },
	{ "a GPU instance is no capacity for another size", "40+4 q=0/7 w=1/3", "", "q: no instance | 4 0 0", "q" },
	{ "a plain VF is in use if leased", "f3+3 flex=1", "f3.0:flex:active:E", "flex: 2 on f3.1 | 3 1 2", "flex@f3" },
	{ "one that is gone takes nothing", "f3+3 flex=1", "f3.7:flex:active:E", "flex: 3 on f3.0 | 3 0 3", "flex@f3" },
	{ "a driver that offers none though nothing is on it says so", "84 s=0/16", "", "s: no offer | 16 0 0" },
	{ "what failed in this run is not tried again", "84 s=16/16", "", "s: failed | 16 0 16", "s; failed=84" },
	{ "a card that is not ready has none", "84 s=16/16", "", "s: unready | 16 0 0", "s@84; notready=84" },
	{ "nor one that serves another type", "84 s=16/16 l=4/4", "", "l: other type | 4 0 4" },
	{ "also of several that it does not offer", "84 s=16/16", "", "l: other type | 0 0 0", "s@84 l@84; several" },
	{ "but not if its driver is silent", "84 s=1/1", "", "l: unready | 0 0 0", "s@84 l@84; several silent=84" },
	{ "and of each that it does", "84 s=16/16 l=4/4", "", "l: 4 on 84 | 4 0 4", "s@84 l@84; several" },
};

static const struct row framebuffers[] = {
	{ "the framebuffer is what the largest number of a type takes", "84 s=16/16 l=4/4", "", "0 of 16384" },
	{ "in use is what exists or is promised", "84 s=14/16", "u1:84:s u2:84:s u3:84:s:reserved:E", "3072 of 16384" },
	{ "a lease and its device count once", "84 s=15/16", "u1:84:s+active:E", "1024 of 16384" },
	{ "each size counts as what it is", "84 s=2/16 l=2/4", "u1:84:s u2:84:l", "5120 of 16384", "l" },
	{ "GPU instances tell nothing of it", "40+4 q=0/7 w=1/3", "", "-1 of -1", "q" },
	{ "what is in use is known without it", "40+4 q=0/7 w=1/3", "o1:40.0:q o2:40.1:q", "10240 of -1", "q" },
	{ "nor do plain VFs", "f3+3 flex=1", "", "-1 of -1", "flex@f3" },
};

int main(void)
{
	static struct setup w;

	for (size_t i = 0; i < ARRAY_SIZE(framebuffers); i++) {
		struct capacity_framebuffer mib;
		char result[RESULT_SIZE];

		make_world(&w, &framebuffers[i]);
		mib = capacity_framebuffer(&w.facts, &w.cards[0]);
		snprintf(result, sizeof(result), "%d of %d", mib.used, mib.whole);
		is(result, framebuffers[i].result, framebuffers[i].says);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char type[TYPE_SIZE], result[RESULT_SIZE];
		const char *colon = strchr(rows[i].result, ':');

		snprintf(type, sizeof(type), "%.*s", (int)(colon - rows[i].result), rows[i].result);
		make_world(&w, &rows[i]);
		measure(&w, type, result);
		is(result, colon + 2, rows[i].says);
	}
	return tap_done();
}
