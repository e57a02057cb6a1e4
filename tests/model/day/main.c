/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A day in the life of three hosts: domains with vGPUs of mixed sizes come and go, and the same day is lived with each
 * way of choosing a card: once with the small cards in the lower slots and first in the configuration, once with the
 * large ones. A policy counts with the order that serves less.
 *
 *     day [DAYS [ARRIVALS [SEED]]]     10 days of 2000 arrivals each, seed 1
 *
 * Prints how much each served, as the table of doc/placement.md, and as TAP whether what must hold did. The same
 * numbers give the same days on every machine.
 */
#include "model/day/host.h"
#include "lib/source.h"
#include "lib/tree.h"

enum { HOSTS = 3, ORDERS = 2, DAY = 86400, LOAD = 95 /* per cent of all framebuffer, were nothing refused */ };
enum { ALL_GIB = 160 + 192 + 176 }; /* of the hosts */

/* All with mdevs: there a placement is free to choose the card. */
static const char *const models[ORDERS][HOSTS] = {
	{ "t4:4@0000:01:00.0+a40:2@0000:41:00.0", "t4:2@0000:01:00.0+a2:4@0000:21:00.0+a40:2@0000:41:00.0",
	  "t4:8@0000:01:00.0+l40s-mdev:1@0000:41:00.0" },
	{ "a40:2@0000:01:00.0+t4:4@0000:41:00.0", "a40:2@0000:01:00.0+a2:4@0000:21:00.0+t4:2@0000:41:00.0",
	  "l40s-mdev:1@0000:01:00.0+t4:8@0000:41:00.0" },
};

/* Of a hundred domains so many ask for each of the sizes. */
static const int shares[SIZES] = { 10, 25, 30, 20, 10, 3, 2 };

static const char *const names[STRATEGIES] = { "pack", "spread", "first fit" };

/* A domain: when it comes and goes, how much it requests, which hosts it tries in turn. */
struct guest {
	int comes, goes, size;
	int order[HOSTS];
	int host; /* where it is; -1 nowhere */
};

struct tally {
	long served, gib_seconds, by_size[SIZES];
};

static struct host_day hosts[HOSTS];
static uint64_t dice;

static int pick(int n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int)(dice % (uint64_t)n);
}

static int pick_size(void)
{
	int at = 0;

	for (int n = pick(100); n >= shares[at]; at++)
		n -= shares[at];
	return at;
}

static void count_guest(struct tally *count, const struct guest *g)
{
	long gib = day_sizes[g->size];

	count->served++;
	count->gib_seconds += gib * (g->goes - g->comes);
	count->by_size[g->size]++;
}

/* Gaps and lives are even between nothing and twice their mean; the mean life follows from the load. */
static void make_day(struct guest *guests, int n)
{
	int gap = DAY / n, at = 0, mean = 0, life;

	for (int i = 0; i < SIZES; i++)
		mean += shares[i] * day_sizes[i];
	life = (int)((long)ALL_GIB * LOAD * gap / mean);
	for (int i = 0; i < n; i++) {
		struct guest *g = &guests[i];
		int first = pick(HOSTS), step = 1 + pick(HOSTS - 1);

		at += 1 + pick(2 * gap);
		g->comes = at;
		g->goes = at + 1 + pick(2 * life);
		g->size = pick_size();
		for (int h = 0; h < HOSTS; h++)
			g->order[h] = (first + h * step) % HOSTS;
	}
}

static void leave_until(struct guest *guests, int n, int now)
{
	for (int i = 0; i < n; i++) {
		if (guests[i].host < 0 || guests[i].goes > now)
			continue;
		host_day_leave(&hosts[guests[i].host], i);
		guests[i].host = -1;
	}
}

static int arrive(const struct guest *g, int i)
{
	for (int h = 0; h < HOSTS; h++)
		if (host_day_arrive(&hosts[g->order[h]], i, day_sizes[g->size]))
			return g->order[h];
	return -1;
}

static const char *live(struct guest *guests, int n, enum strategy strategy, int order, struct tally *count)
{
	static char broken[sizeof(hosts[0].broken)];

	broken[0] = '\0';
	for (int h = 0; h < HOSTS; h++)
		host_day_start(&hosts[h], models[order][h], strategy);
	for (int i = 0; i < n; i++) {
		leave_until(guests, i, guests[i].comes);
		guests[i].host = arrive(&guests[i], i);
		if (guests[i].host >= 0)
			count_guest(count, &guests[i]);
	}
	leave_until(guests, n, INT_MAX);
	for (int h = 0; h < HOSTS; h++) {
		host_day_end(&hosts[h]);
		if (*hosts[h].broken && !*broken)
			snprintf(broken, sizeof(broken), "%s: %s", models[order][h], hosts[h].broken);
	}
	return *broken ? broken : NULL;
}

static double per_cent(long part, long all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static FILE *table;

static void print_row(const char *name, const struct tally *c, const struct tally *asked)
{
	fprintf(table, "%-10s %8.1f%% %8.1f%%", name, per_cent(c->served, asked->served),
		per_cent(c->gib_seconds, asked->gib_seconds));
	for (int i = 0; i < SIZES; i++)
		fprintf(table, " %6.1f%%", per_cent(c->by_size[i], asked->by_size[i]));
	fprintf(table, "\n");
}

static void print_head(const struct tally *asked)
{
	fprintf(table, "%-10s %9s %9s", "", "domains", "GiB hours");
	for (int i = 0; i < SIZES; i++)
		fprintf(table, "  %2d GiB", day_sizes[i]);
	fprintf(table, "\n%-10s %9ld %9ld", "asked for", asked->served, asked->gib_seconds / 3600);
	for (int i = 0; i < SIZES; i++)
		fprintf(table, " %7ld", asked->by_size[i]);
	fprintf(table, "\n");
}

static const struct tally *worse(const struct tally counts[ORDERS])
{
	return counts[1].gib_seconds < counts[0].gib_seconds ? &counts[1] : &counts[0];
}

/* `documented`: doc/placement.md has each line. */
static void print_table(char *text, bool documented)
{
	autofree char *page = source_text("doc/placement.md");

	for (char *line, row[256]; (line = strsep(&text, "\n")) && *line;) {
		printf("# %s\n", line);
		snprintf(row, sizeof(row), "\n    %s\n", line);
		if (documented)
			ok(strstr(page, row), "doc/placement.md has: %s", line);
	}
}

int main(int argc, char **argv)
{
	const bool quick = getenv("QUICK") != NULL;
	int days = argc > 1 ? atoi(argv[1]) : quick ? 1 : 10, n = argc > 2 ? atoi(argv[2]) : 2000;
	struct guest *guests = calloc((size_t)n, sizeof(*guests));
	struct tally counts[STRATEGIES][ORDERS] = { 0 }, asked = { 0 };
	const char *broken[STRATEGIES] = { NULL };
	autofree char *text = NULL;
	size_t size;

	if (!guests)
		abort();
	for (int d = 0; d < days; d++) {
		dice = 0x9e3779b97f4a7c15ULL * (uint64_t)((argc > 3 ? atoi(argv[3]) : 1) + d);
		make_day(guests, n);
		for (int i = 0; i < n; i++)
			count_guest(&asked, &guests[i]);
		for (int s = 0; s < STRATEGIES; s++)
			for (int o = 0; o < ORDERS; o++)
				if (!broken[s])
					broken[s] = live(guests, n, (enum strategy)s, o, &counts[s][o]);
	}
	table = open_memstream(&text, &size);
	fprintf(table, "%d days, %d arrivals each\n", days, n);
	print_head(&asked);
	for (int s = 0; s < STRATEGIES; s++)
		print_row(names[s], worse(counts[s]), &asked);
	fclose(table);
	print_table(text, argc == 1 && !quick);
	for (int s = PACK; s <= SPREAD; s++)
		ok(memcmp(&counts[s][0], &counts[s][1], sizeof(counts[s][0])) == 0,
		   "%s serves the same whatever the order of the slots", names[s]);
	for (int s = 0; s < STRATEGIES; s++)
		ok(!broken[s], "%s: plans are carried out, refusals are right, nothing is left%s%s", names[s],
		   broken[s] ? ": " : "", broken[s] ? broken[s] : "");
	/* Not on each single day: in the long run. */
	if (argc == 1 && !quick)
		ok(worse(counts[PACK])->gib_seconds > worse(counts[SPREAD])->gib_seconds &&
			   worse(counts[PACK])->by_size[SIZES - 1] > worse(counts[SPREAD])->by_size[SIZES - 1],
		   "pack serves more than spread, above all of the large ones");
	free(guests);
	return tap_done();
}
